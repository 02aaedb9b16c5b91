"""The configurations in which one record may be, and how they change.

Each change is one of ``spec.record``: the rules are not written a second time. An acquisition lock
is named by a number, which stands for its deadline; ``Lock`` has the times between which it ends.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import lru_cache

import attrs

from judge.words import state_text
from model.states import AcknowledgeType, RecordState
from spec.record import (
    UNDELIVERED,
    Record,
    acknowledge,
    acquire,
    can_renew,
    commit,
    expire,
    finish_dead_letter,
    is_acquirable,
    is_dead_letter,
    is_finished,
    is_held,
    is_held_by,
    is_terminal,
    release,
    renew,
    roll_back,
)

MOST_CONFIGURATIONS = 96
"""With more configurations a record may be in any."""

MOST_ALIKE = 1 << 14
"""How many records, or sets of configurations, are remembered with what follows of them."""

UNKNOWN_LOCK = 0
NEVER, ALWAYS = float("inf"), float("-inf")
_SAVED, _LOOSE = 0, -(2**62)
_GONE = -1
"""The delivery count of a record that the start offset has passed."""


class Effect(Enum):
    """Whether a request has changed its records when it is answered."""

    CERTAIN = "it has"
    POSSIBLE = "it may have"
    UNDONE = "it may have, and that was undone"


class Allowance(Enum):
    """What may have happened unseen; the value says what would have shown it."""

    LOST_LINES = "lines that the log lost: {}"
    LAST_WRITES = "writes that the log lost: a later one of this share-partition is not in it"
    LOST_REQUEST = "a member's last request, which was never answered: brokers do not log those"
    NEW_LEADER = "a new leader, or a write at another broker: the logs of all brokers show each"
    LOG_START = "records deleted from the log: a later PRODUCE or ListOffsets shows where it starts"
    REPEATED_APPEND = (
        "a producer's request that was repeated and answered with its first offset: ListOffsets "
        "shows where the log ends"
    )
    COMPACTION = "compaction: --not-compacted says that the topic has none"


@attrs.frozen
class Lock:
    """When an acquisition lock may end and must have ended (ms).

    Until ``alive`` the session of its owner was open; from then on it may have been closed. In an
    ``orderly`` session every request was answered, to the one that closed it.
    """

    earliest: float
    latest: float
    alive: float
    orderly: bool = False


ANY_LOCK = Lock(ALWAYS, NEVER, ALWAYS)


@attrs.frozen(eq=False)
class Act:
    """A request to acquire or acknowledge records, as it concerns one record.

    ``kind`` is the acknowledge type, or None for an acquire; ``count`` the delivery count after
    it. ``after`` are the requests that must have come before, where they concern the record.
    """

    number: int
    member: str
    begin: float
    effect: Effect
    kind: int | None = None
    count: int = 0
    after: frozenset[int] = frozenset()


@attrs.frozen(cache_hash=True)
class PossibleState:
    """One state in which a record may be; ``record`` None stands for all.

    ``done`` are the requests under way that have changed the record. ``unsaved`` is what made a
    state of which no write was seen: the number of a request, or of a lock that ended, negative;
    from ``_LOOSE`` on, that any state was undone, or one. ``lost`` counts the requests that were
    never answered and acquired the record.
    """

    record: Record | None
    done: frozenset[int] = frozenset()
    unsaved: int = _SAVED
    lost: int = 0


Configurations = frozenset[PossibleState]

ANYTHING: Configurations = frozenset({PossibleState(None)})
PASSED = Record(RecordState.ARCHIVED, _GONE)


@attrs.frozen
class Rules:
    """What is known of the configuration at a moment, and the moment itself (ms).

    ``limits`` are the least and the greatest delivery count limit, and ``failed`` the states of a
    record that fails for good. ``writes_seen``: the writes to the share coordinator are known.
    ``allowed`` is what may have happened unseen; so many requests may have been ``lost``.
    """

    now: float
    locks: dict[int, Lock]
    limits: tuple[int, ...] = (2, 25)
    failed: tuple[RecordState, ...] = (RecordState.ARCHIVED, RecordState.ARCHIVING)
    writes_seen: bool = False
    allowed: frozenset[Allowance] = frozenset()
    lost: int = 0


def reachable(start: Configurations, acts: tuple[Act, ...], rules: Rules) -> Configurations | None:
    """Return all configurations that a record may have reached; None if they are too many."""
    seen = set(start)
    waiting = list(start)
    while waiting:
        for after in _successors(waiting.pop(), acts, rules):
            if after not in seen:
                seen.add(after)
                waiting.append(after)
        if len(seen) > MOST_CONFIGURATIONS:
            return None
    return frozenset(each for each in seen if not _is_overdue(each, rules))


def stays_until(start: Configurations, acts: tuple[Act, ...], rules: Rules) -> float:
    """Return when a lock of theirs may end next (ms): until then the same is reachable."""
    numbers = {act.number for act in acts}
    for each in start:
        if each.record is not None:
            numbers |= {each.record.deadline, each.record.former_deadline}
    locks = [rules.locks[number] for number in numbers if number in rules.locks]
    times = [time for lock in locks for time in (lock.earliest, lock.alive, lock.latest)]
    return min([time for time in times if time > rules.now], default=NEVER)


@lru_cache(maxsize=MOST_ALIKE)
def completed(configurations: Configurations, act: Act) -> Configurations:
    """Return the configurations that are left when a request has been answered."""
    number, some = act.number, []
    for each in configurations:
        done = number in each.done
        if not done and act.effect is Effect.CERTAIN:
            continue
        if done and act.kind is not None and each.record is not None and each.record.pending:
            continue
        if done:
            remaining = each.done - {number}
            some.append(PossibleState(each.record, remaining, each.unsaved, each.lost))
        else:
            some.append(each)
    return frozenset(some)


@lru_cache(maxsize=MOST_ALIKE)
def written(
    configurations: Configurations, state: int, count: int, *, saved: bool = True
) -> Configurations:
    """Return the configurations that explain why a state was written, now that it was.

    Without ``saved`` the write failed, so that nothing is final.
    """
    kept = set()
    for each in configurations:
        record = each.record
        if record is None:
            final = Record(RecordState(state), count)
            kept.add(PossibleState(final, each.done) if saved and is_terminal(final) else each)
        elif (record.state, record.delivery_count) == (state, count):
            kept.add(PossibleState(record, each.done, _SAVED, each.lost))
        elif _is_older(each, record, state, count):
            kept.add(each)
    return frozenset(kept)


def settled(configurations: Configurations, state: RecordState, count: int) -> Configurations:
    """Return the configurations in which the record is finished as it is durable, or passed."""
    kept = set()
    for each in configurations:
        record = each.record
        if record is None:
            kept.add(PossibleState(Record(state, count), each.done))
        elif record.delivery_count == _GONE or (record.state, record.delivery_count) == (
            state,
            count,
        ):
            kept.add(each)
    return frozenset(kept)


def _is_older(each: PossibleState, record: Record, state: int, count: int) -> bool:
    """Whether the record may have been in the written state before."""
    if record is PASSED or record.delivery_count == _GONE:
        return True
    if each.unsaved == _LOOSE and count <= record.delivery_count:
        return True
    if each.unsaved == _LOOSE + 1 + state and count == record.delivery_count:
        return True
    if state == RecordState.AVAILABLE:
        return bool(record.delivery_count > count)
    same = record.delivery_count == count
    return state == RecordState.ARCHIVING and record.state == RecordState.ARCHIVED and same


@lru_cache(maxsize=MOST_ALIKE)
def passed(
    configurations: Configurations, *, deleted: bool, compacted: bool, absent: bool = True
) -> Configurations:
    """Return the configurations in which the start offset may have passed the record.

    ``absent``: what was never acquired may be no record at all.
    """
    kept = set()
    for each in configurations:
        record = each.record
        never = record is not None and absent and record == UNDELIVERED
        free = record is not None and compacted and is_acquirable(record)
        if record is None or deleted or is_finished(record) or never or free:
            kept.add(PossibleState(PASSED, each.done))
    return frozenset(kept)


@lru_cache(maxsize=MOST_ALIKE)
def one_of(configurations: Configurations) -> Configurations:
    """Return one of all sets that are equal: the first."""
    return configurations


@lru_cache(maxsize=MOST_ALIKE)
def may_be_counted(configurations: Configurations) -> bool:
    """Whether the record may be in the delivery complete count: complete, or never acquired.

    What may be, may be at any later time: nothing takes that back but an answer.
    """
    records = [each.record for each in configurations]
    return any(not each or not each.delivery_count or is_terminal(each) for each in records)


@lru_cache(maxsize=MOST_ALIKE)
def is_waiting(configurations: Configurations) -> bool:
    """Whether the record is certainly available, and was delivered before."""
    return all(
        each.record is not None and is_acquirable(each.record) and each.record.delivery_count > 0
        for each in configurations
    )


def may_be_finished(each: PossibleState) -> bool:
    """Whether the start offset may pass the record."""
    return each.record is None or bool(is_finished(each.record))


def is_unsaved(configurations: Configurations, number: int) -> bool:
    """Whether in every configuration this request made a state that was not written."""
    return bool(configurations) and all(each.unsaved == number for each in configurations)


def possible_text(configurations: Configurations) -> str:
    """Return in words what the record may be."""
    return ", ".join(sorted({_record_text(each.record) for each in configurations}))


def _record_text(record: Record | None) -> str:
    if record is None:
        return "anything"
    if record.delivery_count == _GONE:
        return "passed by the start offset"
    owner = record.owner or None
    return state_text(record.state, record.delivery_count, owner, pending=record.pending)


def recovered(configurations: Configurations, records: Iterable[Record]) -> Configurations:
    """Return the configurations after a new leader read one of the records."""
    marks = {each.done for each in configurations}
    return frozenset(PossibleState(record, done) for record in records for done in marks)


def _is_overdue(each: PossibleState, rules: Rules) -> bool:
    record = each.record
    if record is None:
        return False
    lock = rules.locks.get(record.deadline, ANY_LOCK)
    return bool(lock.latest <= rules.now and is_held(record))


def _successors(
    each: PossibleState, acts: tuple[Act, ...], rules: Rules
) -> Iterator[PossibleState]:
    for act in acts:
        if act.number in each.done or not act.after <= each.done:
            continue
        for record in _acted(each.record, act, rules):
            unsaved = each.unsaved
            if rules.writes_seen and record.pending and record is not each.record:
                unsaved = act.number
            elif record.state == RecordState.ACQUIRED:
                unsaved = _SAVED
            yield PossibleState(record, each.done | {act.number}, unsaved, each.lost)
    if each.record is not None:
        for record, unsaved in _unasked(each, each.record, acts, rules):
            yield PossibleState(record, each.done, unsaved, each.lost)
        if rules.allowed:
            yield from _allowed(each, each.record, rules)


def _acted(record: Record | None, act: Act, rules: Rules) -> Iterator[Record]:
    if act.kind is None:
        if record is None:
            record = Record(RecordState.AVAILABLE, act.count - 1)
        if record.delivery_count == act.count - 1 and is_acquirable(record):
            yield acquire(record, act.member, act.number)
        return
    if record is None:
        for count in range(1, rules.limits[-1] + 1):
            before = Record(RecordState.AVAILABLE, count - 1)
            held = acquire(before, act.member, UNKNOWN_LOCK)
            yield from _acknowledged(held, act, act.kind, rules)
    elif record.delivery_count == _GONE:
        yield record
    elif is_held_by(record, act.member):
        lock = rules.locks.get(record.deadline, ANY_LOCK)
        if lock.latest > act.begin:
            yield from _acknowledged(record, act, act.kind, rules)


def _acknowledged(record: Record, act: Act, kind: int, rules: Rules) -> Iterator[Record]:
    if kind == AcknowledgeType.RENEW:
        if can_renew(record, act.member):
            yield renew(record, act.number)
        return
    yield from _ended(acknowledge, rules.limits, rules.failed, record, kind)


@lru_cache(maxsize=MOST_ALIKE)
def _ended(
    end: Callable[..., Record],
    limits: tuple[int, ...],
    failed: tuple[RecordState, ...],
    record: Record,
    *more: int,
) -> frozenset[Record]:
    """Return what the end of a delivery makes of a record, by each limit and failed state.

    Most give the same, and most records of a request are alike.
    """
    return frozenset(end(record, *more, limit, state) for limit in limits for state in failed)


def _unasked(
    each: PossibleState, record: Record, acts: tuple[Act, ...], rules: Rules
) -> Iterator[tuple[Record, int]]:
    """Yield what becomes of a record without a request: what time and the leader do."""
    if record.pending:
        yield from _written(each, record, acts, rules)
    elif is_dead_letter(record):
        yield finish_dead_letter(record), each.unsaved
    elif is_held(record):
        lock = rules.locks.get(record.deadline, ANY_LOCK)
        unsaved = -record.deadline if rules.writes_seen else _SAVED
        for end, time in ((expire, lock.earliest), (release, lock.alive)):
            if time <= rules.now:
                for ended in _ended(end, rules.limits, rules.failed, record):
                    yield ended, unsaved


def _written(
    each: PossibleState, record: Record, acts: tuple[Act, ...], rules: Rules
) -> Iterator[tuple[Record, int]]:
    """Yield what becomes of a pending record: its write succeeds, or fails.

    The write of what nobody asked for, or whose request is lost, may do either.
    """
    makers = [
        act.effect
        for act in acts
        if act.number in each.done
        and act.kind not in (None, AcknowledgeType.RENEW)
        and act.member == record.former_owner
    ]
    if not makers or any(effect is not Effect.UNDONE for effect in makers):
        yield commit(record), each.unsaved
    if not makers or any(effect is not Effect.CERTAIN for effect in makers):
        mark = _LOOSE if makers else _LOOSE + 1 + int(record.state)
        yield from ((undone, mark) for undone in _undone(record, rules))


def _undone(record: Record, rules: Rules) -> Iterator[Record]:
    """Yield the record after its write failed: held again, or free if its lock may be over."""
    lock = rules.locks.get(record.former_deadline, ANY_LOCK)
    times = [record.former_deadline - 1]
    if min(lock.earliest, lock.alive) <= rules.now:
        times.append(record.former_deadline)
    for now in times:
        for failed in rules.failed:
            yield roll_back(record, now, failed)


def _allowed(each: PossibleState, record: Record, rules: Rules) -> Iterator[PossibleState]:
    """Yield what becomes of a record by what nobody could see."""
    if Allowance.LOST_REQUEST in rules.allowed:
        yield from _lost_request(each, record, rules)
    if Allowance.NEW_LEADER in rules.allowed and not is_terminal(record):
        for count in range(record.delivery_count + 1):
            again = Record(RecordState.AVAILABLE, count)
            yield PossibleState(again, each.done, _SAVED, each.lost)
    if Allowance.LOG_START in rules.allowed:
        yield PossibleState(PASSED, each.done)


def _lost_request(each: PossibleState, record: Record, rules: Rules) -> Iterator[PossibleState]:
    """Yield what an unanswered request did: acquired and let go, or acknowledged."""
    if is_acquirable(record) and each.lost < rules.lost:
        held = acquire(record, "", UNKNOWN_LOCK)
        for ended in _ended(expire, rules.limits, rules.failed, held):
            yield PossibleState(ended, each.done, _SAVED, each.lost + 1)
    elif is_held(record):
        lock = rules.locks.get(record.deadline, ANY_LOCK)
        if lock.orderly or lock.alive > rules.now:
            return
        yield attrs.evolve(each, record=renew(record, UNKNOWN_LOCK))
        for kind in (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT):
            for ended in _ended(acknowledge, rules.limits, rules.failed, record, kind):
                yield attrs.evolve(each, record=ended, unsaved=_SAVED)
