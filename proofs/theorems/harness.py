"""Prove theorems, and show that each proof fails, on a Python test, if its rule is changed."""

import importlib
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from itertools import chain
from typing import Any

import attrs
import z3

from model.states import RecordState
from proofs.theorems.count import small
from proofs.theorems.lifting import UndecidedError, with_attributes
from proofs.theorems.situation import sizes, symbols, values
from proofs.theorems.symbolic import (
    MIXED,
    branches,
    groups_of_branches,
    is_possible,
    may_be_false,
    meaning,
    solver_of,
)
from proofs.theorems.theorem import Control, Theorem, instance, obligations
from spec.logic import Term

Meanings = dict[tuple[type, Callable[[Any], Term]], z3.BoolRef]
"""What hypotheses mean, by the kind of situation and the hypothesis."""

LIMIT_MS = 60_000
"""The time limit of one Z3 query (ms); a proof that needs longer has failed.

Nearly every query takes less than a second: the limit is for machines that are far slower or stall.
"""


_ABOVE = __name__.removesuffix("proofs.theorems.harness")
"""What stands before the name of a package: nothing in the repository, ``sharespec.`` installed."""


class ProofVerdict(Enum):
    """The outcome of a proof."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@attrs.frozen
class Proof:
    """The verdict on a theorem. ``counterexample`` is a situation of values, if it was refuted.

    ``cases`` counts the paths of the specification through the claim.
    """

    theorem: Theorem
    verdict: ProofVerdict
    seconds: float
    cases: int = 0
    counterexample: object = None
    reason: str = ""


@attrs.frozen
class Refutation:
    """Whether a proof fails under its control, and the test that shows the failure."""

    theorem: Theorem
    fails: bool
    seconds: float
    test: str


def prove(theorem: Theorem, limit_ms: int = LIMIT_MS, known: Meanings | None = None) -> Proof:
    """Prove that the claim holds in every situation where the hypothesis does.

    A theorem that cites a lemma without proof is not proved. ``known`` keeps what hypotheses mean,
    which many theorems share, while the rules stay the same.
    """
    known = {} if known is None else known
    missing = _unproved(theorem, limit_ms, known)
    if missing is not None:
        reason = (
            f"it cites {missing.property.name}, of which the {missing.transition} is not proved"
        )
        return Proof(theorem, ProofVerdict.UNKNOWN, 0.0, reason=reason)
    return _proof(theorem, limit_ms, known)


def _unproved(theorem: Theorem, limit_ms: int, known: Meanings) -> Theorem | None:
    """Return an unproved base or step of a lemma that the theorem cites."""
    parts = chain.from_iterable(obligations(citation.lemma) for citation in theorem.cites)
    proofs = (prove(part, limit_ms, known) for part in parts)
    return next((p.theorem for p in proofs if p.verdict is not ProofVerdict.PROVED), None)


def _proof(theorem: Theorem, limit_ms: int, known: Meanings) -> Proof:
    """Prove the claim from the hypothesis and the cited lemmas."""
    began = time.perf_counter()
    try:
        verdict, cases, counterexample = _decide(theorem, limit_ms, known)
        reason = ""
    except UndecidedError as undecided:
        verdict, cases, counterexample, reason = ProofVerdict.UNKNOWN, 0, None, str(undecided)
    return Proof(theorem, verdict, time.perf_counter() - began, cases, counterexample, reason)


def check_control(theorem: Theorem, limit_ms: int = LIMIT_MS) -> Refutation:
    """Change the rule as the control says, and show that the proof then fails.

    Z3 gives a situation. The test made of it must fail under the change and pass without it.
    Cited lemmas are not proved again.
    """
    began = time.perf_counter()
    with changed(theorem.control):
        proof = _proof(theorem, limit_ms, {})
        test = ""
        shown = False
        if proof.verdict is ProofVerdict.REFUTED:
            test = as_test(theorem, proof.counterexample)
            shown = fails(test)
    return Refutation(theorem, shown and not fails(test), time.perf_counter() - began, test)


def holds_of(theorem: Theorem, situation: object) -> bool:
    """Return whether the theorem holds of a situation of values, by running the specification."""
    return not theorem.hypothesis(situation) or bool(theorem.claim(situation))


@contextmanager
def changed(control: Control) -> Iterator[None]:
    """Replace the rule by the control's wrong one, wherever it is imported."""
    module, name = control.target.split(":")
    right = getattr(importlib.import_module(f"{_ABOVE}{module}"), name)
    wrong = control.change(right)
    package, _, _ = module.partition(".")
    with _everywhere(f"{_ABOVE}{package}", name, right, wrong):
        yield


@contextmanager
def _everywhere(package: str, name: str, right: object, wrong: object) -> Iterator[None]:
    places = [m for n, m in list(sys.modules.items()) if n.startswith(f"{package}.")]
    with with_attributes((m, {name: wrong}) for m in places if getattr(m, name, None) is right):
        yield


