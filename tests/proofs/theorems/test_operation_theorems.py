"""Faults of whole operations, which no theorem on one record notices."""

from collections.abc import Callable, Mapping

import pytest

from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from spec import record as rules
from spec import writes
from spec.logic import Term
from spec.partition import SharePartition, Step

EFFECT = "operation_changes_the_records_it_names"
GUARD = "operation_is_accepted_when_each_record_allows_it"


def held(record: rules.Record, _member_or_now: Term) -> Term:
    return rules.is_held(record)


def commits(record: rules.Record, *_rest: Term) -> rules.Record:
    return rules.commit(record)


def changes_one(state: SharePartition, changed: Mapping[int, rules.Record], *rest: Term) -> Step:
    return writes.write_and_wait(state, dict([*changed.items()][:1]), *rest)


@pytest.mark.parametrize(
    ("rule", "wrong", "theorem"),
    [
        ("spec.acknowledge.is_held_by", held, f"acknowledge by REJECT {GUARD}"),
        ("spec.release.is_held_by", held, f"member leaves {EFFECT}"),
        ("spec.release.write_and_wait", changes_one, f"member leaves {EFFECT}"),
        ("spec.expire.is_lock_over", held, f"time passes {EFFECT}"),
        ("spec.writes.roll_back", commits, "write fails answer_settles_its_records"),
    ],
)
def test_rule_that_an_operation_does_not_keep_is_noticed(
    monkeypatch: pytest.MonkeyPatch, rule: str, wrong: Callable[..., object], theorem: str
) -> None:
    monkeypatch.setattr(rule, wrong)
    assert prove(theorem_named(theorem)).verdict is ProofVerdict.REFUTED
