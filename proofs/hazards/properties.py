"""What should hold of every step. Each function yields how a step breaks it."""

from collections.abc import Iterator

from model.errors import ErrorCode
from model.states import RecordState
from proofs.hazards.machine import Shown, older_broker_reads
from proofs.hazards.memory import offsets_marked
from proofs.hazards.world import HazardMoment, HazardMove

IN_PROGRESS, ACQUIRED = RecordState.IN_PROGRESS, RecordState.ACQUIRED
_FAILED = (RecordState.ARCHIVED, RecordState.ARCHIVING)
_READS = (HazardMove.FAIL_OVER, HazardMove.READ_AGAIN)
"""After these a leader knows what was durable, and nothing else."""


def an_acceptance_survives(moment: HazardMoment) -> Iterator[str]:
    """Hold that what was accepted and confirmed is never delivered again, failover or not."""
    for offset in sorted(moment.after.past.confirmed):
        shown = moment.after.view.records[offset]
        if not shown.is_terminal:
            yield f"offset {offset} was accepted, the client was told so, and it is {_name(shown)}"


def the_lag_is_what_is_unfinished(moment: HazardMoment) -> Iterator[str]:
    """Hold that where no write was lost, a new leader finds as much to do as the reported lag."""
    if not moment.after.past.is_write_lost:
        yield from the_lag_is_resumed(moment)


def the_lag_is_resumed(moment: HazardMoment) -> Iterator[str]:
    """Hold that a new leader finds as much to do as the reported lag, whatever was lost."""
    view = moment.after.view
    unfinished = sum(not record.is_terminal for record in view.records)
    if moment.act.move in _READS and view.durable_lag != unfinished:
        yield f"{_records(unfinished)} unfinished and the reported lag is {view.durable_lag}"


def the_count_keeps_to_its_limit(moment: HazardMoment) -> Iterator[str]:
    """Hold that the delivery count is at most its limit."""
    limit = moment.world.config.delivery_count_limit
    for offset, shown in enumerate(moment.after.view.records):
        if shown.delivery_count > limit:
            counted = f"has delivery count {shown.delivery_count}"
            yield f"offset {offset} {counted}, the limit is {limit}"


def only_an_acquire_counts(moment: HazardMoment) -> Iterator[str]:
    """Hold that the delivery count changes only when a record is acquired."""
    counts_by_rule = moment.act.move in (HazardMove.FETCH, *_READS)
    for offset, was, is_ in _changes(moment):
        known = offset >= moment.after.view.start and not counts_by_rule
        if known and was.delivery_count != is_.delivery_count:
            counts = f"{was.delivery_count} to {is_.delivery_count}"
            yield f"offset {offset} goes from delivery count {counts} and nobody acquired it"


def an_archived_record_had_its_attempts(moment: HazardMoment) -> Iterator[str]:
    """Hold that a record that fails at the limit was delivered as often as the limit allows."""
    limit = moment.world.config.delivery_count_limit
    for offset, before, after in _ended_by_time(moment):
        times = moment.after.past.deliveries[offset]
        if after.state in _FAILED and before.state not in _FAILED and times < limit:
            yield f"offset {offset} is {_name(after)} after {_times(times)}, the limit is {limit}"


def fresh_progress_keeps_the_lock(moment: HazardMoment) -> Iterator[str]:
    """Hold that an owner that marks in time keeps a record up to the maximum extension."""
    config, past, now = moment.world.config, moment.after.past, moment.after.view.now
    for offset, before, _after in _ended_by_time(moment):
        last, first = past.sign[offset], past.first_mark[offset]
        if before.state is not IN_PROGRESS or last is None or first is None:
            continue
        is_present = before.owner not in past.away and offset not in past.unseen
        fresh = now < last + config.in_progress_staleness_threshold_ms
        within = now < first + config.in_progress_max_lock_extension_ms
        if is_present and fresh and within:
            yield f"{before.owner} loses offset {offset} {now - last:,} ms after its last mark"


def a_lock_lasts_its_duration(moment: HazardMoment) -> Iterator[str]:
    """Hold that an acquisition lock on a record that was not marked lasts its duration."""
    duration, now = moment.world.config.record_lock_duration_ms, moment.after.view.now
    for offset, before, _after in _ended_by_time(moment):
        since = moment.after.past.sign[offset]
        if before.state is ACQUIRED and since is not None and now < since + duration:
            yield f"{before.owner} loses offset {offset} after {now - since:,} of {duration:,} ms"