def _decide(
    theorem: Theorem, limit_ms: int, meanings: Meanings
) -> tuple[ProofVerdict, int, object]:
    """Search for a path on which the claim is false; then check that no path was left out."""
    kind: type[Any] = theorem.situation
    situation, given, offsets = symbols(kind)
    of = kind, theorem.hypothesis
    if of not in meanings:
        hypothesis = branches(lambda: theorem.hypothesis(situation), given, limit_ms, offsets)
        meanings[of] = meaning(hypothesis)
    statements = (partial(instance, citation, situation) for citation in theorem.cites)
    lemmas = [meaning(branches(statement, given, limit_ms, offsets)) for statement in statements]
    given = [*given, meanings[of], *lemmas]
    ways: list[z3.BoolRef] = []
    unexplained = ""
    paths = groups_of_branches(lambda: theorem.claim(situation), given, limit_ms, offsets)
    for together in paths:
        ways += [branch.condition for branch in together]
        known = [branch for branch in together if branch.is_known]
        if len(known) < len(together):
            unexplained = MIXED
        if not may_be_false(known):
            continue
        for branch in (branch for branch in known if may_be_false([branch])):
            solver = solver_of([*given, branch.condition, z3.Not(branch.value)], limit_ms)
            solver.add(*small(solver.assertions()), theorem.runnable(situation))
            if is_possible(solver):
                counterexample = values(situation, _smallest(solver, sizes(situation)))
                return ProofVerdict.REFUTED, len(ways), counterexample
            unexplained = "it is false only of counts that cannot be, or of long ranges"
    if unexplained:
        raise UndecidedError(unexplained)
    if is_possible(solver_of(given, limit_ms), z3.Not(z3.Or(ways))):
        raise UndecidedError("not every way through the claim was followed")
    return ProofVerdict.PROVED, len(ways), None


def _smallest(solver: z3.Solver, numbers: Iterable[z3.ArithRef]) -> z3.ModelRef:
    """Return a model in which each number in turn is as small as possible."""
    model = solver.model()
    for term in numbers:
        found = model.eval(term, model_completion=True).as_long()
        for value in range(-1, 4):
            if value == found or solver.check(term == value) == z3.sat:
                model = model if value == found else solver.model()
                solver.add(term == value)
                break
    return model


_MEMBERS = frozenset({"member", "owner", "former_owner"})


def as_test(theorem: Theorem, situation: Any) -> str:  # noqa: ANN401 - any situation
    """Return the shortest test that shows the theorem to be false in the situation."""
    lines = _lines(theorem, situation)
    name = re.sub(r"\W+", "_", theorem.name())
    body = [f'"""{theorem.property.sentence}"""', *lines]
    imports = _imports("\n".join(lines), situation)
    return "\n".join(
        [*imports, "", "", f"def test_{name}() -> None:", *(f"    {line}" for line in body), ""]
    )


def fails(test: str) -> bool:
    """Run a test and return whether an assertion of it failed."""
    names: dict[str, Any] = {}
    exec(compile(test, "<counterexample>", "exec"), names)  # noqa: S102 - text made above
    run = next(value for name, value in names.items() if name.startswith("test_"))
    try:
        run()
    except AssertionError:
        return True
    return False


def _lines(theorem: Theorem, situation: Any) -> list[str]:  # noqa: ANN401 - any situation
    values = [
        f"    {field.name}={_shown(getattr(situation, field.name), field.name)},"
        for field in attrs.fields(type(situation))
        if field.name == "member" or getattr(situation, field.name) != field.default
    ]
    return [
        f"situation = {type(situation).__name__}(",
        *values,
        ")",
        f'assert holds_of(theorem_named("{theorem.name()}"), situation)',
    ]


def _shown(value: Any, name: str) -> str:  # noqa: ANN401 - any value
    if attrs.has(type(value)):
        parts = (
            f"{field.name}={_shown(getattr(value, field.name), field.name)}"
            for field in attrs.fields(type(value))
            if getattr(value, field.name) != field.default
        )
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, RecordState):
        return f"RecordState.{value.name}"
    if value is not None and name in _MEMBERS:
        return f'"member-{value}"'
    return repr(value)


def _imports(text: str, situation: Any) -> list[str]:  # noqa: ANN401 - any situation
    kinds = {RecordState, *_kinds(situation)}
    used = (kind for kind in kinds if re.search(rf"{kind.__name__}[.(]", text))
    named = sorted((kind.__module__, kind.__name__) for kind in used)
    return [
        *(f"from {module} import {name}" for module, name in named),
        f"from {__package__}.catalogue import theorem_named",
        f"from {__package__}.harness import holds_of",
    ]


def _kinds(value: Any) -> set[type]:  # noqa: ANN401 - any value
    """Return the attrs classes of a value and of its fields."""
    if not attrs.has(type(value)):
        return set()
    inside = (getattr(value, field.name) for field in attrs.fields(type(value)))
    return {type(value)}.union(*map(_kinds, inside))
