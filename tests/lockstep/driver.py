"""The seeded driver: many steps of the same world that the state machine drives."""

from collections import Counter
from collections.abc import Callable
from enum import Enum

from model.profile import PROFILES
from tests.lockstep.dice import SeededDice
from tests.lockstep.world import OPERATIONS, World

__all__ = ["drive", "weighted_operations"]

STEPS_IN_A_WORLD = 250


def weighted_operations() -> list[Callable[[World], None]]:
    """Return each operation as often as it should be done."""
    return [operation for operation, weight in OPERATIONS.items() for _ in range(weight)]


def drive(seed: int, steps: int) -> Counter[Enum | str]:
    """Drive worlds from this seed for that many steps; return what was reached, by count."""
    reached: Counter[Enum | str] = Counter()
    operations = weighted_operations()
    profiles = tuple(PROFILES.values())
    done = 0
    while done < steps:
        dice = SeededDice(seed * 1_000_003 + done)
        world = World(dice.one_of(profiles), dice)
        for _ in range(STEPS_IN_A_WORLD):
            world.step(dice.one_of(operations))
        reached += world.pair.reached
        done += world.pair.steps
    reached["steps"] = done
    return reached
