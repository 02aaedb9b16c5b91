"""What holds from end to end in a cluster, whatever its nodes do: pure functions of a history.

Each rule stands in ``model/rules.toml`` under ``cluster``, with its sentence and its exceptions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from conformance.cluster import consumers, deliveries, letters, lives
from conformance.cluster.history import (
    AdministratorAnswered,
    AdministratorAsked,
    ApplicationSaid,
    ApplicationTold,
    ClusterEvent,
    GroupAltered,
    GroupSettings,
    Happening,
    LagReported,
    LeaderAcquired,
    LeaderAnswered,
    LeaderAsked,
    LeaderAtRest,
    LeaderReads,
    LeaderResigned,
    LeaderWrites,
    LetterAppended,
    LettersAnswered,
    LettersGiven,
    MemberJoined,
    MemberLeft,
    ReadAnswered,
    RecordsAborted,
    RecordsCompacted,
    RecordsDeleted,
    RecordsEndedUntold,
    RecordsPolled,
    RecordsReceived,
    StateBegun,
    StateCommitted,
    WriteAnswered,
)
from conformance.cluster.run_state import (
    FENCES,
    NONE,
    READ_COMMITTED,
    RecordKey,
    RunState,
    ToldOutcome,
    keys_of,
    offsets_of,
)
from judge.finding import Finding
from model.states import TERMINAL_STATES, AcknowledgeType, RecordState

_ENDING = (AcknowledgeType.GAP, AcknowledgeType.ACCEPT, AcknowledgeType.REJECT)
_OLDER = "a write of an older leader epoch"
_OTHER = "one of two objects in a leader epoch"
_CUT = "the log or the window begins within an aborted batch"
_GONE = "is disconnected"


def judge_history(events: Iterable[ClusterEvent], *, once: bool = True) -> Iterator[Finding]:
    """Yield what is wrong, in the order in which it shows; runs may follow or interleave.

    A rule is reported ``once`` for each share-partition of a run: what follows is mostly the same.
    """
    runs: dict[str, RunState] = {}
    reported: set[tuple[str, int, str]] = set()
    for seq, event in enumerate(events):
        run = runs.get(event.run) or runs.setdefault(event.run, RunState(event.run))
        run.seq, run.ms, run.line = seq, event.ms, event.line
        run.partition = _partition(run, event.what)
        for judge in _STEPS.get(type(event.what), ()):
            for finding in judge(run, event.what) or ():
                key = (event.run, run.partition, finding.name)
                if not once or key not in reported:
                    reported.add(key)
                    yield finding


def _partition(run: RunState, what: Happening) -> int:
    """Return the partition that an event is about, or -1."""
    if isinstance(what, LeaderAnswered) and what.id in run.asked:
        return run.asked[what.id][0].partition
    if isinstance(what, WriteAnswered) and what.id in run.writes:
        return run.writes[what.id][0].partition
    return getattr(what, "partition", -1)


# The group and its members.


def _note_settings(run: RunState, what: GroupSettings | GroupAltered) -> None:
    """Note the settings of a group, or those that were altered: others stay."""
    if isinstance(what, GroupSettings):
        run.settings = what
    elif run.settings is not None:
        run.limits.append((run.ms, run.settings.delivery_count_limit))
        run.settings = attrs.evolve(run.settings, **attrs.asdict(what))
    run.reads_committed |= run.settings is not None and (
        run.settings.isolation_level == READ_COMMITTED
    )


def _limit(run: RunState, settings: GroupSettings, key: RecordKey, count: int) -> int:
    """Return the highest delivery limit since the attempt before: what is released is judged by it.

    Where that attempt is not the last one, since ever.
    """
    highest, ms = run.attempts.get(key, (0, 0))
    since = ms if count == highest + 1 else 0
    before = (limit for ended_ms, limit in run.limits if ended_ms >= since)
    return max((settings.delivery_count_limit, *before))


def _note_joined(run: RunState, what: MemberJoined) -> None:
    run.left.pop((what.member, what.node), None)
    run.tells_sessions = True


def _note_left(run: RunState, what: MemberLeft) -> None:
    """Note that a member has left a node: over a connection that is gone it is told nothing."""
    place = what.member, what.node
    run.left[place] = what.how, run.line
    if what.how == _GONE:
        for id_, (asked, _) in list(run.asked.items()):
            if (asked.member, asked.node) == place:
                run.unheard[id_] = asked
                del run.asked[id_]


# The log.


def _note_deleted(run: RunState, what: RecordsDeleted) -> None:
    run.log_starts[what.partition] = what.log_start_offset
    _note_cut(run, what.partition, what.log_start_offset)
    for write in (each for each, _ in run.writes.values() if each.partition == what.partition):
        deliveries.note_cut_short(run, write)


def _note_cut(run: RunState, partition: int, start: int) -> None:
    """Note whether the log, or a window, begins within a batch of aborted records."""
    if {(partition, start - 1), (partition, start)} <= run.aborted:
        run.cut.add(partition)


def _note_untold(run: RunState, what: RecordsEndedUntold) -> None:
    """Note records that were finished by who cannot be known."""
    run.ended |= keys_of(what.partition, what.ranges)


def _note_compacted(run: RunState, what: RecordsCompacted) -> None:
    """Note records that are gone: they need not be finished, nor become dead letters.

    And those of a batch that they were of while its release is being written.
    """
    keys = keys_of(what.partition, what.ranges)
    for write in (each for each, _ in run.writes.values() if each.partition == what.partition):
        for first, last, state, _count in write.batches:
            batch = keys_of(what.partition, [(first, last)])
            if state == RecordState.AVAILABLE and keys & batch:
                run.cut_short |= batch
    run.ended |= keys
    run.wanted |= keys
    run.aborted -= keys
    run.compacted |= keys


def _judge_aborted(run: RunState, what: RecordsAborted) -> Iterator[Finding]:
    """Judge whether records were given out whose transaction is aborted only now."""
    keys = keys_of(what.partition, what.ranges)
    run.aborted |= keys
    start = run.log_starts.get(what.partition, 0)
    if any(first < start <= last for first, last in what.ranges):
        run.cut.add(what.partition)
    texts = "acquired before", "not before its transaction is committed"
    for offset, *_ in offsets_of(what.ranges):
        if (what.partition, offset) in run.stable:
            yield run.found("COMMITTED_ONLY", offset, *texts)


# What leaders give out.


def _judge_resigned(run: RunState, what: LeaderAcquired) -> Iterator[Finding]:
    """Judge who gives out records: not a node that knows that it leads no longer."""
    epoch, resigned_ms, line = run.resigned.get((what.partition, what.node), (-1, 0, ""))
    if not what.ranges or what.leader_epoch > epoch:
        return
    recorded, expected = f"leader epoch {what.leader_epoch}", f"one after {epoch}"
    name, first = "RESIGNED_LEADER_STOPS", what.ranges[0][0]
    place = what.partition, what.node, what.leader_epoch
    _, had_ms, answered = run.began.get(place, (-1, -1, ""))
    late = had_ms >= resigned_ms
    cause, evidence = (deliveries.LATE_READ, (line, answered)) if late else ("", (line,))
    yield run.found(name, first, recorded, expected, *evidence, cause=cause)


def _judge_left(run: RunState, what: LeaderAcquired) -> Iterator[Finding]:
    """Judge who is given records: not a member that has left the node, which knows it."""
    how, line = run.left.get((what.member, what.node), ("", ""))
    if what.ranges and line:
        name, first = "NOTHING_AFTER_LEAVING", what.ranges[0][0]
        yield run.found(name, first, "acquired", f"nothing for {what.member}", line, cause=how)


def _judge_acquired(run: RunState, what: LeaderAcquired) -> Iterator[Finding]:
    """Judge each acquired record by what members were told of it, and by who holds it."""
    if what.ranges:
        run.gave[what.partition] = run.ms
    for offset, count in lives.judged(run, what):
        yield from _judge_attempt(run, what, offset, count)
        yield from _judge_again(run, what, offset, count)
        yield from deliveries.judge_counted(run, what, offset, count)
        yield from deliveries.judge_holder(run, what, offset, count)


def _judge_attempt(
    run: RunState, what: LeaderAcquired, offset: int, count: int
) -> Iterator[Finding]:
    """Judge a record by the settings of the group."""
    key, settings = (what.partition, offset), run.settings
    if settings is None:
        return
    if (what.isolation_level or settings.isolation_level) == READ_COMMITTED:
        run.stable.add(key)
        if key in run.aborted:
            yield run.found("COMMITTED_ONLY", offset, "acquired", "its transaction was aborted")
    now = settings.delivery_count_limit
    if count > now and count > (limit := _limit(run, settings, key, count)):
        yield run.found("ATTEMPTS_ARE_LIMITED", offset, f"{count}", f"at most {limit}")


def _judge_again(run: RunState, what: LeaderAcquired, offset: int, count: int) -> Iterator[Finding]:
    """Judge a record by what members were told of it."""
    key, spoilt = (what.partition, offset), run.spoils(what.partition)
    done, released = run.finished.get(key), run.released.get(key)
    if done is not None and what.leader_epoch >= done.leader_epoch:
        yield run.found(
            "DONE_STAYS_DONE", offset, "acquired again", "done", done.line, cause=spoilt
        )
    if released is not None and what.leader_epoch >= released.leader_epoch:
        texts = f"{count}", f"more than {released.count}"
        if count <= released.count:
            yield run.found("RELEASE_IS_COUNTED", offset, *texts, released.line, cause=spoilt)


# What members acknowledge.


def _note_asked(run: RunState, what: LeaderAsked) -> None:
    """Note which records a member acknowledges: from here on they may be free.

    Of what lies below the start offset nothing follows.
    """
    counts: dict[int, int] = {}
    leaving = (what.member, what.node) in run.left
    for offset, kind in offsets_of(what.batches):
        if kind in _ENDING and not lives.is_former(run, what, surely=True):
            run.ended.add((what.partition, offset))
        place = what.partition, offset, what.leader_epoch
        holder = run.holders.get(place)
        if holder is None or holder.is_over or offset < what.start_offset:
            continue
        counts[offset] = holder.count
        if kind == AcknowledgeType.RENEW:
            holder.is_renewed = True
        else:
            holder.is_over = True
            holder.end = deliveries.RELEASED if leaving else holder.end
    run.asked[what.id] = (what, counts)


def _note_answered(run: RunState, what: LeaderAnswered) -> None:
    """Note what a member was told; only an answer without an error promises anything."""
    if what.id not in run.asked or what.error != NONE:
        return
    asked, counts = run.asked[what.id]
    for offset, kind in offsets_of(asked.batches):
        if offset not in counts:
            continue
        told = ToldOutcome(asked.leader_epoch, counts[offset], run.line)
        if kind in {AcknowledgeType.ACCEPT, AcknowledgeType.REJECT}:
            run.finished[asked.partition, offset] = told
        elif kind == AcknowledgeType.RELEASE:
            run.released[asked.partition, offset] = told


# What leaders ask of their persisters, and what the state topic commits meanwhile.


def _note_resigned(run: RunState, what: LeaderResigned) -> None:
    run.resigned[what.partition, what.node] = (what.leader_epoch, run.ms, run.line)


def _note_reads(run: RunState, what: LeaderReads) -> None:
    run.reads[what.id] = (what, run.ms)


def _note_read(run: RunState, what: ReadAnswered) -> None:
    """Note that a leader has the state to begin with, or was fenced."""
    if what.id not in run.reads:
        return
    read, asked_ms = run.reads.pop(what.id)
    if what.error in FENCES:
        run.fenced[read.partition, read.node, "read"] = (run.ms, run.line)
    elif what.error == NONE:
        place = read.partition, read.node, read.leader_epoch
        if place in run.began:
            run.doubled.add(read.partition)
            if cause := deliveries.second_object(run, read):
                run.spoilt.setdefault(read.partition, cause)
        run.began[place] = (asked_ms, run.ms, run.line)


def _note_write(run: RunState, what: LeaderWrites) -> None:
    run.writes[what.id] = what, []
    deliveries.note_cut_short(run, what)


def _note_committed(run: RunState, what: StateCommitted) -> None:
    if what.start_offset >= 0:
        run.started.setdefault(what.partition, what.start_offset)
        _note_cut(run, what.partition, what.start_offset)
    ended = (each for each in what.batches if each[2] in TERMINAL_STATES)
    run.saved |= keys_of(what.partition, ended)
    for write, committed in run.writes.values():
        if write.partition == what.partition:
            committed.append(what)


def _judge_written(run: RunState, what: WriteAnswered) -> Iterator[Finding]:
    """Judge the answer to a write: without an error only if its writer's epoch committed it."""
    if what.id not in run.writes:
        return
    write, committed = run.writes.pop(what.id)
    if what.error in FENCES:
        run.fenced[write.partition, write.node, "write"] = (run.ms, run.line)
    if what.error != NONE:
        letters.note_failed(run, write, what.error)
        return
    epochs = {write.leader_epoch, *run.unknown_epochs(write.partition)}
    own = [each for each in committed if each.leader_epoch in epochs]
    if not own:
        offset = write.batches[0][0] if write.batches else write.start_offset
        others = ", ".join(sorted({str(each.leader_epoch) for each in committed})) or "none"
        recorded = f"committed since: leader epochs {others}"
        expected = f"a record of leader epoch {write.leader_epoch}"
        cause = _OLDER if committed else "nothing was committed"
    elif (missing := _missing(write, own)) is not None:
        offset, state = missing
        recorded, expected = "not committed", f"state {state}"
        cause = _OTHER if lives.has_two_objects(run, write) else ""
        cause = _OLDER if any(e.leader_epoch > write.leader_epoch for e in committed) else cause
    else:
        return
    run.spoilt.setdefault(write.partition, _OLDER)
    texts = [f"written: {a}-{b} state {state} ({count})" for a, b, state, count in write.batches]
    yield run.found("CONFIRMED_IS_WRITTEN", offset, recorded, expected, *texts, cause=cause)


