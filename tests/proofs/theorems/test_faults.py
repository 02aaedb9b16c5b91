"""Faults of operations, requests and choices, which no theorem on one record notices."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import pytest

from model.errors import ErrorCode
from model.operations import Acquire
from model.ranges import OffsetRange
from model.share_messages import ShareAcknowledge
from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from spec import coordinator, policies, writes
from spec import record as rules
from spec.logic import Term
from spec.partition import SharePartition, Step
from spec.share_session import Sessions, begin

EFFECT = "operation_changes_the_records_it_names"
GUARD = "operation_is_accepted_when_each_record_allows_it"
MERGES, LOGS = "write_merges_its_batches", "write_logs_its_batches"
MAY, MAXIMUM = "own_choice_takes_what_it_may", "own_choice_keeps_to_the_maximum"
REFUSED = "mark_request_is_refused_as_its_session_says"
REACHED = "marks_reach_each_share_partition_in_memory"
RAISED, ACQUIRABLE = coordinator._raised, policies._acquirable  # noqa: SLF001 - the rules


def held(record: rules.Record, _member_or_now: Term) -> Term:
    return rules.is_held(record)


def commits(record: rules.Record, *_rest: Term) -> rules.Record:
    return rules.commit(record)


def changes_one(state: SharePartition, changed: Mapping[int, rules.Record], *rest: Term) -> Step:
    return writes.write_and_wait(state, dict([*changed.items()][:1]), *rest)


def first_alone(entries: Any, batches: Any, start: int) -> Any:  # noqa: ANN401 - as the rule
    return RAISED(entries, tuple(batches)[:1], start)


def from_zero(entries: Any, batches: Any, _start: int) -> Any:  # noqa: ANN401 - as the rule
    return RAISED(entries, batches, 0)


def whole_batches(partition: SharePartition, operation: Acquire) -> list[int]:
    return [at for batch in operation.log_batches for at in ACQUIRABLE(partition, batch)]


def twice(partition: SharePartition, batch: OffsetRange) -> Iterator[int]:
    for at in ACQUIRABLE(partition, batch):
        yield from (at, at)


def at_any_epoch(sessions: Sessions, request: ShareAcknowledge, *rest: Any) -> Any:  # noqa: ANN401 - as the rule
    session = sessions.get((request.group_id, request.member_id))
    if session is not None:
        request = attrs.evolve(request, session_epoch=session.epoch)
    return begin(sessions, request, *rest)


@pytest.mark.parametrize(
    ("rule", "wrong", "theorem"),
    [
        ("acknowledge.is_held_by", held, f"acknowledge by REJECT {GUARD}"),
        ("release.is_held_by", held, f"member leaves {EFFECT}"),
        ("release.write_and_wait", changes_one, f"member leaves {EFFECT}"),
        ("expire.is_lock_over", held, f"time passes {EFFECT}"),
        ("writes.roll_back", commits, "write fails answer_settles_its_records"),
        ("coordinator._raised", first_alone, f"write two state batches that may overlap {MERGES}"),
        ("coordinator._raised", first_alone, f"write two state batches apart {LOGS}"),
        ("coordinator._raised", from_zero, f"write one state batch {LOGS}"),
        ("coordinator._below", lambda *_of: [], f"write one state batch {MERGES}"),
        ("policies._acquirable", twice, f"choose by record_limit (kip) {MAY}"),
        ("policies.is_acquirable", lambda _of: True, f"choose by batch_optimized (kip) {MAY}"),
        ("policies.chosen_offsets", whole_batches, f"choose by record_limit (kip) {MAXIMUM}"),
        ("policies.chosen_offsets", whole_batches, f"choose by batch_optimized (kafka) {MAXIMUM}"),
        ("mark_request.begin", at_any_epoch, f"serve a mark {REFUSED}"),
        ("mark_request.FINAL_EPOCH", -9, f"serve a mark {REFUSED}"),
        ("mark_request.locate", lambda *_of: ErrorCode.NONE, f"serve a mark {REACHED}"),
    ],
)
def test_rule_that_is_not_kept_is_noticed(
    monkeypatch: pytest.MonkeyPatch, rule: str, wrong: Callable[..., object], theorem: str
) -> None:
    monkeypatch.setattr(f"spec.{rule}", wrong)
    assert prove(theorem_named(theorem)).verdict is ProofVerdict.REFUTED
