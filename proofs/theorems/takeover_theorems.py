"""Theorems about what changes a share-partition as a whole: a new leader, a reset, a log start."""

import attrs

from model.errors import ErrorCode
from model.operations import AdvanceLogStart, AlterConfig, Initialize, ResetOffset
from model.outcome import Choice
from model.profile import DRAFT_RESOLVED, KIP, Profile
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from proofs.theorems.any_partition import (
    ANOTHERS,
    AnyPartition,
    config_of,
    is_possible,
    operated,
    partition_of,
    places,
)
from proofs.theorems.attempts import Refusal, attempted, standing_in
from proofs.theorems.controls import becomes, called_with, changes_nothing, off_by_one, wrong
from proofs.theorems.durable_situation import is_persisted
from proofs.theorems.effects import changes_to, kept
from proofs.theorems.records import has_held_state
from proofs.theorems.symbolic import conjunction, is_between, is_same, largest
from proofs.theorems.theorem import Control
from spec import alter_config, initialize, log_start
from spec import record as rules
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import Outstanding, SharePartition, Step
from spec.step import transition
from spec.window import Window

ALTER, RESET = "spec.alter_config:alter_config", "spec.initialize:reset_offset"
MOVE_LOG = changes_nothing("spec.log_start:advance_log_start")
TOO_FAR = wrong("spec.window:extend", "goes one offset too far", off_by_one(1))
AVAILABLE = wrong(
    "spec.record:recover",
    "makes every record AVAILABLE",
    becomes(lambda _state, count: rules.Record(RecordState.AVAILABLE, count)),
)
_FREE = Choice()
_whole = operated("KIP-932, Managing the SPSO and SPEO")


@_whole.theorem(60, of="alter config", control=changes_nothing(ALTER))
def configuration_is_replaced(s: AnyPartition) -> Term:
    """A new configuration changes nothing else; durations of marks out of order are refused."""
    marking = partition_of(s, DRAFT_RESOLVED)
    config = config_of(s, renew_acknowledge_enable=s.renewable)
    step = attempted(lambda: alter_config.alter_config(marking, AlterConfig(config)))
    ascending = is_between(s.lock, s.threshold, s.extension)
    before = attrs.evolve(partition_of(s), highest_limit=s.highest)
    after = alter_config.alter_config(before, AlterConfig(config)).partition
    return conjunction(
        negate(ascending) if isinstance(step, Refusal) else ascending,
        kept(before, after, "config", "highest_limit"),
        after.config is config,
        after.highest_limit == either(s.highest > s.limit, s.highest, s.limit),
    )


@_whole.theorem(5, 6, 7, of="advance log start", control=MOVE_LOG)
def log_start_drops_what_lies_below(s: AnyPartition) -> Term:
    """The log start offset drops the records below it, and no other."""
    before = attrs.evolve(partition_of(s), log=Log(s.second, s.log_end, stable_offset=s.seq))
    after = log_start.advance_log_start(before, AdvanceLogStart(s.first)).partition
    start, begins = largest(s.first, s.start), largest(s.first, s.second)
    left = [p.record if p.tracked and p.offset >= start else None for p in places(s)]
    return conjunction(
        changes_to(s, before, after, left, "log", start=start, end=largest(s.end, start)),
        after.log.start_offset == begins,
        after.log.end_offset == largest(s.log_end, begins),
        after.log.stable_offset == largest(s.seq, begins),
    )