def _missing(write: LeaderWrites, committed: Sequence[StateCommitted]) -> tuple[int, int] | None:
    """Return the first offset of a write that no update has, and its state.

    A snapshot merges what was written: a later write of the leader may stand in place of this.
    """
    if any(each.kind == "snapshot" for each in committed):
        return None
    start = max(each.start_offset for each in committed)
    states = {row[:2] for each in committed for row in offsets_of(each.batches)}
    for offset, state, _count in offsets_of(write.batches):
        if offset >= start and (offset, state) not in states:
            return offset, state
    return None


# The end.


def _judge_rest(run: RunState, what: LeaderAtRest) -> Iterator[Finding]:
    """Judge a leader long after the last fault: every record is done, and the lag is 0.

    One that gave out records a moment ago is slow, as where one of two consumers gets nothing.
    """
    reached = max(what.start_offset, 0) + what.delivery_complete_count
    lag = what.log_end_offset - reached
    if lag:
        run.stopped.add(what.partition)
    if not lag or run.ms - run.gave.get(what.partition, 0) < consumers.LIMIT_MS:
        return
    cause, first = run.of_life(what.partition), what.start_offset
    done = run.finished.keys() | run.saved
    while (what.partition, first) in done:
        first += 1
    is_done = what.delivery_complete_count >= what.end_offset - what.start_offset > 0
    if what.start_offset == run.log_starts.get(what.partition):
        cause = "the window begins where the log does, since records were deleted"
        cause += ", and all of it is done" if is_done else ""
    elif is_done:
        cause = "all of the window is done"
    elif 0 < what.end_offset - reached <= _taken(run, what, what.end_offset) or (
        (what.partition, first) in run.compacted
    ):
        cause = "compaction took what is first not done, or all that is not done"
    yield run.found("LAG_COMES_TO_REST", reached, f"lag {lag}", "lag 0", cause=cause)


