"""What holds from end to end in a cluster, whatever its nodes do: pure functions of a history.

Each rule stands in ``model/rules.toml`` under ``cluster``, with its sentence and its exceptions.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import attrs

from conformance.cluster.consumers import ShareConsumers, judge_consumers
from conformance.cluster.history import (
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
    MemberJoined,
    MemberLeft,
    ReadAnswered,
    RecordsAborted,
    RecordsDeleted,
    StateCommitted,
    WriteAnswered,
)
from conformance.cluster.letters import DeadLetters, cluster_finding, judge_letters
from judge.finding import Finding

_GAP, _ACCEPT, _RELEASE, _REJECT, _RENEW = 0, 1, 2, 3, 4
_NONE = "NONE"
_READ_COMMITTED = "read_committed"
_FENCED = "FENCED_LEADER_EPOCH"
_LATE_READ = "its read was answered since"
_TWO_OBJECTS = "two objects in one leader epoch"
_OLDER = "a write of an older leader epoch"


@attrs.frozen
class _Holder:
    """Who holds a record, of which leader epoch, since when, until when, and with which count.

    The leader that gave it out asked for the state to begin with, and had it, at these times.
    """

    member: str
    leader_epoch: int
    ms: int
    lock_ends_ms: int
    count: int
    line: str
    began: tuple[int, int]
    renewed: bool = False

    def holds(self, ms: int, leader_epoch: int) -> bool:
        """Return whether the lock lasts; of one that was renewed that is not known."""
        lasts = not self.renewed and ms < self.lock_ends_ms
        return self.leader_epoch == leader_epoch and lasts


@attrs.frozen
class _Told:
    """What a member was told of a record: done, or released with a delivery count."""

    leader_epoch: int
    count: int
    line: str


@attrs.define
class _ClusterRun:
    """What is known of a run so far. Keys are (partition, offset), or numbers of requests.

    ``fenced`` has when a write or a read of a partition was fenced last, and the line; ``attempts``
    the highest delivery count of each record, and when it had that first; ``stable`` those that
    were acquired while the group read what is committed, as ``reads_committed`` says that it did at
    some time; ``aborted`` those of aborted transactions; ``limits`` the delivery limits that there
    were, each with the time of its end; ``ended`` those that a member accepted or rejected,
    whatever the answer; ``began``, by (partition, node, leader epoch), when a leader last asked for
    the state to begin with, when it had it, and the line; ``resigned``, by (partition, node), the
    last leader epoch in which a node led, as it learned, when, and the line; ``left``, by (member,
    node), how a member left, and the line. ``stopped`` are
    partitions whose leader did not come to rest, ``cut`` those whose log began within a batch that
    was aborted; ``spoilt`` has what makes the state of a partition wrong, whatever follows from it.
    """

    settings: GroupSettings | None = None
    holders: dict[tuple[int, int], _Holder] = attrs.field(factory=dict)
    finished: dict[tuple[int, int], _Told] = attrs.field(factory=dict)
    released: dict[tuple[int, int], _Told] = attrs.field(factory=dict)
    asked: dict[int, tuple[LeaderAsked, dict[int, int]]] = attrs.field(factory=dict)
    fenced: dict[tuple[int, str], tuple[int, str]] = attrs.field(factory=dict)
    reads: dict[int, tuple[LeaderReads, int]] = attrs.field(factory=dict)
    writes: dict[int, LeaderWrites] = attrs.field(factory=dict)
    committed: dict[int, list[StateCommitted]] = attrs.field(factory=dict)
    attempts: dict[tuple[int, int], tuple[int, int]] = attrs.field(factory=dict)
    stable: set[tuple[int, int]] = attrs.field(factory=set)
    reads_committed: bool = False
    aborted: set[tuple[int, int]] = attrs.field(factory=set)
    limits: list[tuple[int, int]] = attrs.field(factory=list)
    ended: set[tuple[int, int]] = attrs.field(factory=set)
    log_starts: dict[int, int] = attrs.field(factory=dict)
    stopped: set[int] = attrs.field(factory=set)
    spoilt: dict[int, str] = attrs.field(factory=dict)
    letters: DeadLetters = attrs.field(factory=DeadLetters)
    consumers: ShareConsumers = attrs.field(factory=ShareConsumers)
    cut: set[int] = attrs.field(factory=set)
    began: dict[tuple[int, int, int], tuple[int, int, str]] = attrs.field(factory=dict)
    resigned: dict[tuple[int, int], tuple[int, int, str]] = attrs.field(factory=dict)
    left: dict[tuple[str, int], tuple[str, str]] = attrs.field(factory=dict)


def judge_history(events: Iterable[ClusterEvent]) -> Iterator[Finding]:
    """Yield what is wrong, in the order in which it shows; runs may follow or interleave.

    A rule is reported once for each share-partition of a run: what follows is mostly the same.
    """
    runs: dict[str, _ClusterRun] = defaultdict(_ClusterRun)
    reported: set[tuple[str, int, str]] = set()
    for seq, event in enumerate(events):
        run = runs[event.run]
        letters = judge_letters(run.letters, event, seq, run.spoilt)
        consumers = judge_consumers(run.consumers, event, seq)
        for finding in (*_step(run, event, seq), *letters, *consumers):
            partition = event_partition(event.what, run)
            key = (event.run, partition, finding.name)
            if key not in reported:
                reported.add(key)
                yield finding


def event_partition(what: Happening, run: "_ClusterRun | None" = None) -> int:
    """Return the partition that an event is about, or -1."""
    if run is not None and isinstance(what, LeaderAnswered) and what.id in run.asked:
        return run.asked[what.id][0].partition
    return getattr(what, "partition", -1)


def _step(run: _ClusterRun, event: ClusterEvent, seq: int) -> Iterator[Finding]:
    match event.what:
        case LeaderAcquired():
            yield from _judge_resigned(run, event, event.what, seq)
            yield from _judge_left(run, event, event.what, seq)
            for first, last, count in event.what.ranges:
                for offset in range(first, last + 1):
                    yield from _judge_acquired(run, event, offset, count, seq)
        case RecordsAborted():
            yield from _judge_aborted(run, event, event.what, seq)
        case WriteAnswered():
            yield from _judge_written(run, event, event.what, seq)
        case LeaderAtRest():
            yield from _judge_rest(run, event, event.what, seq)
            yield from _judge_finished(run, event, event.what, seq)
        case LagReported():
            yield from _judge_reported(run, event, event.what, seq)
        case _:
            _note(run, event)


def _note(run: _ClusterRun, event: ClusterEvent) -> None:
    """Note what later events are judged by."""
    match event.what:
        case GroupSettings() | GroupAltered():
            _note_settings(run, event)
        case RecordsDeleted():
            partition, start = event.what.partition, event.what.log_start_offset
            run.log_starts[partition] = start
            if {(partition, start - 1), (partition, start)} <= run.aborted:
                run.cut.add(partition)
        case LeaderAsked():
            _note_asked(run, event.what)
        case LeaderAnswered():
            _note_answered(run, event, event.what)
        case MemberLeft(member, node, how):
            run.left[member, node] = how, event.line
        case MemberJoined(member, node):
            run.left.pop((member, node), None)
        case _:
            _note_state(run, event)


def _note_settings(run: _ClusterRun, event: ClusterEvent) -> None:
    """Note the settings of a group, or those that were altered: others stay."""
    if isinstance(event.what, GroupSettings):
        run.settings = event.what
    elif run.settings is not None:
        run.limits.append((event.ms, run.settings.delivery_count_limit))
        run.settings = attrs.evolve(run.settings, **attrs.asdict(event.what))
    run.reads_committed |= run.settings is not None and (
        run.settings.isolation_level == _READ_COMMITTED
    )


def _limit(run: _ClusterRun, settings: GroupSettings, key: tuple[int, int], count: int) -> int:
    """Return the highest delivery limit since the attempt before: what is released is judged by it.

    Where that attempt is not the last one, since ever.
    """
    highest, ms = run.attempts.get(key, (0, 0))
    since = ms if count == highest + 1 else 0
    before = (limit for ended_ms, limit in run.limits if ended_ms >= since)
    return max((settings.delivery_count_limit, *before))


def _note_state(run: _ClusterRun, event: ClusterEvent) -> None:
    """Note what leaders ask of their persisters, and what the state topic commits meanwhile."""
    match event.what:
        case LeaderWrites():
            run.writes[event.what.id] = event.what
            run.committed[event.what.id] = []
        case LeaderResigned():
            place = event.what.partition, event.what.node
            run.resigned[place] = (event.what.leader_epoch, event.ms, event.line)
        case LeaderReads():
            run.reads[event.what.id] = (event.what, event.ms)
        case ReadAnswered():
            _note_read(run, event, event.what)
        case StateCommitted():
            for id_, write in run.writes.items():
                if write.partition == event.what.partition:
                    run.committed[id_].append(event.what)
        case _:
            pass


def _note_read(run: _ClusterRun, event: ClusterEvent, answer: ReadAnswered) -> None:
    """Note that a leader has the state to begin with, or was fenced."""
    if answer.id not in run.reads:
        return
    read, asked_ms = run.reads.pop(answer.id)
    if answer.error == _FENCED:
        run.fenced[read.partition, "read"] = (event.ms, event.line)
    elif answer.error == _NONE:
        place = read.partition, read.node, read.leader_epoch
        if place in run.began:
            run.spoilt.setdefault(read.partition, _TWO_OBJECTS)
        run.began[place] = (asked_ms, event.ms, event.line)


def _judge_resigned(
    run: _ClusterRun, event: ClusterEvent, what: LeaderAcquired, seq: int
) -> Iterator[Finding]:
    """Judge who gives out records: not a node that knows that it leads no longer."""
    epoch, resigned_ms, line = run.resigned.get((what.partition, what.node), (-1, 0, ""))
    if not what.ranges or what.leader_epoch > epoch:
        return
    recorded, expected = f"leader epoch {what.leader_epoch}", f"one after {epoch}"
    name, first = "RESIGNED_LEADER_STOPS", what.ranges[0][0]
    place = what.partition, what.node, what.leader_epoch
    _, had_ms, answered = run.began.get(place, (-1, -1, ""))
    late = had_ms >= resigned_ms
    cause, evidence = (_LATE_READ, (line, answered)) if late else ("", (line,))
    yield cluster_finding(event, seq, first, name, recorded, expected, *evidence, cause=cause)


def _judge_left(
    run: _ClusterRun, event: ClusterEvent, what: LeaderAcquired, seq: int
) -> Iterator[Finding]:
    """Judge who is given records: not a member that has left the node, which knows it."""
    how, line = run.left.get((what.member, what.node), ("", ""))
    if what.ranges and line:
        name, first = "NOTHING_AFTER_LEAVING", what.ranges[0][0]
        expected = f"nothing for {what.member}"
        yield cluster_finding(event, seq, first, name, "acquired", expected, line, cause=how)


def _judge_aborted(
    run: _ClusterRun, event: ClusterEvent, what: RecordsAborted, seq: int
) -> Iterator[Finding]:
    """Judge whether records were given out whose transaction is aborted only now."""
    keys = [(what.partition, o) for first, last in what.ranges for o in range(first, last + 1)]
    run.aborted |= set(keys)
    start = run.log_starts.get(what.partition, 0)
    if any(first < start <= last for first, last in what.ranges):
        run.cut.add(what.partition)
    for key in keys:
        if key in run.stable:
            recorded, expected = "acquired before", "not before its transaction is committed"
            yield cluster_finding(event, seq, key[1], "COMMITTED_ONLY", recorded, expected)


def _judge_acquired(
    run: _ClusterRun, event: ClusterEvent, offset: int, count: int, seq: int
) -> Iterator[Finding]:
    """Judge one acquired record by what members were told of it, and by who holds it."""
    what = event.what
    assert isinstance(what, LeaderAcquired)  # noqa: S101 - by the caller
    key = (what.partition, offset)
    found = partial(cluster_finding, event, seq, offset)
    spoilt = run.spoilt.get(what.partition, "")
    asked_ms, had_ms, _ = run.began.get(
        (what.partition, what.node, what.leader_epoch), (event.ms, event.ms, "")
    )
    began = asked_ms, had_ms
    if run.settings is not None:
        if (what.isolation_level or run.settings.isolation_level) == _READ_COMMITTED:
            run.stable.add(key)
            if key in run.aborted:
                yield found("COMMITTED_ONLY", "acquired", "its transaction was aborted")
        limit = _limit(run, run.settings, key, count)
        if count > limit:
            yield found("ATTEMPTS_ARE_LIMITED", f"{count}", f"at most {limit}")
    told = run.finished.get(key)
    if told is not None and what.leader_epoch >= told.leader_epoch:
        yield found("DONE_STAYS_DONE", "acquired again", "done", told.line, cause=spoilt)
    told = run.released.get(key)
    if told is not None and what.leader_epoch >= told.leader_epoch and count <= told.count:
        expected = f"more than {told.count}"
        yield found("RELEASE_IS_COUNTED", f"{count}", expected, told.line, cause=spoilt)
    holder = run.holders.get(key)
    if holder is not None and holder.holds(event.ms, what.leader_epoch):
        cause, *between = _fenced_since(run, what.partition, holder, began)
        evidence = (holder.line, *between)
        yield found("ONE_HOLDER", what.member, holder.member, *evidence, cause=cause)
    if count > run.attempts.get(key, (0, 0))[0]:
        run.attempts[key] = count, event.ms
    gone = (what.member, what.node) in run.left
    lock_ms = run.settings.record_lock_duration_ms if run.settings and not gone else 0
    ends = event.ms + lock_ms
    run.holders[key] = _Holder(
        what.member, what.leader_epoch, event.ms, ends, count, event.line, began
    )


def _fenced_since(
    run: _ClusterRun, partition: int, holder: _Holder, began: tuple[int, int]
) -> tuple[str, ...]:
    """Return what was fenced since, which made the leader forget a holder, and its line.

    The same makes it forget one who is to be while the state to begin with is asked for. An object
    that was fenced meanwhile, and gives out records nevertheless, is a cause of its own.
    """
    asked_ms, had_ms = holder.began
    for kind in ("write", "read"):
        fenced_ms, line = run.fenced.get((partition, kind), (-1, ""))
        if fenced_ms >= holder.ms or asked_ms <= fenced_ms <= had_ms:
            return f"a {kind} was fenced since", line
        if began[0] <= fenced_ms <= began[1]:
            return _LATE_READ, line
    return ("nothing was fenced",)


def _note_asked(run: _ClusterRun, what: LeaderAsked) -> None:
    """Note which records a member acknowledges: from here on they may be free.

    Of what lies below the start offset nothing follows.
    """
    counts: dict[int, int] = {}
    for first, last, kind in what.batches:
        if kind in {_GAP, _ACCEPT, _REJECT}:
            run.ended |= {(what.partition, offset) for offset in range(first, last + 1)}
        for offset in range(max(first, what.start_offset), last + 1):
            holder = run.holders.get((what.partition, offset))
            if holder is None or holder.leader_epoch != what.leader_epoch:
                continue
            counts[offset] = holder.count
            if kind == _RENEW:
                run.holders[what.partition, offset] = attrs.evolve(holder, renewed=True)
            else:
                del run.holders[what.partition, offset]
    run.asked[what.id] = (what, counts)


def _note_answered(run: _ClusterRun, event: ClusterEvent, answer: LeaderAnswered) -> None:
    """Note what a member was told; only an answer without an error promises anything."""
    asked = run.asked.get(answer.id)
    if asked is None or answer.error != _NONE:
        return
    what, counts = asked
    for first, last, kind in what.batches:
        for offset in range(first, last + 1):
            if offset not in counts:
                continue
            told = _Told(what.leader_epoch, counts[offset], event.line)
            if kind in {_ACCEPT, _REJECT}:
                run.finished[what.partition, offset] = told
            elif kind == _RELEASE:
                run.released[what.partition, offset] = told


def _judge_written(
    run: _ClusterRun, event: ClusterEvent, answer: WriteAnswered, seq: int
) -> Iterator[Finding]:
    """Judge the answer to a write: without an error only if its writer's epoch committed it."""
    write = run.writes.pop(answer.id, None)
    committed = run.committed.pop(answer.id, [])
    if write is not None and answer.error == _FENCED:
        run.fenced[write.partition, "write"] = (event.ms, event.line)
    if write is None or answer.error != _NONE:
        return
    own = [each for each in committed if each.leader_epoch == write.leader_epoch]
    texts = [f"written: {a}-{b} state {state} ({count})" for a, b, state, count in write.batches]
    first = write.batches[0][0] if write.batches else write.start_offset
    if not own:
        others = ", ".join(sorted({str(each.leader_epoch) for each in committed})) or "none"
        recorded = f"committed since: leader epochs {others}"
        expected = f"a record of leader epoch {write.leader_epoch}"
        cause = _OLDER if committed else "nothing was committed"
        run.spoilt.setdefault(write.partition, _OLDER)
        yield cluster_finding(
            event, seq, first, "CONFIRMED_IS_WRITTEN", recorded, expected, *texts, cause=cause
        )
    elif (missing := _missing(write, own)) is not None:
        run.spoilt.setdefault(write.partition, _OLDER)
        offset, state = missing
        cause = _OLDER if any(e.leader_epoch > write.leader_epoch for e in committed) else ""
        name, recorded, expected = "CONFIRMED_IS_WRITTEN", "not committed", f"state {state}"
        yield cluster_finding(event, seq, offset, name, recorded, expected, *texts, cause=cause)


