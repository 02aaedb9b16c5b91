"""Which theorems run the function that a mutant changes, and whether they notice it."""

import os
import sys
import time
from types import FrameType

from proofs.theorems.catalogue import THEOREMS
from proofs.theorems.harness import ProofVerdict, prove
from proofs.theorems.reachable import witness
from proofs.theorems.theorem import Theorem
from tests.mutants.kept import kept

LIMIT_MS, CPU_S = 1_000, 30


def test_theorems_hold() -> None:
    """Fail if Z3 refutes one, or it fails to run; what takes too long has not been noticed.

    The message begins with the numbers of the property, of which docs/proofs.md counts the kills.
    """
    until = time.process_time() + CPU_S
    for theorem in theorems_about_the_mutant():
        if time.process_time() > until:
            break
        told = f"{theorem.property.numbers} {theorem.name()}"
        try:
            verdict = prove(theorem, LIMIT_MS).verdict
        except Exception as error:  # Whatever it is: it shows that the rule was changed.
            raise AssertionError(told) from error
        assert verdict is not ProofVerdict.REFUTED, told


def theorems_about_the_mutant() -> list[Theorem]:
    """Return those that run the function of the mutant, then others that run its module.

    Those with a number come first, then those that run a function which none before them runs, then
    those whose control changes it, or that run little else.
    """
    mutant = os.environ["SHARESPEC_MUTANT"].split(".<locals>", maxsplit=1)[0]
    module = mutant.partition(":")[0]
    known = kept("functions of theorems", lambda: {t.name(): functions_run(t) for t in THEOREMS})

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
    return sorted(nearest, key=lambda t: (*distance(t)[:2], t.name() in others))


def functions_run(theorem: Theorem) -> set[str]:
    """Return the functions that the claim calls in a situation that fits it: module:name."""
    called: set[str] = set()

    def note(frame: FrameType, _event: str, _argument: object) -> None:
        name = frame.f_code.co_qualname.partition(".<locals>")[0]
        called.add(f"{frame.f_globals.get('__name__')}:{name}")

    if found := witness(theorem):
        sys.setprofile(note)
        try:
            theorem.hypothesis(found.situation)
            theorem.claim(found.situation)
        finally:
            sys.setprofile(None)
    return called
