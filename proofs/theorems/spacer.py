"""The safety of one record, proved again by an engine that infers its own invariants.

Spacer, the engine of Z3 for constrained Horn clauses, is told only how a record begins and what the
rules do. It is given none of the invariants of ``spec``, and shows those that it infers.
"""

import time
from collections.abc import Collection, Iterator
from functools import partial

import attrs
import z3

from proofs.theorems.harness import LIMIT_MS, ProofVerdict
from proofs.theorems.record_operations import TRANSITIONS, OneRecord
from proofs.theorems.situation import symbols
from proofs.theorems.symbolic import branches
from spec import record as rules
from spec.invariants import RECORD_INVARIANTS
from spec.logic import Term
from spec.record import UNDELIVERED, Record

FIELDS = tuple(field.name for field in attrs.fields(Record))
STAYS = "terminal_records_stay_terminal"
SAFE = (*(known.name for known in RECORD_INVARIANTS if known.name != "progress_is_in_order"), STAYS)
"""The properties that do not depend on the clock, which the engine does not model."""
CONDITIONS = frozenset({"pending", "exhausted"})


@attrs.frozen
class Inference:
    """Whether a property holds for every record that the rules reach, and what was inferred."""

    name: str
    verdict: ProofVerdict
    seconds: float
    invariant: str = ""


@attrs.frozen
class RecordStep:
    """One path of a transition: its condition, and the record after it; ``durable``: so written."""

    condition: z3.BoolRef
    after: Record
    durable: bool


@attrs.frozen
class RecordSteps:
    """Any record, what is given of it, and every step that a transition of it may be."""

    situation: OneRecord
    given: list[z3.BoolRef]
    steps: tuple[RecordStep, ...]


def inferences(limit_ms: int, names: Collection[str]) -> Iterator[Inference]:
    """Check the invariants of those names, and that terminal records stay terminal."""
    wanted = [name for name in SAFE if name in names]
    steps = every_step(limit_ms) if wanted else None
    yield from (infer(name, limit_ms, steps) for name in wanted)


def infer(name: str, limit_ms: int = LIMIT_MS, every: RecordSteps | None = None) -> Inference:
    """Check one invariant with no help from the others. The delivery count limit is constant."""
    began = time.perf_counter()
    every = every or every_step(limit_ms)
    engine, reached = _rules(limit_ms, every)
    situation = every.situation
    record, limit = situation.record, situation.limit
    engine.register_relation(wrong := z3.Function("wrong", z3.BoolSort()))
    here = reached(*_terms(record), limit, situation.tracked)
    engine.rule(wrong(), z3.And(here, z3.Not(_claim(name, situation))))
    try:
        answer = engine.query(wrong())
    except z3.Z3Exception:  # Spacer reports its time limit so.
        answer = z3.unknown
    verdicts = {"unsat": ProofVerdict.PROVED, "sat": ProofVerdict.REFUTED}
    verdict = verdicts.get(str(answer), ProofVerdict.UNKNOWN)
    seconds = time.perf_counter() - began
    invariant = _inferred(engine, reached, situation) if verdict is ProofVerdict.PROVED else ""
    return Inference(name, verdict, seconds, invariant)


def every_step(limit_ms: int) -> RecordSteps:
    """Run every transition of any record."""
    situation, given, offsets = symbols(OneRecord)
    given.append(situation.limit == situation.highest)
    steps = (
        RecordStep(z3.And(*given, branch.condition), branch.value, transition.is_final)
        for transition in TRANSITIONS
        if transition.name != "enter"
        for branch in branches(partial(transition.after, situation), given, limit_ms, offsets)
        if branch.value is not None
    )
    return RecordSteps(situation, given, tuple(steps))