def _missing(write: LeaderWrites, committed: Sequence[StateCommitted]) -> tuple[int, int] | None:
    """Return the first offset of a write that no update has, and its state.

    A snapshot merges what was written: a later write of the leader may stand in place of this.
    """
    if any(each.kind == "snapshot" for each in committed):
        return None
    start = max(each.start_offset for each in committed)
    states: dict[int, set[int]] = defaultdict(set)
    for each in committed:
        for first, last, state, _count in each.batches:
            for offset in range(first, last + 1):
                states[offset].add(state)
    for first, last, state, _count in write.batches:
        for offset in range(max(first, start), last + 1):
            if state not in states[offset]:
                return offset, state
    return None


def _judge_rest(
    run: _ClusterRun, event: ClusterEvent, what: LeaderAtRest, seq: int
) -> Iterator[Finding]:
    """Judge a leader long after the last fault: every record is done, and the lag is 0."""
    reached = what.start_offset + what.delivery_complete_count
    lag = what.log_end_offset - reached
    if not lag:
        return
    cause = ""
    if what.start_offset == run.log_starts.get(what.partition):
        cause = "the window begins where the log does, since records were deleted"
    elif what.delivery_complete_count >= what.end_offset - what.start_offset > 0:
        cause = "all of the window is done"
    run.stopped.add(what.partition)
    name = "LAG_COMES_TO_REST"
    yield cluster_finding(event, seq, reached, name, f"lag {lag}", "lag 0", cause=cause)


