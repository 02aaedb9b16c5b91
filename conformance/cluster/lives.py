"""The lives of a group: a deletion of it, or of its offsets, and an alteration of them begin one.

The state of a share-partition is made anew then. A leader that had the former one does not learn of
it before it writes: until then what it gives out tells nothing, and no write of it may succeed.
What an administrator asks has an effect that is unknown unless it is answered; what a history tells
of the state topic is certain.
"""

from collections.abc import Iterator, Sequence

from conformance.cluster import deliveries
from conformance.cluster.history import (
    AdministratorAnswered,
    AdministratorAsked,
    LeaderAcquired,
    LeaderAsked,
    LeaderAtRest,
    LeaderWrites,
    ReadAnswered,
    StateBegun,
    StateCommitted,
    WriteAnswered,
)
from conformance.cluster.run_state import NONE, GroupLife, RunState, keys_of, offsets_of
from judge.finding import Finding
from model.states import RecordState

_AGAIN = "its state was initialized again"
_ALTERED = "its offsets were altered"
_DELETED = "the group was deleted meanwhile"
_RULE, _NOT_EMPTY = "ADMINISTERED_AS_ANSWERED", "NON_EMPTY_GROUP"
_WITHOUT_EFFECT = {
    "GROUP_ID_NOT_FOUND",
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
}
"""What refuses a request before anything of it is done."""


def note_begun(run: RunState, what: StateBegun) -> None:
    """Note that a state is made anew: where an administrator wants it, nothing holds that did.

    Where nobody does, all holds that did before.
    """
    had = run.lives.get(what.partition)
    ends = what.state_epoch < 0
    was_over = had is None or had.state_epoch < 0
    run.lives[what.partition] = GroupLife(
        run.ms,
        what.state_epoch,
        what.start_offset,
        run.line,
        is_anew=not (ends or was_over),
        is_same_epoch=had is not None and had.state_epoch == what.state_epoch,
        ended_ms=run.ms if ends else had.ended_ms if had else -1,
        was_deleted=ends or (had is not None and was_over),
    )
    for id_, (write, committed) in run.writes.items():
        done = {row[:2] for each in committed for row in offsets_of(each.batches)}
        own = any(each.leader_epoch == write.leader_epoch for each in committed)
        if write.partition == what.partition and not (
            own and done.issuperset(row[:2] for row in offsets_of(write.batches))
        ):
            run.outlived[id_] = run.line
    if was_over or _is_wanted(run, what):
        run.forget(what.partition)
    else:
        run.outdone.setdefault(what.partition, _AGAIN)


def _is_wanted(run: RunState, what: StateBegun) -> bool:
    """Return whether an administrator may have asked for it."""
    wishes = (*run.unsure, *(wish for wish, _ in run.wishes.values()))
    place = what.partition, what.start_offset
    return any((w.deletes and what.start_offset <= 0) or place in w.offsets for w in wishes)


def is_former(run: RunState, what: LeaderAcquired | LeaderAsked, *, surely: bool = False) -> bool:
    """Return whether a leader may have a state that was made anew since, or surely has."""
    began = run.began.get((what.partition, what.node, what.leader_epoch))
    life = run.lives.get(what.partition)
    if began is None or life is None:
        return False
    return began[1] < life.ms if surely else began[0] <= life.ms


def judged(run: RunState, what: LeaderAcquired) -> Iterator[tuple[int, ...]]:
    """Yield what a leader gives out, with counts, unless its state may be a former one.

    What is surely given out by one counts as no attempt, as a later leader cannot know of it.
    """
    if not is_former(run, what):
        yield from offsets_of(what.ranges)
    elif not is_former(run, what, surely=True):
        for offset, count in offsets_of(what.ranges):
            deliveries.note_attempt(run, what, offset, count)


def note_rest(run: RunState, what: LeaderAtRest) -> None:
    """Note that a leader comes to rest without a state, or with one that was made anew since."""
    life = run.lives.get(what.partition)
    if what.leader_epoch < 0:
        left = life is not None and life.state_epoch >= 0
        cause = "no leader has it" + (", and a state is there" if left else "")
        run.outdone[what.partition] = cause
    if life is None:
        return
    for (partition, _, epoch), (asked_ms, had_ms, _) in run.began.items():
        if (partition, epoch) != (what.partition, what.leader_epoch):
            continue
        if had_ms < life.ms:
            run.outdone.setdefault(what.partition, "its leader has the state of before")
        elif asked_ms <= life.ms and life.is_same_epoch:
            run.outdone.setdefault(what.partition, f"{_ALTERED} in the same state epoch")


def has_two_objects(run: RunState, write: LeaderWrites) -> bool:
    """Return whether a leader epoch may have two objects, one of which has the state of before."""
    life = run.lives.get(write.partition)
    return life is not None and (life.is_anew or life.was_deleted or write.partition in run.doubled)


def note_write(run: RunState, what: LeaderWrites) -> None:
    """Note a write on a state that was made anew since its leader had it.

    A start offset that goes back in a leader epoch tells that another object wrote before.
    """
    place = what.partition, what.node, what.leader_epoch
    began, life = run.began.get(place), run.lives.get(what.partition)
    if began is None or life is None:
        return
    if began[1] < life.ms:
        run.outlived[what.id] = began[2]
    elif life.was_deleted:
        if what.start_offset < run.starts.get(place, 0):
            run.outdone.setdefault(what.partition, _DELETED)
        run.starts[place] = what.start_offset