@_whole.theorem(7, 21, 60, of="reset offset", control=changes_nothing(RESET))
def reset_empties_the_window(s: AnyPartition) -> Term:
    """A reset empties the window, if nobody holds a record and no operation awaits its write."""
    before, operation = partition_of(s), ResetOffset(s.first)
    waiting = before.outstanding.set(s.waiting, attrs.evolve(ANOTHERS, seq=s.seq))
    awaited = initialize.reset_offset(attrs.evolve(before, outstanding=waiting), operation)
    step = initialize.reset_offset(before, operation)
    after, now = step.partition, step.partition.window
    if awaited.outcome.status is not ErrorCode.NON_EMPTY_GROUP:
        return False
    if any(p.tracked and has_held_state(p.record) and negate(p.record.pending) for p in places(s)):
        return step.outcome.status is ErrorCode.NON_EMPTY_GROUP and after is before
    return conjunction(
        changes_to(
            s, before, after, (None, None), "outstanding", "durable", start=s.first, end=s.first
        ),
        step.outcome.status is ErrorCode.NONE,
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
    nothing = (write.state_batches, each.offsets, each.seq) == ((), (), None)
    return conjunction(nothing, write.start_offset == -1, write.delivery_complete_count == 0)


def _initialized(
    s: AnyPartition,
    profile: Profile,
    *more: StateBatch,
    log_start: Term = 0,
    choice: Choice = _FREE,
) -> tuple[SharePartition, Step]:
    """Return the share-partition and the step in which a new leader reads what is durable.

    It is one batch, whose state is that of the second record, and ``more``.
    """
    batch = StateBatch(s.first, s.last, s.other_record.state, s.other_record.delivery_count)
    persisted = DurableState(s.start, s.complete, (batch, *more), 1, s.acquisition + 1)
    before = attrs.evolve(partition_of(s, profile), next_acquisition=s.seq)
    before = attrs.evolve(before, durable=attrs.evolve(before.durable, leader_epoch=s.lock))
    operation = Initialize(
        config_of(s, renew_acknowledge_enable=s.renewable),
        *(log_start, s.log_end, persisted, s.elapsed),
    )
    return before, transition(before, operation, choice, (), 0)


def _is_durable(s: AnyPartition, profile: Profile = KIP, *_of: object) -> Term:
    """Whether the state may be durable, under some profile; durations of marks ascend."""
    marked = s.other_record.state == RecordState.IN_PROGRESS
    persisted = is_persisted(s.other_record.state) | marked
    ascending = is_between(s.lock, s.threshold, s.extension) if profile.in_progress else True
    return conjunction(is_possible(s), persisted, ascending)


@_whole.theorem(
    7,
    25,
    of={
        "initialize": (KIP, AVAILABLE),
        "initialize, to the last record": (KIP, TOO_FAR),
        "initialize where records may be marked": (DRAFT_RESOLVED, AVAILABLE),
    },
    given=_is_durable,
    control=lambda _profile, control: control,
)
def new_leader_has_what_is_durable(s: AnyPartition, profile: Profile, _control: Control) -> Term:
    """A new leader has the records as they are durable, and nothing of the leader before."""
    before, step = _initialized(s, profile)
    after, status = step.partition, step.outcome.status
    state, count = s.other_record.state, s.other_record.delivery_count
    marked = state == RecordState.IN_PROGRESS
    if s.first < s.start or (marked and not profile.in_progress):
        failed = status is ErrorCode.UNKNOWN_SERVER_ERROR and not after.ready
        return conjunction(failed, kept(before, after, "ready"))
    found = rules.recover(state, count) if marked else rules.Record(state, count)
    window, durable = after.window, after.durable
    offsets = s.offset, s.other
    return conjunction(
        status is ErrorCode.NONE and after.ready and not after.outstanding,
        *(
            is_same(window.records.get(at), found if s.first <= at <= s.last else None)
            for at in offsets
        ),
        window.start_offset == s.start,
        window.end_offset == largest(s.start, *(at + 1 for at in window.records)),
        after.now == s.elapsed,
        after.next_write == s.next_write,
        after.next_acquisition == either(s.acquisition + 1 > s.lock, 0, s.seq),
        durable.start_offset == s.start,
        durable.delivery_complete_count == s.complete,
        durable.leader_epoch == s.acquisition + 1,
        durable.state_epoch == 1,
        after.log.end_offset == s.log_end,
    )


@_whole.theorem(
    25, of="initialize from two batches", given=_is_durable,
    control=wrong("spec.initialize:_ascend_from", "passes any", becomes(lambda *_of: True)),
)  # fmt: skip
def durable_batches_ascend(s: AnyPartition) -> Term:
    """Batches that overlap, descend or begin below the start offset fail the share-partition."""
    second = StateBatch(s.second, s.second_last, RecordState.ARCHIVED, 1)
    unknown = s.other_record.state == RecordState.IN_PROGRESS
    ready = _initialized(s, KIP, second)[1].partition.ready
    ascend = conjunction(s.start <= s.first, s.last < s.second, negate(unknown))
    return ascend if ready else negate(ascend)


@_whole.theorem(
    7, of="initialize at the log start offset",
    given=lambda s: _is_durable(s) & (s.last <= s.log_end),
    control=wrong("spec.step:initialize", "chooses nothing", called_with(lambda *of: of[:2])),
)  # fmt: skip
def new_leader_begins_at_the_log_start(s: AnyPartition) -> Term:
    """A leader begins at the durable start offset, or at once at the log start offset beyond it."""
    left = Window(s.last, s.last)
    with standing_in(initialize, drop_below=left) as asked:
        choice = Choice(start_offset=s.second)
        after = _initialized(s, KIP, log_start=s.last, choice=choice)[1].partition
    begins = conjunction(after.ready, s.second >= s.last, s.last > s.start)
    if "drop_below" not in asked:
        return conjunction(
            negate(begins), negate(after.ready) | (after.window.start_offset == s.start)
        )
    return conjunction(begins, asked["drop_below"][1] == s.last, after.window is left)