def _judge_reported(
    run: _ClusterRun, event: ClusterEvent, what: LagReported, seq: int
) -> Iterator[Finding]:
    """Judge what the share coordinator tells long after the last fault.

    What a leader does not do is not told either. And it writes no start offset for deleted records
    alone: then the coordinator may tell of them still.
    """
    is_old = what.start_offset < run.log_starts.get(what.partition, 0)
    if is_old or what.partition in run.stopped:
        return
    reached = what.start_offset + what.delivery_complete_count
    lag = what.log_end_offset - reached
    cause = run.spoilt.get(what.partition, "")
    if lag < 0 and run.reads_committed and what.partition in run.cut:
        cause = "the log begins within an aborted batch"
    name = "REPORTED_LAG_COMES_TO_REST"
    if lag:
        yield cluster_finding(event, seq, reached, name, f"lag {lag}", "lag 0", cause=cause)


def _judge_finished(
    run: _ClusterRun, event: ClusterEvent, what: LeaderAtRest, seq: int
) -> Iterator[Finding]:
    """Judge the records that a leader has passed: nobody may miss one that was not finished.

    One that no member ever had is a cause of its own.
    """
    current = run.settings.delivery_count_limit if run.settings else 0
    log_start = run.log_starts.get(what.partition, 0)
    for offset in range(log_start, min(what.start_offset, what.log_end_offset)):
        key = (what.partition, offset)
        attempts, ms = run.attempts.get(key, (0, 0))
        limit = min((current, *(each for ended, each in run.limits if ended >= ms)))
        excused = key in run.ended or (run.reads_committed and key in run.aborted)
        if not excused and attempts < limit:
            cause = "after some attempts" if attempts else "no member ever had it"
            recorded = f"passed after {attempts} attempts"
            expected = f"accepted, rejected, or {limit} attempts"
            name = "EVERY_RECORD_IS_FINISHED"
            yield cluster_finding(event, seq, offset, name, recorded, expected, cause=cause)
            return
