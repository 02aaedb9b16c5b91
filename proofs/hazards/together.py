"""All properties at once, in larger worlds, under the rules of ``draft_resolved``."""

import attrs

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.profile import Profile
from proofs.hazards import properties as hold
from proofs.hazards.catalogue import HAZARDS
from proofs.hazards.draft_readings import MENDED
from proofs.hazards.hazard import Absence, absence
from proofs.hazards.machine import RESOLVED, specified
from proofs.hazards.world import HazardMoment, HazardMove, HazardWorld, Setting

_SMALL = SharePartitionConfig(
    delivery_count_limit=2,
    in_progress_staleness_threshold_ms=60_000,
    in_progress_max_lock_extension_ms=90_000,
    in_progress_rebalance_grace_ms=30_000,
)
_SMALLER = attrs.evolve(
    _SMALL, in_progress_staleness_threshold_ms=30_000, in_progress_max_lock_extension_ms=60_000
)
_MOVES = frozenset(HazardMove) - {HazardMove.CALL_MARK, HazardMove.POLL, HazardMove.REJECT}
_ANSWERS = (ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE)

WORLDS = (
    HazardWorld(
        _MOVES
        - {HazardMove.OLD_MARK, HazardMove.RELEASE, HazardMove.DOWNGRADE, HazardMove.READ_AGAIN},
        30_000,
        60_000,
        members=("A", "B"),
        fetches=2,
        config=_SMALLER,
        slow=frozenset({HazardMove.ACCEPT}),
        answers=_ANSWERS,
    ),
    HazardWorld(
        _MOVES - {HazardMove.LEAVE, HazardMove.RETURN},
        30_000,
        120_000,
        fetches=3,
        config=_SMALL,
        slow=frozenset({HazardMove.ACCEPT}),
        answers=_ANSWERS,
    ),
)
"""Two members that come and go; one member that marks late. Writes fail, leaders change."""

PROPERTIES = tuple(
    dict.fromkeys(case.bound or case.holds for hazard in HAZARDS for case in hazard.cases)
)
"""One property, Z1b's, has a condition: of the reported lag only while no write was lost."""


def everything_holds(moment: HazardMoment) -> str | None:
    """Every property of the hazards holds, or the bound that stands for it."""
    return next((reason for holds in PROPERTIES if (reason := holds(moment))), None)


LAG_WORLD = HazardWorld(
    frozenset({HazardMove.FETCH, HazardMove.ACCEPT, HazardMove.ANSWER, HazardMove.FAIL_OVER}),
    records=2,
    take=2,
    slow=frozenset({HazardMove.ACCEPT}),
    answers=_ANSWERS,
)
"""Nobody marks a record; writes fail or stay without an answer, and the leader changes."""


def lag_without_marks(profile: Profile) -> Absence:
    """Search for a reported lag that a new leader does not find, where writes are lost."""
    setting = Setting(LAG_WORLD, specified(profile), MENDED, hold.the_lag_is_resumed)
    return absence(profile.name, setting)


def all_together() -> tuple[Absence, ...]:
    """Search the larger worlds for any hazard."""
    return tuple(
        absence("draft_resolved", Setting(world, RESOLVED, MENDED, everything_holds))
        for world in WORLDS
    )
