"""What is wrong with one event, and by which kind of rule."""

from enum import StrEnum

import attrs

from judge.words import clock_text
from model.guards import Difference
from model.snapshot import SharePartitionSnapshot

CRASHED = "CRASHED"
"""The rule that an operation breaks which throws an exception in place of an answer."""

SIGNATURE_TEXT = 60
"""How much of an exception's text is in a signature, in characters."""


class FindingKind(StrEnum):
    """The kind of rule that an event breaks."""

    GUARD = "guard"
    DIFFERENCE = "difference"
    INVARIANT = "invariant"
    DISAGREEMENT = "spec and impl disagree"


@attrs.frozen
class Citation:
    """The source of a rule, and its statement in our words or, between quotation marks, its own."""

    source: str
    says: str


@attrs.frozen
class FindingPlace:
    """The share-partition of a finding, and where its event was read.

    ``line`` counts lines, or rows of Parquet, from 1; ``event`` is the row as JSON.
    """

    partition: str = ""
    source: str = ""
    line: int = 0
    event: str = ""


_NOWHERE = FindingPlace()


@attrs.frozen
class Finding:
    """What is wrong with an event according to one engine, or between two; states in words.

    ``name`` and ``sentence`` are those of the guard, invariant or kind of difference; ``before``
    and ``after`` are the states that were expected. ``headline`` is the offending value,
    ``operation`` the event's name in a trace and ``event_text`` the event in words;
    ``recorded_after`` is the state that was recorded after it, and ``changed`` where its records
    differ from ``after``. The states are there as values, too, and what was recorded and expected,
    where that is a number. ``operations_before`` are the kinds of operations up to the event, as
    far as they were read with it: of a share-partition in segments those of its segment.

    ``time_ms`` is when it was, in ms since 1970, if the trace has a real clock; ``time`` in words.

    ``last`` is the last offset, where several are wrong; ``evidence`` what else was seen of them.

    Of a target that was driven: ``cause`` is the transition that went wrong and the smallest
    difference, where they are known; ``vector`` is the test vector that showed it, ``pins`` what
    that is about, and ``rests_on`` the sentence behind it, if its last step is what deviates.
    """

    seq: int
    engine: str
    kind: FindingKind
    name: str
    sentence: str
    recorded: str
    expected: str
    before: str
    after: str
    offset: int | None = None
    headline: str = ""
    operation: str = ""
    event_text: str = ""
    recorded_after: str = ""
    changed: str = ""
    recorded_value: int | None = None
    expected_value: int | None = None
    state_before: SharePartitionSnapshot | None = None
    state_expected: SharePartitionSnapshot | None = None
    state_recorded: SharePartitionSnapshot | None = None
    place: FindingPlace = _NOWHERE
    operations_before: tuple[str, ...] = attrs.field(default=(), eq=False)
    time_ms: int | None = None
    last: int | None = None
    evidence: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    vector: str = ""
    pins: tuple[str, ...] = ()
    rests_on: Citation | None = None

    @property
    def time(self) -> str:
        """Return when it was, in ISO 8601; nothing where no real clock tells it."""
        return "" if self.time_ms is None else clock_text(self.time_ms)

    @property
    def label(self) -> str:
        """Return the vector that showed it, or the rule."""
        return self.vector or self.name

    @property
    def where(self) -> str:
        """Return the rule and the operation, if it has a name."""
        return f"{self.name} in {self.operation}" if self.operation else self.name

    @property
    def signature(self) -> tuple[str, ...]:
        """Return the vector or the rule and the operation, and of a failure the start of its text.

        They are equal for what looks alike, as in files of known deviations.
        """
        rule, *rest = self._broken
        return (self.vector or rule, *rest)

    @property
    def probable_cause(self) -> tuple[str, ...]:
        """Return what findings have in common that probably have one cause."""
        return self.cause or self._broken

    @property
    def _broken(self) -> tuple[str, ...]:
        if self.name == Difference.EXCEPTION.name:
            text = self.recorded.partition(": ")[2]
            return (CRASHED, self.operation, text[:SIGNATURE_TEXT])
        failed = (self.recorded[:SIGNATURE_TEXT],) if self.name == CRASHED else ()
        return (self.name, self.operation, *failed)
