"""The worlds that the tests visit whole, with their sizes and what is expected to fail in them."""

from collections.abc import Mapping

import attrs

from model.profile import DRAFT_RESOLVED, LAG_RESOLVED
from proofs.exploration.world import SmallWorld
from tests.proofs.explored import TINY

COUNT, AVAILABLE, ACKNOWLEDGED, LAG, RESUMED = (
    "delivery_count_survives_failover",
    "available_is_not_durably_terminal",
    "acknowledged_is_found_acknowledged",
    "lag_never_too_low",
    "reported_lag_is_resumed",
)


@attrs.frozen
class VisitedWorld:
    """A world with its options of ``sharespec explore`` and what is special in it.

    ``expected``: the properties that fail, and after how many steps.
    """

    options: str
    covers: str
    world: SmallWorld
    states: int
    transitions: int
    depth: int
    expected: Mapping[str, int]

    @property
    def row(self) -> str:
        """The row of docs/exploration.md."""
        options = f"`{self.options}`" if self.options else "none"
        sizes = f"{self.states:,} | {self.transitions:,} | {self.depth}"
        return f"| {options} | {self.covers} | {sizes} |"


_ALL = {COUNT: 2, AVAILABLE: 5, RESUMED: 6, ACKNOWLEDGED: 6, LAG: 7}

FAST = (
    VisitedWorld(
        "--offsets 1", "one record",
        TINY, 476, 3_357, 9, {COUNT: 2, AVAILABLE: 5},
    ),
    VisitedWorld(
        "--offsets 1 --members 1 --log-start 0", "one record of one member",
        SmallWorld(offsets=1, members=1, log_start=0), 317, 2_165, 9, {COUNT: 2, AVAILABLE: 5},
    ),
    VisitedWorld(
        "--members 1 --outstanding 0 --late 0 --no-gaps --log-start 0",
        "answers at once, and no write is applied that fails",
        SmallWorld(members=1, outstanding=0, late=0, gaps=False, log_start=0), 335, 1_543, 13,
        {COUNT: 2, LAG: 8, RESUMED: 8},
    ),
    VisitedWorld(
        "--members 3 --limit 1 --late 0 --no-gaps --log-start 0", "three members",
        SmallWorld(members=3, limit=1, late=0, gaps=False, log_start=0), 844, 5_272, 13,
        {COUNT: 2, RESUMED: 6, LAG: 6, ACKNOWLEDGED: 7},
    ),
    VisitedWorld(
        "--window 1 --lock 2 --late 0", "locks that are renewed",
        SmallWorld(window=1, lock=2, late=0), 1_850, 12_589, 17, {COUNT: 2, AVAILABLE: 6},
    ),
    VisitedWorld(
        "--profile draft_resolved --offsets 1 --dead-letters --outstanding 0 --late 0",
        "marks and a dead-letter queue",
        SmallWorld(DRAFT_RESOLVED, offsets=1, dead_letters=True, outstanding=0, late=0),
        176, 1_172, 13, {COUNT: 2},
    ),
)  # fmt: skip

SLOW = (
    VisitedWorld(
        "", "the default", SmallWorld(), 209_434, 1_853_030, 20, _ALL,
    ),
    VisitedWorld(
        "--members 1 --no-gaps --log-start 0", "two records of one member",
        SmallWorld(members=1, gaps=False, log_start=0), 112_242, 924_419, 19, _ALL,
    ),
    VisitedWorld(
        "--members 1 --no-gaps --log-start 0 --late 0", "no late writes",
        SmallWorld(members=1, gaps=False, log_start=0, late=0), 7_837, 51_225, 18,
        {COUNT: 2, AVAILABLE: 6, RESUMED: 6, ACKNOWLEDGED: 7, LAG: 7},
    ),
    VisitedWorld(
        "--window 1", "a window of one record",
        SmallWorld(window=1), 5_252, 42_971, 14, {COUNT: 2, AVAILABLE: 5},
    ),
    VisitedWorld(
        "--members 1 --limit 1 --resets", "an altered start offset",
        SmallWorld(members=1, limit=1, resets=True), 9_414, 76_581, 14,
        {COUNT: 2, RESUMED: 6, ACKNOWLEDGED: 6, LAG: 6},
    ),
    VisitedWorld(
        "--offsets 3 --members 1 --late 0 --no-gaps --log-start 0", "three records",
        SmallWorld(offsets=3, members=1, late=0, gaps=False, log_start=0), 36_880, 270_075, 21,
        {COUNT: 2, AVAILABLE: 6, RESUMED: 6, ACKNOWLEDGED: 7, LAG: 7},
    ),
    VisitedWorld(
        "--profile lag_resolved --members 1 --no-gaps --log-start 0", "a coordinator that counts",
        SmallWorld(LAG_RESOLVED, members=1, gaps=False, log_start=0), 56_957, 471_358, 18,
        {COUNT: 2, AVAILABLE: 5, ACKNOWLEDGED: 6},
    ),
    VisitedWorld(
        "--profile draft_resolved --offsets 1 --dead-letters",
        "marks, a dead-letter queue and late writes",
        SmallWorld(DRAFT_RESOLVED, offsets=1, dead_letters=True), 7_644, 72_458, 18,
        {COUNT: 2, AVAILABLE: 5, RESUMED: 5},
    ),
)  # fmt: skip
