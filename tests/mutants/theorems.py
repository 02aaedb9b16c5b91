"""Which theorems run the function that a mutant changes, and whether they notice it."""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from types import FrameType

from proofs.theorems.catalogue import THEOREMS
from proofs.theorems.harness import ProofVerdict, holds_of, prove
from proofs.theorems.reachable import witness
from proofs.theorems.theorem import Theorem
from tests.mutants.kept import kept

LIMIT_MS, CPU_S = 1_000, 30


def test_theorems_hold() -> None:
    """Fail if a run or Z3 refutes one, or it fails to run; what takes too long is not noticed.

    The message begins with the numbers of the property, of which docs/proofs.md counts the kills.
    The runs come first, as they take no time: each is the state without which a proof is none.
    """
    until = time.process_time() + CPU_S
    theorems = theorems_about_the_mutant()
    for theorem, reached in sorted(theorems.items(), key=lambda one: not one[0].property.numbers):
        _check(theorem, partial(holds_of, theorem, reached))
    for theorem in theorems:
        if time.process_time() > until:
            break
        _check(theorem, partial(_may_hold, theorem))


def _may_hold(theorem: Theorem) -> bool:
    return prove(theorem, LIMIT_MS).verdict is not ProofVerdict.REFUTED


def _check(theorem: Theorem, holds: Callable[[], bool]) -> None:
    told = f"{theorem.property.numbers} {theorem.name()}"
    try:
        held = holds()
    except Exception as error:  # Whatever it is: it shows that the rule was changed.
        raise AssertionError(told) from error
    assert held, told


def theorems_about_the_mutant() -> dict[Theorem, object]:
    """Return those that run the function of the mutant, then others that run its module.

    Each comes with a situation of which it holds, and which a run of the rules reaches.

    Those with a number come first, then those that run a function which none before them runs, then
    those whose control changes it, or that run little else.
    """
    mutant = os.environ["SHARESPEC_MUTANT"].split(".<locals>", maxsplit=1)[0]
    module = mutant.partition(":")[0]
    found = kept("runs of theorems", lambda: {t.name(): functions_run(t) for t in THEOREMS})
    known = {name: called for name, (called, _reached) in found.items()}

    def distance(theorem: Theorem) -> tuple[bool, bool, bool, int]:
        runs, numbers = known[theorem.name()], theorem.property.numbers
        return mutant not in runs, not numbers, theorem.control.target != mutant, len(runs)

    run = f"{module}:"
    of_module = [t for t in THEOREMS if any(name.startswith(run) for name in known[t.name()])]
    nearest, seen, others = sorted(of_module, key=distance), set[str](), set[str]()
    for theorem in nearest:
        if known[theorem.name()] <= seen:
            others.add(theorem.name())
        seen |= known[theorem.name()]
    order = sorted(nearest, key=lambda t: (*distance(t)[:2], t.name() in others))
    return {theorem: found[theorem.name()][1] for theorem in order}


def functions_run(theorem: Theorem) -> tuple[set[str], object]:
    """Return the functions that the claim calls, module:name, in a situation, which follows."""
    called: set[str] = set()

    def note(frame: FrameType, _event: str, _argument: object) -> None:
        name = frame.f_code.co_qualname.partition(".<locals>")[0]
        called.add(f"{frame.f_globals.get('__name__')}:{name}")

    reached = getattr(witness(theorem), "situation", None)
    sys.setprofile(note)
    try:
        holds_of(theorem, reached)
    finally:
        sys.setprofile(None)
    return called, reached
