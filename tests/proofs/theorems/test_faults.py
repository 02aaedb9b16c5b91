"""Faults of rules, each noticed by a theorem that runs it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import pytest

from model.errors import ErrorCode
from model.operations import Acquire
from model.ranges import OffsetRange, PassedOver
from model.share_messages import ShareAcknowledge
from model.states import RecordState
from model.whole_state import Delayed
from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from spec import coordinator, policies, window, writes
from spec import record as rules
from spec.log import Log
from spec.logic import Term, either
from spec.partition import SharePartition, Step
from spec.share_session import Sessions, begin

GIVES = "acquire_changes_what_it_takes"
BOUNDED = "finished_records_leave_a_full_window_within_the_bound"
COUNTED = "record_is_passed_over_within_the_bound"
OFFERED = "what_a_fetch_could_acquire_is_offered"
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


def unnumbered(record: rules.Record, member: Term, deadline: Term, _number: Term) -> rules.Record:
    return rules.acquire(record, member, deadline)


def with_one_left_out(now: window.Window, changes: dict[Term, rules.Record]) -> window.Window:
    return window.replace(now, dict([*changes.items()][1:]))


def one_too_far(now: window.Window, end: Term) -> window.Window:
    return window.extend(now, end + 1)


def counts_twice(offset: int, fetches: int) -> Delayed:
    return Delayed(offset, fetches + 1)


def passes_twice(first: int, last: int, fetches: int) -> PassedOver:
    return PassedOver(first, last, fetches + 1)


def whole_log(log: Log, _level: object) -> int:
    return log.end_offset


def one_attempt_more(record: rules.Record, limit: Term, failed: Term) -> Term:
    return either(record.delivery_count > limit, failed, RecordState.AVAILABLE)


def nothing(*_of: object) -> tuple[()]:
    return ()


@pytest.mark.parametrize(
    ("rule", "wrong", "theorem"),
    [
        ("record._after_attempt", one_attempt_more, "release available_can_be_delivered"),
        ("window.is_finished", rules.is_terminal, "step walk_passes_only_what_is_finished"),
        ("acquire.acquire", unnumbered, f"acquire with a number {GIVES}"),
        ("acquire.replace", with_one_left_out, f"acquire {GIVES}"),
        ("acquire.replace", with_one_left_out, f"let enter {GIVES}"),
        ("acquire.extend", one_too_far, f"acquire {GIVES}"),
        ("acquire.outside_holes", nothing, "check two offsets window_grows_over_no_record"),
        ("offered.PassedOver", passes_twice, f"a fetch takes nothing of two offsets {COUNTED}"),
        ("offered.Delayed", counts_twice, f"nothing is acquired of a full window {BOUNDED}"),
        ("offered.require", nothing, f"a fetch takes the second of two offsets {COUNTED}"),
        ("offered.require", nothing, f"nothing is acquired of a full window {BOUNDED}"),
        ("offered.hole_end", lambda *_of: None, f"offer an offset (read_committed) {OFFERED}"),
        ("offered.readable_end", whole_log, f"offer an offset (read_committed) {OFFERED}"),
        ("offered.overlapping", nothing, f"offer an offset (read_committed) {OFFERED}"),
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
