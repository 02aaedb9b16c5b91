"""Theorems about what changes a share-partition as a whole: a new leader, a reset, a log start."""

from typing import Any

import attrs

from model.errors import ErrorCode
from model.operations import AdvanceLogStart, AlterConfig, Initialize, ResetOffset
from model.profile import DRAFT_RESOLVED, KIP
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from proofs.theorems.controls import becomes, leaves, off_by_one
from proofs.theorems.durable_situation import is_persisted
from proofs.theorems.operation_cases import places
from proofs.theorems.operation_situation import (
    ANOTHERS,
    OneOperation,
    Refusal,
    attempted,
    config_of,
    has_held_state,
    is_possible,
    kept,
    names_no_others,
    partition_of,
    same_record,
)
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Theorem, laws
from proofs.theorems.window_theorems import ENDS, ORDERED, ends_with_a_record, ordered, starting_at
from spec import alter_config, initialize, log_start
from spec import record as rules
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import Outstanding, SharePartition, Step

_law = laws("KIP-932, Managing the SPSO and SPEO")


def _altered(s: OneOperation) -> Term:
    before = attrs.evolve(partition_of(s), highest_limit=s.acquisition)
    config = config_of(s)
    after = alter_config.alter_config(before, AlterConfig(config)).partition
    return conjunction(
        kept(before, after, "config", "highest_limit"),
        after.config is config,
        after.highest_limit == either(s.acquisition > s.limit, s.acquisition, s.limit),
    )


def _refuses_disorder(s: OneOperation) -> Term:
    """Whether durations out of order are refused where records may be marked."""
    before = partition_of(s, DRAFT_RESOLVED)
    step = attempted(lambda: alter_config.alter_config(before, AlterConfig(config_of(s))))
    ordered = conjunction(s.lock <= s.threshold, s.threshold <= s.extension)
    return negate(ordered) if isinstance(step, Refusal) else ordered


def _log_moved(s: OneOperation) -> Term:
    """Whether the log start offset drops what lies below it, and leaves the rest as it was."""
    log = Log(s.second, s.log_end, stable_offset=s.seq)
    before = attrs.evolve(partition_of(s), log=log)
    after = log_start.advance_log_start(before, AdvanceLogStart(s.first)).partition
    start = either(s.first > s.start, s.first, s.start)
    log_begins = either(s.first > s.second, s.first, s.second)
    records = after.window.records
    return conjunction(
        kept(before, after, "window", "log"),
        *(
            same_record(
                records.get(p.offset), p.record if p.tracked and p.offset >= start else None
            )
            for p in places(s)
        ),
        negate(s.elsewhere in records),
        after.window.start_offset == start,
        after.window.end_offset == either(s.end > start, s.end, start),
        after.log.start_offset == log_begins,
        after.log.end_offset == either(s.log_end > log_begins, s.log_end, log_begins),
        after.log.stable_offset == either(s.seq > log_begins, s.seq, log_begins),
    )


def _reset(s: OneOperation) -> Term:
    """Whether a reset is refused while anything is held, and otherwise empties the window."""
    before = partition_of(s)
    step = initialize.reset_offset(before, ResetOffset(s.first))
    after = step.partition
    held = [p.tracked and _is_held(p.record) for p in places(s)]
    if any(held):
        return step.outcome.status is ErrorCode.NON_EMPTY_GROUP and after is before
    now = after.window
    return conjunction(
        kept(before, after, "window", "outstanding", "durable"),
        step.outcome.status is ErrorCode.NONE,
        *(negate(offset in now.records) for offset in (s.offset, s.other, s.elsewhere)),
        now.start_offset == s.first,
        now.end_offset == s.first,
        conjunction(now.complete == 0, now.acquirable == 0, not now.held),
        *(_says_nothing(each) for each in after.outstanding.values()),
        after.durable.start_offset == s.first,
        after.durable.state_epoch == before.durable.state_epoch + 1,
        after.durable.leader_epoch == before.durable.leader_epoch,
        not after.durable.entries,
    )


def _says_nothing(each: Outstanding) -> Term:
    """Whether no answer to a write changes anything or completes an operation."""
    write = each.write
    told = write.state_batches, each.offsets, each.seq, each.made_after
    nothing = told == ((), (), None, None)
    return conjunction(nothing, write.start_offset == -1, write.delivery_complete_count == 0)


def _is_held(record: rules.Record) -> Term:
    return conjunction(has_held_state(record), negate(record.pending))


def _awaited(s: OneOperation) -> Term:
    """Whether a reset is refused while an operation waits for its write, and only then."""
    before = partition_of(attrs.evolve(s, tracked=False, other_tracked=False))
    waiting = attrs.evolve(ANOTHERS, seq=s.seq)
    waited_for = attrs.evolve(before, outstanding=before.outstanding.set(s.waiting, waiting))
    refused = initialize.reset_offset(waited_for, ResetOffset(s.first))
    free = initialize.reset_offset(before, ResetOffset(s.first))
    answers = refused.outcome.status, free.outcome.status
    return answers == (ErrorCode.NON_EMPTY_GROUP, ErrorCode.NONE)


def _read(s: OneOperation) -> Initialize:
    """Return what a new leader reads: one batch, whose state is that of the second record."""
    batch = StateBatch(s.first, s.last, s.other_record.state, s.other_record.delivery_count)
    persisted = DurableState(s.start, s.complete, (batch,), 1, s.acquisition + 1)
    return Initialize(config_of(s), 0, s.log_end, persisted, s.elapsed)