def silence_ends_at_the_threshold(moment: HazardMoment) -> Iterator[str]:
    """Hold that a record is released at the staleness threshold after the last sign of life."""
    longest, now = moment.world.config.in_progress_staleness_threshold_ms, moment.after.view.now
    for offset, shown in enumerate(moment.after.view.records):
        last = moment.after.past.sign[offset]
        if shown.is_held and last is not None and now - last > longest:
            yield f"{shown.owner} holds offset {offset}, silent for {now - last:,} ms"


def progress_ends_at_its_maximum(moment: HazardMoment) -> Iterator[str]:
    """Hold that no delivery is IN_PROGRESS for longer than the maximum extension."""
    longest, now = moment.world.config.in_progress_max_lock_extension_ms, moment.after.view.now
    for offset, shown in enumerate(moment.after.view.records):
        first = moment.after.past.first_mark[offset]
        if shown.is_held and first is not None and now - first > longest:
            yield f"offset {offset} is IN_PROGRESS for {now - first:,} of {longest:,} ms"


def a_terminal_record_stays(moment: HazardMoment) -> Iterator[str]:
    """Hold that a record that is finally ACKNOWLEDGED or ARCHIVED never changes."""
    for offset, was, is_ in _changes(moment):
        if was.is_terminal and not is_.is_terminal and moment.act.move not in _READS:
            yield f"offset {offset} was {_name(was)} and is {_name(is_)}"


def in_progress_has_an_owner(moment: HazardMoment) -> Iterator[str]:
    """Hold that an IN_PROGRESS record has an owner."""
    for offset, shown in enumerate(moment.after.view.records):
        if shown.state is IN_PROGRESS and shown.owner is None:
            yield f"offset {offset} is IN_PROGRESS and nobody owns it"


def an_acquisition_has_a_timer(moment: HazardMoment) -> Iterator[str]:
    """Hold that an ACQUIRED record has a lock timer."""
    for offset, shown in enumerate(moment.after.view.records):
        if shown.state is ACQUIRED and shown.until is None:
            yield f"offset {offset} is ACQUIRED by {shown.owner} and no timer will end that"


def an_older_broker_can_take_over(moment: HazardMoment) -> Iterator[str]:
    """Hold that a broker that does not know the state can initialize from what is durable."""
    view = moment.after.view
    reads = older_broker_reads(view.durable, len(view.records))
    if moment.act.move is HazardMove.DOWNGRADE and not reads:
        yield "the share-partition fails to initialize, on every attempt"


def the_owner_can_acknowledge(moment: HazardMoment) -> Iterator[str]:
    """Hold that the owner of a record under a live lock can acknowledge it."""
    member, given = moment.act.member, moment.act.given
    if moment.act.move is HazardMove.ACCEPT and given is not None:
        shown, code = moment.before.view.records[given.offset], moment.outcomes[0].status
        if code is ErrorCode.INVALID_RECORD_STATE and shown.owner == member:
            yield f"{member} owns offset {given.offset}, accepts it and gets {code.name}"


def a_mark_counts_for_its_own_delivery(moment: HazardMoment) -> Iterator[str]:
    """Hold that a mark that was made for one delivery changes nothing of another."""
    for offset, code, delivery in offsets_marked(moment):
        counts = code is ErrorCode.NONE and moment.after.view.records[offset].is_held
        if counts and delivery != _latest(moment, offset):
            yield f"a mark of an earlier delivery refreshes the present one of offset {offset}"


def a_good_mark_is_accepted(moment: HazardMoment) -> Iterator[str]:
    """Hold that a mark by the owner, for this delivery and before the maximum, is accepted."""
    config, past, view = moment.world.config, moment.before.past, moment.before.view
    for offset, code, delivery in offsets_marked(moment):
        shown, first = view.records[offset], past.first_mark[offset]
        present = delivery == _latest(moment, offset)
        good = present and shown.is_held and shown.owner == moment.act.member
        old = first is not None and view.now - first >= config.in_progress_max_lock_extension_ms
        if good and not old and code is not ErrorCode.NONE:
            yield f"{shown.owner} holds offset {offset}, marks it and gets {code.name}"


def a_rejected_record_is_finished(moment: HazardMoment) -> Iterator[str]:
    """Hold that a rejected record is finished where there is no dead-letter queue."""
    given = moment.act.given
    if moment.act.move is HazardMove.REJECT and given is not None:
        shown = moment.after.view.records[given.offset]
        if moment.outcomes[0].status is ErrorCode.NONE and not shown.is_terminal:
            yield f"offset {given.offset} is {_name(shown)}, and nothing ends that"


