"""What is wrong with one event, and by which kind of rule."""

from enum import StrEnum

import attrs

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
class Finding:
    """What is wrong with an event according to one engine, or between two; states in words.

    ``headline`` is the offending value, ``operation`` the event's name in a trace and
    ``event_text`` the event in words; ``recorded_after`` is the state that was recorded after it,
    and ``changed`` where its records differ from ``after``. The states are there as values, too,
    and what was recorded and expected, where that is a number.
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

    @property
    def signature(self) -> tuple[str, ...]:
        """Return the rule and the operation, and of an exception the start of its text.

        They are equal for what looks alike, as in files of known deviations.
        """
        return signature(self.name, self.operation, self.recorded)


def signature(name: str, operation: str, recorded: str) -> tuple[str, ...]:
    """Return the signature of a finding of this name on an operation."""
    if name == Difference.EXCEPTION.name:
        text = recorded.partition(": ")[2]
        return (CRASHED, operation, text[:SIGNATURE_TEXT])
    return (name, operation)
