"""Who holds a record, and how often it was given: pure functions of a history.

An acquisition is not durable: of what a leader of an older epoch gave, the next one knows what was
written. As its last session ends a leader may drop what it has in memory alone: whether it did is
unknown, also where a history tells of no sessions. The end of a delivery that it releases or writes
it must not drop, unless the write fails.
"""

from collections.abc import Iterator

from conformance.cluster.history import (
    LeaderAcquired,
    LeaderReads,
    LeaderWrites,
    MemberLeft,
    StateCommitted,
    WriteAnswered,
)
from conformance.cluster.run_state import (
    NONE,
    RecordHolder,
    RunState,
    ToldOutcome,
    keys_of,
    offsets_of,
)
from judge.finding import Finding
from model.states import RecordState

LATE_READ = "its read was answered since"
RELEASED = "released"
CUT_SHORT = "its batch was cut while its release was being written"
_WRITTEN, _UNFENCED = "being written", "nothing was fenced"


def note_cut_short(run: RunState, write: LeaderWrites) -> None:
    """Note a release of which the log start offset passes some, while it is being written."""
    start = run.log_starts.get(write.partition, 0)
    for first, last, state, _count in write.batches:
        if state == RecordState.AVAILABLE and first < start <= last:
            run.cut_short |= keys_of(write.partition, [(start, last)])


def note_emptied(run: RunState, what: MemberLeft) -> None:
    """Note when a node had no session left."""
    if not what.sessions:
        run.emptied[what.node] = run.ms


def note_end(run: RunState, what: LeaderWrites | WriteAnswered) -> None:
    """Note that the end of deliveries is being written, or that this failed."""
    if isinstance(what, LeaderWrites):
        write, end = what, _WRITTEN
    elif what.id in run.writes and what.error != NONE:
        write, end = run.writes[what.id][0], ""
    else:
        return
    for offset, *_ in offsets_of(write.batches):
        holder = run.holders.get((write.partition, offset, write.leader_epoch))
        if holder is not None:
            holder.end = end


def note_counted(run: RunState, what: StateCommitted) -> None:
    """Note the durable counts of records that are available."""
    for offset, state, count in offsets_of(what.batches):
        key = what.partition, offset
        if state == RecordState.AVAILABLE:
            run.counted[key] = run.ms, ToldOutcome(what.leader_epoch, count, run.line)
        else:
            run.counted.pop(key, None)


def judge_counted(
    run: RunState, what: LeaderAcquired, offset: int, count: int
) -> Iterator[Finding]:
    """Judge a record that is given again by the deliveries of which its leader must know.

    What a member was told of it, and what is held still, have rules of their own.
    """
    key = what.partition, offset
    told = run.finished.get(key) or run.released.get(key)
    is_told = told is not None and told.leader_epoch <= what.leader_epoch and count <= told.count
    for highest, line, cause in () if is_told else _known_counts(run, what, offset):
        if count <= highest:
            texts = f"{count}", f"more than {highest}"
            yield run.found("DELIVERIES_ARE_COUNTED", offset, *texts, line, cause=cause)
            return


def _known_counts(
    run: RunState, what: LeaderAcquired, offset: int
) -> Iterator[tuple[int, str, str]]:
    """Yield the counts of a record that its leader must know, each with its line and its cause.

    Nothing if that is unknown.
    """
    began = run.began.get((what.partition, what.node, what.leader_epoch), (-1, -1, ""))
    given = run.holders.get((what.partition, offset, what.leader_epoch))
    if given is not None and given.holds(run.ms):
        return
    ms, durable = run.counted.get((what.partition, offset), (began[0], None))
    # A read of a trace takes no time: it has when it was answered alone.
    if durable is not None and ms < began[0] < began[1]:
        yield durable.count, durable.line, run.of_life(what.partition) or "it was durable"
    if given is None or given.lock_ends_ms == given.ms:
        return  # What a member gets that has left has a rule of its own.
    # An object that is dropped while it asks for its state gives out what its fetches waited for.
    is_emptied = run.emptied.get(what.node, -1) >= given.began[0]
    if given.end or (run.tells_sessions and not is_emptied):
        cause = (
            f"{given.end} as the last session had ended"
            if is_emptied
            else _fenced_since(run, what, given, began)[0]
        )
        yield given.count, given.line, cause