def a_mark_leaves_other_records(moment: HazardMoment) -> Iterator[str]:
    """Hold that a mark changes nothing of the records that it does not name."""
    named = {offset for offset, _, _ in offsets_marked(moment)}
    for offset, was, is_ in _changes(moment):
        if named and offset not in named and was.until != is_.until:
            ends = "has no timer any more"
            if is_.until is not None and was.until is not None:
                ends = f"ends {is_.until - was.until:,} ms later"
            yield f"a mark of offset {min(named)}, and the lock of offset {offset} {ends}"


def a_mark_is_sent_in_time(moment: HazardMoment) -> Iterator[str]:
    """Hold that a mark that was called under a live lock reaches the broker under it."""
    waiting = {(c.member, g.offset) for c in moment.before.past.consumers for g in c.marks}
    for offset, before, _after in _ended_by_time(moment):
        if (before.owner, offset) in waiting:
            yield f"{before.owner} called markInProgress for offset {offset} and loses its lock"
    if moment.act.move is HazardMove.POLL:
        for offset, shown in enumerate(moment.after.view.records):
            if (moment.act.member, offset) in waiting and shown.is_terminal:
                yield f"poll() accepts offset {offset} before it sends the mark of it"


def a_mark_writes_nothing(moment: HazardMoment) -> Iterator[str]:
    """Hold that a mark costs no write to the state topic, as a renewal costs none."""
    marked = any(offsets_marked(moment))
    writes = [write for outcome in moment.outcomes for write in outcome.writes]
    if marked and writes:
        entry = writes[0].state_batches[0]
        yield f"a mark writes state {entry.state.value} with delivery count {entry.delivery_count}"


def a_departure_makes_records_available(moment: HazardMoment) -> Iterator[str]:
    """Hold that what a member held is available right after it has left."""
    passed = moment.act.move is HazardMove.WAIT
    for offset, shown in enumerate(moment.after.view.records):
        if passed and shown.is_held and shown.owner in moment.after.past.away:
            yield f"{shown.owner} has left and holds offset {offset}"


def a_waiting_record_is_not_blocked(moment: HazardMoment) -> Iterator[str]:
    """Hold that a full window blocks for at most a lock duration."""
    duration, since = moment.world.config.record_lock_duration_ms, moment.after.past.blocked
    blocked = 0 if since is None else moment.after.view.now - since
    if blocked > duration:
        yield f"records wait and nothing can be fetched for {blocked:,} ms"


def a_grace_ends(moment: HazardMoment) -> Iterator[str]:
    """Hold that what a member held is available at the latest when the grace time is over."""
    now, grace = moment.after.view.now, moment.world.config.in_progress_rebalance_grace_ms
    for offset, shown in enumerate(moment.after.view.records):
        since = moment.after.past.away.get(shown.owner or "")
        if shown.is_held and since is not None and now >= since + grace:
            yield f"{shown.owner} left {now - since:,} ms ago and holds offset {offset}"


def a_block_ends(moment: HazardMoment) -> Iterator[str]:
    """Hold that a full window blocks for at most a lock duration and the maximum extension."""
    config, since = moment.world.config, moment.after.past.blocked
    longest = config.record_lock_duration_ms + config.in_progress_max_lock_extension_ms
    blocked = 0 if since is None else moment.after.view.now - since
    if blocked > longest:
        yield f"nothing can be fetched for {blocked:,} ms"


def _changes(moment: HazardMoment) -> Iterator[tuple[int, Shown, Shown]]:
    """Yield each offset, with its record before the step and after it."""
    before, after = moment.before.view.records, moment.after.view.records
    yield from zip(range(len(before)), before, after, strict=True)


def _ended_by_time(moment: HazardMoment) -> Iterator[tuple[int, Shown, Shown]]:
    """Yield the offsets whose holder, if any, is no longer that because time passed."""
    if moment.act.move is HazardMove.WAIT:
        for offset, was, is_ in _changes(moment):
            if was.is_held and not is_.is_held:
                yield offset, was, is_


def _latest(moment: HazardMoment, offset: int) -> int:
    """Return which delivery of the offset is the last before the step, from 0."""
    return moment.before.past.deliveries[offset] - 1


def _name(shown: Shown) -> str:
    return shown.state.name


def _records(number: int) -> str:
    return "1 record is" if number == 1 else f"{number} records are"


def _times(number: int) -> str:
    return "1 delivery" if number == 1 else f"{number} deliveries"
