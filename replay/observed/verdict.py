"""The verdict on a share-partition that was judged from outside."""

from enum import Enum, StrEnum

import attrs

from judge.weighing import Given, too_little


class Outcome(StrEnum):
    """What is known of a share-partition."""

    CONFORMS = "conforms"
    DIVERGES = "diverges"
    UNDETERMINED = "undetermined"
    UNKNOWN = "unknown"


@attrs.frozen
class Evidence:
    """A request that is part of a divergence: what it was, when it was answered, and where."""

    what: str
    end: float
    place: str


@attrs.frozen
class Wrong:
    """What no legal broker does. ``name`` and ``sentence`` are those of the rule.

    ``first`` and ``last`` are the offsets, ``detail`` what was seen and what was possible.
    ``operation`` is the event of a trace that breaks the rule, ``operations_before`` are those
    that were seen up to it; ``source`` and ``line`` are where it was read.
    """

    name: str
    sentence: str
    first: int
    last: int
    detail: str
    evidence: tuple[Evidence, ...] = ()
    operation: str = ""
    operations_before: tuple[str, ...] = ()
    source: str = ""
    line: int = 0


@attrs.frozen
class Doubt:
    """What only something unseen explains; each of ``reasons`` says what would have told."""

    reasons: tuple[str, ...]
    seen: Wrong


@attrs.frozen
class ObservedVerdict:
    """The verdict on a share-partition; ``requests`` and ``writes`` count what was judged.

    ``wrong`` is the first finding and ``more`` are those after it.
    ``unchecked`` counts requests in times of which the log misses a part, ``widened`` the ranges of
    records that had too many configurations to follow, ``durable`` the writes whose record is known
    in a dump of the state topic.
    """

    partition: str
    outcome: Outcome
    requests: int
    writes: int
    wrong: Wrong | None = None
    more: tuple[Wrong, ...] = ()
    doubt: Doubt | None = None
    unchecked: int = 0
    widened: int = 0
    durable: int = 0

    @property
    def findings(self) -> tuple[Wrong, ...]:
        """Return all findings, in order."""
        return (self.wrong, *self.more) if self.wrong else ()


def light(verdict: ObservedVerdict) -> str:
    """Return why too little of a share-partition was judged; empty if enough was."""
    judged = verdict.requests + verdict.writes
    return too_little(Given.REQUESTS, judged, judged + verdict.unchecked)


def weighed(verdict: ObservedVerdict) -> ObservedVerdict:
    """Return a verdict that says "conforms" only where nearly all that is logged was judged."""
    is_light = verdict.outcome is Outcome.CONFORMS and light(verdict)
    return attrs.evolve(verdict, outcome=Outcome.UNKNOWN) if is_light else verdict


class DivergedError(Exception):
    """No legal broker explains what was seen."""

    def __init__(self, rule: Enum, first: int, last: int, detail: str) -> None:
        """Take the rule, the offsets, and what was seen."""
        super().__init__(detail)
        self.wrong = Wrong(rule.name, str(rule.value), first, last, detail)