def _taken_over(s: OneOperation) -> Term:
    """Whether a new leader has each record as it is durable, and nothing of the leader before."""
    before = partition_of(s, KIP)
    step = initialize.initialize(before, _read(s))
    after = step.partition
    if s.first < s.start:
        failed = step.outcome.status is ErrorCode.UNKNOWN_SERVER_ERROR
        return conjunction(failed, not after.ready, kept(before, after, "ready"))
    recovered = rules.Record(s.other_record.state, s.other_record.delivery_count)
    records = after.window.records
    return conjunction(
        step.outcome.status is ErrorCode.NONE and after.ready,
        *(
            same_record(records.get(offset), recovered if s.first <= offset <= s.last else None)
            for offset in (s.offset, s.other)
        ),
        after.window.start_offset == s.start,
        after.window.end_offset >= after.window.start_offset,
        *(
            (offset < after.window.end_offset)
            for offset in (s.offset, s.other)
            if offset in records
        ),
        not after.outstanding,
        after.now == s.elapsed,
        after.next_write == s.next_write,
        after.durable.start_offset == s.start,
        after.durable.delivery_complete_count == s.complete,
        after.durable.leader_epoch == s.acquisition + 1,
        after.durable.state_epoch == 1,
        after.log.end_offset == s.log_end,
    )


def _taken_over_whole(s: OneOperation) -> Term:
    """Whether the window of a new leader ends with a record, of a batch that ends at an offset."""
    after = initialize.initialize(partition_of(s, KIP), _read(s)).partition
    return True if not after.ready else ends_with_a_record(after.window)


def _is_in_order(after: SharePartition) -> Term:
    return True if not after.ready else ordered(after.window, after.log)


def _reset_in_order(s: OneOperation) -> Term:
    reset = initialize.reset_offset(partition_of(s), ResetOffset(s.first))
    return _is_in_order(reset.partition)


def _taken_over_in_order(s: OneOperation) -> Term:
    return _is_in_order(initialize.initialize(partition_of(s, KIP), _read(s)).partition)


def _is_durable_in_the_log(s: OneOperation) -> Term:
    """Whether what is durable is of the log, whose end may yet lie before the start offset."""
    return conjunction(_is_durable(s), (s.last < s.log_end) | (s.last < s.start))


def _is_durable(s: OneOperation) -> Term:
    return conjunction(is_possible(s), is_persisted(s.other_record.state))


def _unchanged(name: str, target: str) -> Control:
    return Control(f"{name} changes nothing", target, leaves(lambda state, *_rest: state))


def _stays(state: SharePartition, _operation: Any) -> Step:  # noqa: ANN401 - any operation
    return Step(state)


TAKEOVER_THEOREMS = (
    Theorem(
        _law("configuration_is_replaced", "A new configuration changes nothing else."),
        "alter config",
        OneOperation,
        is_possible,
        _altered,
        _unchanged("alter_config", "spec.alter_config:alter_config"),
    ),
    Theorem(
        _law(
            "durations_are_in_order",
            "Where records may be marked, durations out of order are refused.",
        ),
        "alter config",
        OneOperation,
        is_possible,
        _refuses_disorder,
        Control("alter_config refuses nothing", "spec.alter_config:alter_config", becomes(_stays)),
    ),
    Theorem(
        _law(
            "log_start_drops_what_lies_below",
            "The log start offset drops the records below it, and no other.",
            6,
        ),
        "advance log start",
        OneOperation,
        is_possible,
        _log_moved,
        _unchanged("advance_log_start", "spec.log_start:advance_log_start"),
    ),
    Theorem(
        _law("reset_empties_the_window", "A reset empties the window, if nobody holds a record."),
        "reset offset",
        OneOperation,
        is_possible,
        _reset,
        _unchanged("reset_offset", "spec.initialize:reset_offset"),
    ),
    Theorem(
        _law("reset_waits_for_writes", "A reset is refused while an operation awaits its write."),
        "reset offset",
        OneOperation,
        is_possible,
        _awaited,
        Control("reset_offset refuses nothing", "spec.initialize:reset_offset", becomes(_stays)),
    ),
    Theorem(
        ORDERED,
        "reset offset",
        OneOperation,
        is_possible,
        _reset_in_order,
        Control(
            "reset_offset moves the start offset alone",
            "spec.initialize:reset_offset",
            leaves(lambda state, operation: starting_at(state, operation.start_offset)),
        ),
    ),
    Theorem(
        ORDERED,
        "initialize",
        OneOperation,
        _is_durable_in_the_log,
        _taken_over_in_order,
        Control("extend goes one offset too far", "spec.window:extend", off_by_one(1)),
        runnable=names_no_others,
    ),
    Theorem(
        ENDS,
        "initialize",
        OneOperation,
        _is_durable,
        _taken_over_whole,
        Control("extend goes one offset too far", "spec.window:extend", off_by_one(1)),
        runnable=names_no_others,
    ),
    Theorem(
        _law(
            "new_leader_has_what_is_durable",
            "A new leader has the records as they are durable, and nothing of the leader before.",
        ),
        "initialize",
        OneOperation,
        _is_durable,
        _taken_over,
        Control(
            "recover makes every record AVAILABLE",
            "spec.record:recover",
            becomes(lambda _state, count: rules.Record(RecordState.AVAILABLE, count)),
        ),
        runnable=names_no_others,
    ),
)