def _rules(limit_ms: int, every: RecordSteps) -> tuple[z3.Fixedpoint, z3.FuncDeclRef]:
    engine = z3.Fixedpoint()
    engine.set(engine="spacer", timeout=limit_ms)
    engine.set("xform.inline_eager", False)  # noqa: FBT003 - Z3's own signature
    engine.set("xform.inline_linear", False)  # noqa: FBT003 - what is inferred stays readable
    situation, given = every.situation, every.given
    sorts = [term.sort() for term in _terms(situation.record)]
    reached = z3.Function("reached", *sorts, z3.IntSort(), z3.BoolSort(), z3.BoolSort())
    durable = z3.Function("durable", z3.IntSort(), z3.IntSort(), z3.IntSort(), z3.BoolSort())
    engine.register_relation(reached, durable)
    engine.declare_var(*_variables(situation))
    limit, final = situation.limit, situation.tracked
    engine.rule(reached(*_terms(UNDELIVERED), limit, z3.BoolVal(val=False)), z3.And(given))
    here = reached(*_terms(situation.record), limit, final)
    for step in every.steps:
        after, happens = step.after, z3.And(here, step.condition)
        engine.rule(reached(*_terms(after), limit, z3.Or(final, _is_final(after))), happens)
        if step.durable:
            engine.rule(durable(_terms(after)[0], after.delivery_count, limit), happens)
    known = durable(situation.durable_state, situation.durable_count, limit)
    recovered = rules.recover(situation.durable_state, situation.durable_count)
    is_final = _is_final(recovered)
    engine.rule(reached(*_terms(recovered), limit, is_final), z3.And(known, *given))
    return engine, reached


def _claim(name: str, situation: OneRecord) -> z3.BoolRef:
    """Return the property; of terminal records it is told which ever were final."""
    if name == STAYS:
        return z3.Implies(situation.tracked, rules.is_terminal(situation.record))
    known = next(known for known in RECORD_INVARIANTS if known.name == name)
    return known.holds(situation.record, situation.limit, situation.now)


def _is_final(record: Record) -> z3.BoolRef:
    symbolic = Record(*_terms(record))
    return rules.is_finished(symbolic)


def _terms(record: Record) -> list[z3.ExprRef]:
    return [_term(name, getattr(record, name)) for name in FIELDS]


def _term(name: str, value: Term) -> z3.ExprRef:
    if isinstance(value, z3.ExprRef):
        return value
    if name in CONDITIONS:
        return z3.BoolVal(bool(value))
    return z3.IntVal(-1 if value is None else int(value))


def _variables(situation: OneRecord) -> list[z3.ExprRef]:
    others = [getattr(situation, field.name) for field in attrs.fields(OneRecord)]
    return [*_terms(situation.record), *(term for term in others if z3.is_expr(term))]


def _inferred(engine: z3.Fixedpoint, reached: z3.FuncDeclRef, situation: OneRecord) -> str:
    """Return what the engine found to be true of every record, in the names of its fields."""
    names = [z3.Const(name, term.sort()) for name, term in _named(situation)]
    cover = z3.substitute_vars(engine.get_cover_delta(-1, reached), *names)
    clauses = cover.children() if z3.is_and(cover) else [cover]
    return "; ".join(sorted(" ".join(_clause(clause).split()) for clause in clauses))


def _clause(clause: z3.BoolRef) -> str:
    """Return one condition in words of Python."""
    if z3.is_or(clause):
        return " or ".join(sorted(_clause(part) for part in clause.children()))
    if not z3.is_not(clause):
        return str(clause)
    inside = clause.arg(0)
    if z3.is_app_of(inside, z3.Z3_OP_LE):
        return _comparison(inside.arg(0), ">", inside.arg(1).as_long())
    if z3.is_app_of(inside, z3.Z3_OP_GE):
        return _comparison(inside.arg(0), "<", inside.arg(1).as_long())
    return f"{inside.arg(0)} != {inside.arg(1)}" if z3.is_eq(inside) else f"not {inside}"


def _comparison(terms: z3.ArithRef, sign: str, bound: int) -> str:
    """Return a comparison of a number, or of the difference of two, with a constant."""
    parts = terms.children() if z3.is_add(terms) else [terms]
    minus = [str(part.arg(1)) for part in parts if z3.is_mul(part)]
    plus = [str(part) for part in parts if not z3.is_mul(part)]
    if not minus:
        return f"{terms} {sign} {bound}"
    subject, other = plus[0], minus[0]
    if subject > other:
        subject, other, sign, bound = other, subject, {"<": ">", ">": "<"}[sign], -bound
    more = "" if bound == 0 else f" {'+' if bound > 0 else '-'} {abs(bound)}"
    return f"{subject} {sign} {other}{more}"


def _named(situation: OneRecord) -> Iterator[tuple[str, z3.ExprRef]]:
    yield from zip(FIELDS, _terms(situation.record), strict=True)
    yield "limit", situation.limit
    yield "final", situation.tracked