def note_committed(run: RunState, what: StateCommitted) -> None:
    """Note that what is written on a state that is over is committed, as it seems.

    So it is, too, where what is finished is available again after the state was made anew.
    """
    for id_ in run.outlived.keys() & run.writes.keys():
        write, _ = run.writes[id_]
        if write.batches and (write.partition, write.batches) == (what.partition, what.batches):
            run.outdone.setdefault(what.partition, _why(run, write))
    rows = (each for each in what.batches if each[2] == RecordState.AVAILABLE)
    life = run.lives.get(what.partition)
    if life is not None and life.was_deleted and keys_of(what.partition, rows) & run.saved:
        run.outdone.setdefault(what.partition, _DELETED)


def _why(run: RunState, write: LeaderWrites) -> str:
    """Return why a write may succeed whose leader has the state of before."""
    life, place = run.lives[write.partition], (write.partition, write.node, write.leader_epoch)
    if life.was_deleted:
        return _DELETED
    is_same = run.epochs.get(place) == life.state_epoch
    return f"{_ALTERED} in the same state epoch" if is_same else _ALTERED


def note_read(run: RunState, what: ReadAnswered) -> None:
    """Note which state epoch there is when a leader has its state."""
    if what.id in run.reads:
        read, _ = run.reads[what.id]
        if read.partition in run.lives:
            place = read.partition, read.node, read.leader_epoch
            run.epochs[place] = run.lives[read.partition].state_epoch


def judge_outlived(run: RunState, what: WriteAnswered) -> Iterator[Finding]:
    """Judge a write on a state that is over: it must fail.

    One that is answered for another write is confirmed and not written, which is judged as such.
    """
    line = run.outlived.pop(what.id, "")
    if not line or what.error != NONE or what.id not in run.writes:
        return
    write, committed = run.writes[what.id]
    life = run.lives[write.partition]
    done = {row[:2] for each in committed for row in offsets_of(each.batches)}
    if not done.issuperset(row[:2] for row in offsets_of(write.batches)):
        return
    offset = write.batches[0][0] if write.batches else write.start_offset
    cause = _why(run, write)
    run.outdone.setdefault(write.partition, cause)
    yield run.found("FORMER_STATE_IS_OVER", offset, NONE, "an error", line, life.line, cause=cause)


def judge_begun(run: RunState, what: LeaderAcquired) -> Iterator[Finding]:
    """Judge where a leader begins that read the state after its start offset was altered."""
    altered = run.altered.get(what.partition)
    began = run.began.get((what.partition, what.node, what.leader_epoch), (-1, -1, ""))
    if altered is None or began[0] <= altered.ms:
        return
    is_again = run.lives[what.partition].start_offset == 0
    for offset, _count in offsets_of(what.ranges):
        if offset < altered.start_offset:
            texts = f"acquired {offset}", f"nothing before {altered.start_offset}"
            cause = "an altered offset became 0" if is_again else "an alteration"
            yield run.found(_RULE, offset, *texts, altered.line, began[2], cause=cause)
            return


def note_administers(run: RunState, what: AdministratorAsked) -> None:
    """Note what an administrator asks for: what it asked before need not hold any more."""
    run.wishes[what.id] = what, run.ms
    for partition in set(run.altered) if what.deletes else {each for each, _ in what.offsets}:
        run.altered.pop(partition, None)


def judge_administered(run: RunState, what: AdministratorAnswered) -> Iterator[Finding]:
    """Judge an answer to an administrator by the state topic.

    What another request did that was not answered, or is not yet, is not told apart.
    """
    wish, asked_ms = run.wishes.pop(what.id)
    others = (*run.unsure, *(each for each, _ in run.wishes.values()))
    if what.error == NONE:
        yield from _judge_done(run, wish, asked_ms, others)
        run.done_ms = run.ms
    elif what.error == _NOT_EMPTY:
        for partition, life in run.lives.items():
            if wish.deletes and asked_ms <= life.ended_ms and not others:
                run.partition = partition
                texts = what.error, "the state is there still", life.line
                yield run.found(_RULE, 0, *texts, cause="a deletion that was refused")
    elif what.error not in _WITHOUT_EFFECT:
        run.unsure.append(wish)


def _judge_done(
    run: RunState, wish: AdministratorAsked, asked_ms: int, others: Sequence[AdministratorAsked]
) -> Iterator[Finding]:
    """Judge what is told to be done."""
    for partition, life in run.lives.items() if wish.deletes else ():
        reads = (began[1] for place, began in run.began.items() if place[0] == partition)
        had = life.state_epoch >= 0 and max(reads, default=-1) >= life.ms
        if had and max(life.ms, life.ended_ms) < asked_ms:
            run.partition = partition
            texts = "the state is there", "deleted", life.line
            yield run.found(_RULE, 0, *texts, cause="a deletion")
    for partition, offset in wish.offsets:
        life = run.lives.get(partition, GroupLife(-1, -1, -1, ""))
        run.partition = partition
        if life.ms < asked_ms:
            texts = "not written", f"start offset {offset}", life.line
            yield run.found(_RULE, offset, *texts, cause="an alteration")
        elif run.done_ms < asked_ms and all(each.offsets == wish.offsets for each in others):
            run.altered[partition] = GroupLife(run.ms, life.state_epoch, offset, run.line)
