"""The verdict on a share-partition that was judged from outside."""

from enum import Enum
from typing import ClassVar

import attrs

from judge.finding import Finding, FindingKind
from judge.weighing import Evidence
from model.guards import Guard
from replay.verdict import PartitionVerdict

ENGINE = "request log"
"""What stands for the engine in a finding from outside."""


@attrs.frozen
class Doubt:
    """What only something unseen explains; each of ``reasons`` says what would have told."""

    reasons: tuple[str, ...]
    seen: Finding


@attrs.frozen
class ObservedVerdict(PartitionVerdict):
    """The verdict on a share-partition, whose events are requests and ``writes``.

    Those are not checked that came in times of which the log misses a part. ``widened`` counts the
    ranges of records that had too many configurations to follow, ``durable`` the writes whose
    record is known in a dump of the state topic.
    """

    given: ClassVar[Evidence] = Evidence.REQUESTS

    writes: int = 0
    widened: int = 0
    durable: int = 0
    doubt: Doubt | None = None

    @property
    def requests(self) -> int:
        """Return how many requests of members were checked."""
        return self.checked - self.writes


class DivergedError(Exception):
    """No legal broker explains what was seen."""

    def __init__(self, rule: Enum, first: int, last: int, detail: str) -> None:
        """Take the rule, the offsets, and what was seen and was possible."""
        super().__init__(detail)
        kind = FindingKind.GUARD if isinstance(rule, Guard) else FindingKind.DIFFERENCE
        sentence = str(rule.value)
        found = Finding(0, ENGINE, kind, rule.name, sentence, detail, "", "", "", first, detail)
        self.finding = attrs.evolve(found, last=last)
