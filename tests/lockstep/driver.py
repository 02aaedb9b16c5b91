"""The seeded driver: many steps of the same world that the state machine drives."""

from collections import Counter
from enum import Enum

from judge.dice import SeededDice
from tests.lockstep.world import HASTY, OPERATIONS, new_world, step

STEPS_IN_A_WORLD = 250


def drive(seed: int, steps: int) -> Counter[Enum | str]:
    """Drive worlds from this seed for that many steps; return what was reached, by count."""
    reached: Counter[Enum | str] = Counter()
    done = 0
    while done < steps:
        dice = SeededDice(seed * 1_000_003 + done)
        world, pair = new_world(dice.one_of(HASTY), dice)
        for _ in range(STEPS_IN_A_WORLD):
            step(world, dice.weighted(OPERATIONS))
        reached += pair.reached
        done += pair.steps
    reached["steps"] = done
    return reached
