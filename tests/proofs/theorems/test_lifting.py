"""False statements, in the words of Python that a lifting to terms may get wrong."""

from collections.abc import Callable
from typing import Any

import pytest
from immutables import Map

from model.ranges import OffsetRange
from model.states import PERSISTED_STATES, RecordState
from proofs.theorems.any_partition import AnyPartition
from proofs.theorems.harness import ProofVerdict, holds_of, prove
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Property, Theorem
from spec import initialize
from spec import record as rules
from spec.logic import absent, negate
from tests.proofs.standing import SAME


def _range_of(last: Any) -> OffsetRange:  # noqa: ANN401 - a value or a term
    return OffsetRange(0, last)


Statement = Callable[[AnyPartition], Any]
REFUTED: dict[str, Statement] = {
    "equal keys are two in a set": lambda s: s.start != s.offset or len({s.offset, s.start}) == 2,
    "a key is not found in a dict": lambda s: s.offset + 0 not in {s.offset: 1},
    "a number is none": lambda s: not isinstance(s.start, int),
    "equal keys are two in a dict": lambda s: len({s.start: 1, s.offset: 2}) == 2,
    "each key keeps its value": lambda s: [*{s.start: 1, s.end: 2}.values()] == [1, 2],
    "keys in order are two": lambda s: len(dict.fromkeys((s.start, s.end))) == 2,
    "a map has no equal key": lambda s: Map({s.start: 1}).get(s.offset) is None,
    "a pair is not in a set": lambda s: (s.start, 1) not in {(s.end, 1), (s.offset, 1)},
    "values of equal fields differ": lambda s: _range_of(s.start) != _range_of(s.end),
    "a value is not in a set": lambda s: _range_of(s.start) not in {_range_of(s.end), 0},
    "sorting keeps the order": lambda s: sorted((s.offset, s.start))[-1:] == [s.start],
    "the first is the least of three": lambda s: min(s.start, s.offset, s.end) == s.start,
    "the first is the least of a list": lambda s: min([s.start, s.offset]) == s.start,
    "an equal number comes later": lambda s: [s.start, s.offset].index(s.offset) == 1,
    "every number is true": lambda s: bool(s.start),
    "another is taken for no number": lambda s: (s.start or 7) != 7,
    "every number gives way": lambda s: (s.start and s.offset) == s.offset,
    "of two conditions one holds": lambda s: sum((s.tracked, s.other_tracked)) < 2,
    "both conditions never hold": lambda s: not (s.tracked and s.start > s.offset),
    "nothing is lost by halves": lambda s: s.start // 2 * 2 == s.start,
    "a rest is never two": lambda s: (s.start - s.offset) % 3 < 2,
    "a state is never ARCHIVED": lambda s: RecordState(s.record.state) is not RecordState.ARCHIVED,
}
"""Refuted by values of which the statement is then false."""
UNDECIDED: dict[str, Statement] = {
    "a number beside others in a set": lambda s: s.offset not in {0, 7},
    "a number beside others in a dict": lambda s: {1: "a"}.get(s.offset) is None,
    "a state of a kept set": lambda s: s.record.state not in PERSISTED_STATES,
    "a fraction": lambda s: 1 / (s.start + 2) == 0,
    "a rest by a negative number": lambda s: (s.start + 1) % (-1 - s.offset) >= 0,
    "a power": lambda s: 2 ** (s.start - 1) != 0.5,
    "an inverse": lambda s: bool(~(s.start == s.offset)) == (s.start != s.offset),
    "a hash": lambda s: hash(s.start) == hash(s.offset),
    "an index": lambda s: (1, 2)[s.start] == 1,
    "a number that must be whole": lambda s: int(s.start) != 0,
}
"""Not judged: what Python asks cannot be asked of terms."""


def stated(claim: Statement, given: Statement = lambda _: True) -> Theorem:
    return Theorem(Property("stated", "", "none"), "none", AnyPartition, given, claim, SAME)


@pytest.mark.parametrize("claim", REFUTED.values(), ids=REFUTED)
def test_false_statement_is_refuted_by_values(claim: Statement) -> None:
    proof = prove(stated(claim))
    assert proof.verdict is ProofVerdict.REFUTED
    assert not holds_of(proof.theorem, proof.counterexample)


@pytest.mark.parametrize("claim", UNDECIDED.values(), ids=UNDECIDED)
def test_false_statement_that_cannot_be_asked_is_not_proved(claim: Statement) -> None:
    proof = prove(stated(claim))
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert proof.reason


def test_hypothesis_that_cannot_be_asked_proves_nothing() -> None:
    proof = prove(stated(lambda _: False, UNDECIDED["a number beside others in a dict"]))
    assert proof.verdict is ProofVerdict.UNKNOWN


def test_keys_that_equal_no_number_in_sight_are_asked() -> None:
    claim = prove(stated(lambda s: s.start + 8 not in {0, 7}))
    assert claim.verdict is ProofVerdict.PROVED


def test_absent_time_is_absent_for_terms_as_for_values() -> None:
    def no_time_comes(s: AnyPartition) -> Any:  # noqa: ANN401 - a value or a term
        lock_over = rules.is_lock_over(s.record, s.now)
        stays = rules.can_stay(s.record, s.member, s.now, s.lock)
        return conjunction(
            implies(absent(s.record.deadline), negate(lock_over)),
            implies(absent(s.record.last_progress), negate(stays)),
        )

    assert prove(stated(no_time_comes)).verdict is ProofVerdict.PROVED


def test_sets_of_states_that_the_specification_keeps_are_asked() -> None:
    theorem = stated(lambda s: s.record.state not in initialize._DELIVERABLE)  # noqa: SLF001 - a set of states
    assert prove(theorem).verdict is ProofVerdict.REFUTED