def _taken(run: RunState, what: LeaderAtRest | LagReported, last: int) -> int:
    """Return how many records compaction took, from the start offset to another."""
    return len(keys_of(what.partition, [(what.start_offset, last)]) & run.compacted)


def _judge_finished(run: RunState, what: LeaderAtRest) -> Iterator[Finding]:
    """Judge the records that a leader has passed: nobody may miss one that was not finished.

    One that no member ever had is a cause of its own.
    """
    current = run.settings.delivery_count_limit if run.settings else 0
    for offset in run.passed(what):
        key = (what.partition, offset)
        attempts, ms = run.attempts.get(key, (0, 0))
        limit = min((current, *(each for ended, each in run.limits if ended >= ms)))
        excused = key in run.ended or (run.reads_committed and key in run.aborted)
        if not excused and attempts < limit:
            cause = "after some attempts" if attempts else "no member ever had it"
            if key in run.cut_short:
                cause = deliveries.CUT_SHORT
            elif run.reads_committed and what.partition in run.cut:
                cause = _CUT
            recorded = f"passed after {attempts} attempts"
            expected = f"accepted, rejected, or {limit} attempts"
            cause = run.begun_anew(key) or run.of_life(what.partition) or cause
            yield run.found("EVERY_RECORD_IS_FINISHED", offset, recorded, expected, cause=cause)
            return


