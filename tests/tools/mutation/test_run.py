import os

import pytest

from tools.mutation.checks import QUICK
from tools.mutation.cli import selected
from tools.mutation.mutants import Mutant, mutants_of, sampled
from tools.mutation.results import equivalents
from tools.mutation.run import MutantJudgement, judgements

pytestmark = pytest.mark.slow

SMALL, LARGE, LISTED, SEED = {"spec": 4, "impl": 2}, {"spec": 13, "impl": 6}, 4, 3

LATE = ("spec.record", "is_lock_over", "record.deadline <= now", "record.deadline < now")
ENDLESS = ("spec.window", "first_unfinished", "if after == offset:", "if False:")
UNSEEN = ("impl.validity", "_is_result", "number += acquired[i, 1] - acquired[i, 0] + 1", "pass")
UNCOUNTED = ("spec.record", "acquire", "record.delivery_count + 1", "record.delivery_count - 1")


def unchanged(module: str) -> Mutant:
    return Mutant(module, "", "", "", 0, 1, -1)


def named(module: str, *change: str) -> Mutant:
    return next(mutant for mutant in mutants_of(module) if mutant.key == (module, *change, 0))


def judged(
    *mutants: Mutant | tuple[str, ...], checks: tuple[str, ...] | None = None
) -> list[MutantJudgement]:
    wanted = [mutant if isinstance(mutant, Mutant) else named(*mutant) for mutant in mutants]
    found = {j.mutant.key: j for j in judgements(wanted, checks=checks)}
    return [found[mutant.key] for mutant in wanted]


def test_failures_and_timeouts_are_told_apart() -> None:
    whole, late, endless = judged(unchanged("spec.lag"), LATE, ENDLESS, checks=QUICK)
    assert not whole.killed
    assert (late.by, late.killed) == ("lockstep", True)
    assert late.detail.startswith("AssertionError: the implementation answers ")
    assert (endless.by, endless.detail) == ("lockstep", "too much time")


def test_a_mutant_that_no_check_runs_survives() -> None:
    found = judged(LATE, checks=("import",))
    assert [judgement.killed for judgement in found] == [False]


def test_proofs_alone_notice_a_mutant() -> None:
    (found,) = judged(UNCOUNTED, checks=("proofs",))
    assert found.by == "proofs"
    assert found.detail.startswith("acquire ")


def test_exploration_alone_notices_a_mutant() -> None:
    (found,) = judged(LATE, checks=("exploration",))
    assert found.by == "exploration"


def test_recorded_events_kill_mutants_outside_the_lockstep() -> None:
    whole, unseen = judged(
        unchanged("impl.validity"), UNSEEN, checks=("lockstep", "recorded events")
    )
    assert not whole.killed
    assert unseen.by == "recorded events"


def test_nothing_is_left_in_the_environment() -> None:
    before = dict(os.environ)
    judged(checks=QUICK)
    assert dict(os.environ) == before


@pytest.mark.parametrize("sample", [SMALL, pytest.param(LARGE, marks=pytest.mark.long)])
def test_a_fixed_sample_is_killed_and_listed_equivalents_survive(sample: dict[str, int]) -> None:
    listed = equivalents()
    every = {package: selected([package]) for package in sample}
    telling = [
        mutant
        for package, number in sample.items()
        for mutant in sampled((m for m in every[package] if m.key not in listed), number, SEED)
    ]
    missed = [j.mutant for j in judgements(telling) if not j.killed]
    assert missed == [], "neither noticed nor listed as equivalent"
    alike = [m for mutants in every.values() for m in mutants if m.key in listed]
    refuted = [j for j in judgements(sampled(alike, LISTED, SEED), checks=QUICK) if j.killed]
    assert refuted == [], "listed as equivalent, and yet noticed"
