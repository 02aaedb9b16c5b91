"""All properties at once, in larger worlds, under the rules of ``draft_resolved``."""

from collections.abc import Iterator
from itertools import chain

from model.profile import Profile
from proofs.hazards import properties as hold
from proofs.hazards.catalogue import HAZARDS, TOGETHER, UNMARKED
from proofs.hazards.draft_readings import MENDED
from proofs.hazards.hazard import Absence, absence
from proofs.hazards.machine import RESOLVED, specified
from proofs.hazards.world import HazardMoment, Setting

PROPERTIES = tuple(
    dict.fromkeys(case.bound or case.holds for hazard in HAZARDS for case in hazard.cases)
)
"""One property, Z1b's, has a condition: of the reported lag only while no write was lost."""


def everything_holds(moment: HazardMoment) -> Iterator[str]:
    """Every property of the hazards holds, or the bound that stands for it."""
    return chain.from_iterable(holds(moment) for holds in PROPERTIES)


def lag_without_marks(profile: Profile) -> Absence:
    """Search for a reported lag that a new leader does not find, where writes are lost."""
    setting = Setting(UNMARKED, specified(profile), MENDED, hold.the_lag_is_resumed)
    return absence(profile.name, setting)


def all_together() -> tuple[Absence, ...]:
    """Search the larger worlds for any hazard."""
    return tuple(
        absence("draft_resolved", Setting(world, RESOLVED, MENDED, everything_holds))
        for world in TOGETHER
    )