def _judge_reported(run: RunState, what: LagReported) -> Iterator[Finding]:
    """Judge what the share coordinator tells long after the last fault.

    What a leader does not do is not told either. And it writes no start offset for deleted records
    alone: then the coordinator may tell of them still. So it is with those that compaction took.
    """
    is_old = what.start_offset < run.log_starts.get(what.partition, 0)
    reached = what.start_offset + what.delivery_complete_count
    lag = what.log_end_offset - reached
    in_gaps = 0 < lag <= _taken(run, what, what.log_end_offset - 1)
    if is_old or in_gaps or not lag or what.partition in run.stopped:
        return
    cause = run.spoils(what.partition)
    if lag < 0 and run.reads_committed and what.partition in run.cut:
        cause = _CUT
    yield run.found("REPORTED_LAG_COMES_TO_REST", reached, f"lag {lag}", "lag 0", cause=cause)


_Step = Callable[[RunState, Any], Iterator[Finding] | None]
_STEPS: Mapping[type[Happening], tuple[_Step, ...]] = {
    GroupSettings: (_note_settings,),
    GroupAltered: (_note_settings,),
    MemberJoined: (_note_joined,),
    MemberLeft: (_note_left, deliveries.note_emptied),
    RecordsDeleted: (_note_deleted,),
    RecordsCompacted: (_note_compacted,),
    RecordsEndedUntold: (_note_untold, letters.note_untold),
    RecordsAborted: (_judge_aborted,),
    LettersGiven: (letters.note_given,),
    LettersAnswered: (letters.note_given_up,),
    LetterAppended: (letters.judge_letter,),
    StateBegun: (lives.note_begun,),
    AdministratorAsked: (lives.note_administers,),
    AdministratorAnswered: (lives.judge_administered,),
    LeaderAcquired: (_judge_resigned, _judge_left, lives.judge_begun, _judge_acquired),
    LeaderAsked: (_note_asked, letters.note_wanted, consumers.note_acknowledged),
    LeaderAnswered: (_note_answered, letters.judge_accepted, consumers.note_succeeded),
    LeaderResigned: (_note_resigned,),
    LeaderReads: (_note_reads,),
    ReadAnswered: (lives.note_read, _note_read),
    LeaderWrites: (_note_write, lives.note_write, deliveries.note_end),
    StateCommitted: (_note_committed, lives.note_committed, deliveries.note_counted),
    WriteAnswered: (deliveries.note_end, lives.judge_outlived, _judge_written),
    RecordsReceived: (consumers.note_received,),
    RecordsPolled: (consumers.judge_polled,),
    ApplicationSaid: (consumers.note_said,),
    ApplicationTold: (consumers.judge_told,),
    LeaderAtRest: (
        lives.note_rest,
        _judge_rest,
        _judge_finished,
        letters.judge_passed,
        consumers.judge_untold,
    ),
    LagReported: (_judge_reported,),
}
"""What an event is judged by, and what is noted of it for later ones, in this order."""