_READ_MS = 5000
"""How long a leader may ask for the state to begin with, of which a trace has the answer alone."""


def judge_holder(run: RunState, what: LeaderAcquired, offset: int, count: int) -> Iterator[Finding]:
    """Judge a record by who holds it; from here on its member does."""
    key, place = (what.partition, offset), (what.partition, what.node, what.leader_epoch)
    began = run.began.get(place, (run.ms, run.ms, ""))
    holder = run.holders.get((*key, what.leader_epoch))
    if holder is not None and holder.holds(run.ms) and not _is_dropped(run, what, holder):
        cause, *between = _fenced_since(run, what, holder, began)
        if cause == _UNFENCED and key in run.cut_short:
            cause = CUT_SHORT
        texts = what.member, holder.member
        yield run.found("ONE_HOLDER", offset, *texts, holder.line, *between, cause=cause)
    note_attempt(run, what, offset, count)
    gone = (what.member, what.node) in run.left
    lock_ms = run.settings.record_lock_duration_ms if run.settings and not gone else 0
    ends = run.ms + lock_ms
    run.holders[*key, what.leader_epoch] = RecordHolder(
        what.member, run.ms, ends, count, run.line, began
    )


def note_attempt(run: RunState, what: LeaderAcquired, offset: int, count: int) -> None:
    """Note the highest delivery count of a record."""
    key = what.partition, offset
    if count > run.attempts.get(key, (0, 0))[0]:
        run.attempts[key] = count, run.ms


def _is_dropped(run: RunState, what: LeaderAcquired, holder: RecordHolder) -> bool:
    """Return whether a holder left its node as the last one, which then may know no lock any more.

    What it held of a partition that its session had forgotten was not released before.
    """
    is_emptied = run.emptied.get(what.node, -1) >= holder.ms
    return is_emptied and (holder.member, what.node) in run.left


def _fenced_since(
    run: RunState, what: LeaderAcquired, holder: RecordHolder, began: tuple[int, int, str]
) -> tuple[str, ...]:
    """Return what of a node was fenced since, which made it forget a holder, and its line.

    The same makes it forget one who is to be while the state to begin with is asked for. An object
    that was fenced meanwhile, and gives out records nevertheless, is a cause of its own.
    """
    asked_ms, had_ms, _ = holder.began
    if asked_ms == had_ms and not run.tells_sessions:
        asked_ms -= _READ_MS
    for kind in ("write", "read"):
        if (what.partition, what.node, kind) not in run.fenced:
            continue
        fenced_ms, line = run.fenced[what.partition, what.node, kind]
        if fenced_ms >= holder.ms or asked_ms <= fenced_ms <= had_ms:
            return f"a {kind} was fenced since", line
        if began[0] <= fenced_ms <= began[1]:
            return LATE_READ, line
    if holder.began != began and began[0] < had_ms:
        return (LATE_READ,)  # Two objects at once read the state to begin with: one was removed.
    return (_UNFENCED,)


def second_object(run: RunState, read: LeaderReads) -> str:
    """Return why the state of a second object of a leader epoch is wrong, if it is.

    A node drops the first one as its last session ends: rightly, if nothing of it is to come.
    """
    place = read.partition, read.node, read.leader_epoch
    began_ms, _, _ = run.began[place]
    kinds = ("write", "read")
    fenced = (run.fenced.get((read.partition, read.node, kind), (-1, ""))[0] for kind in kinds)
    if max(fenced) >= began_ms or not run.tells_sessions:
        return "two objects in one leader epoch"
    if any((w.partition, w.node, w.leader_epoch) == place for w, _ in run.writes.values()):
        return "the last session had ended while a write waited"
    given = (h for (p, _, e), h in run.holders.items() if (p, e) == (place[0], place[2]))
    if any(h.lock_ends_ms == h.ms and not h.is_over for h in given):
        return "the last session had ended while a member that had left held records"
    return ""
