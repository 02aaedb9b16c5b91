"""Theorems about a broker: what it has in memory, and what a session leaves (KIP-932, ShareFetch).

Its share-partition has one record; the operations on it run.
"""

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from uuid import UUID

import attrs
from immutables import Map

from model.checks import MAX_INT64
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import CompleteWrite
from model.outcome import Answer, Write
from model.profile import KAFKA
from model.ranges import StateBatch
from model.share_messages import (
    Conduct,
    PartitionConduct,
    PartitionRequest,
    PartitionResponse,
    ShareFetch,
    ShareResponse,
    TopicPartition,
)
from model.snapshot import DurableState
from model.states import RecordState
from proofs.theorems.controls import becomes, called_with, does_nothing, sets, wrong
from proofs.theorems.points import Points
from proofs.theorems.reachable import runs_of
from proofs.theorems.situation import any_offset, flag, number
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Subject
from spec import share_broker, share_request
from spec.coordinator import Durable
from spec.log import Log
from spec.logic import Term, negate
from spec.partition import Outstanding, SharePartition
from spec.record import UNDELIVERED, Record
from spec.share_broker import ShareBroker, WaitingResponse
from spec.share_session import SessionPartition, ShareSession
from spec.window import Window, replace

GROUP = "g"
TOPIC = str(UUID(int=1))
PLACE, AWAY = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
KEY = GROUP, PLACE
NONE, PENDING, LATER = ErrorCode.NONE, ErrorCode.PENDING, ErrorCode.NOT_LEADER_OR_FOLLOWER


@attrs.frozen
class OneLed:
    """A share-partition at a broker that has it ``ready`` in memory; ``led``: its group has state.

    ``held``: the member holds its record until ``deadline``, or, where it is ``foreign``, another
    member, ``owner``. ``waits``: a write of the record is outstanding, for which a response waits;
    ``both``: that waits for one of another share-partition too. ``ours`` and ``theirs``: the two
    have sessions. The share coordinator answers a read with the state epoch ``read``, and has heard
    of the leader epoch ``fence``; the broker leads in that of ``leader``.
    """

    led: Term = flag()
    elsewhere: Term = flag()
    ready: Term = flag()
    unvalidated: Term = flag()
    fenced: Term = flag()
    held: Term = flag()
    foreign: Term = flag()
    waits: Term = flag()
    both: Term = flag()
    ours: Term = flag()
    theirs: Term = flag()
    epoch: Term = number()
    read: Term = number()
    deadline: Term = number()
    now: Term = number()
    later: Term = number()
    offset: Term = any_offset()
    write: Term = number()
    seq: Term = number()
    member: Term = number()
    owner: Term = number()
    leader: Term = number()
    fence: Term = number()

    @classmethod
    def reached(cls, broker: ShareBroker) -> Iterator["OneLed"]:
        """Yield the share-partition at a broker that a run reached, and reads of its state."""
        partition = broker.partitions[KEY]
        record = partition.window.records.get(0)
        owner = record.owner if record else None
        waits = bool(partition.outstanding)
        here = cls(
            KEY in broker.partitions, PLACE in broker.elsewhere, partition.ready,
            KEY in broker.unvalidated, KEY in broker.fenced, owner is not None, owner == "b",
            waits, ours=(GROUP, "a") in broker.sessions, theirs=(GROUP, "b") in broker.sessions,
            epoch=partition.durable.state_epoch, deadline=(record and record.deadline) or 0,
            now=broker.now, write=next(iter(partition.outstanding), 0), seq=1,
            member="a", owner="b",
        )  # fmt: skip
        for read, later in ((here.epoch, here.now), (here.epoch + 1, here.now + 20)):
            yield attrs.evolve(here, read=read, later=later)

    states = staticmethod(lru_cache(lambda: runs_of(_run, 25)))


def conduct(answer: Answer) -> Conduct:
    """Return the conduct in which the writes at the share-partition are answered so."""
    return Conduct(((PLACE, PartitionConduct(acknowledge_answer=answer, release_answer=answer)),))


def _run(chance: random.Random) -> Iterator[ShareBroker]:
    broker = share_broker.lead(
        ShareBroker(KAFKA, Map({TOPIC: 2})),
        *(KEY, SharePartitionConfig(record_lock_duration_ms=15), Log(0, 1), Durable(0, 0)),
    )
    yield broker
    for _ in range(8):
        member = chance.choice("ab")
        match chance.randrange(5):
            case 0 | 1:
                request = ShareFetch(GROUP, member, 0, (PartitionRequest(PLACE),))
                broker = share_request.handle(broker, request, broker.now).broker
            case 2:
                how = conduct(Answer(chance.choice((NONE, PENDING))))
                broker = share_broker.disconnect(broker, member, broker.now, how).broker
            case 3:
                for write in broker.partitions[KEY].outstanding:
                    answer = CompleteWrite(write, chance.choice((NONE, LATER)))
                    broker = share_broker.complete_write(broker, KEY, answer).broker
            case _:
                broker = share_broker.advance(broker, broker.now + chance.choice((3, 20)))
        yield broker


def _record(s: OneLed) -> Record:
    owner = s.owner if s.foreign else s.member
    if s.waits:
        was = {"former_owner": owner, "former_deadline": s.deadline}
        return Record(RecordState.ACKNOWLEDGED, 1, pending=True, **was)
    return Record(RecordState.ACQUIRED, 1, owner, s.deadline) if s.held else UNDELIVERED


def _partition(s: OneLed) -> SharePartition:
    config, log = SharePartitionConfig(), Log(s.offset, s.offset + 1)
    durable = Durable(s.offset, 0, state_epoch=s.epoch)
    partition = SharePartition(KAFKA, config, log=log, durable=durable)
    if not s.ready:
        return partition
    at, none = s.offset, Map[int, Outstanding]()
    empty: Any = Points()
    window = replace(Window(at, at + 1, empty, empty), {at: _record(s)})
    batches = (StateBatch(at, at, RecordState.ACKNOWLEDGED, 1),)
    sent = Outstanding(Write(s.write, at, 1, batches, PENDING), (at,), s.seq)
    outstanding = none.set(s.write, sent) if s.waits else none
    now = {"now": s.now, "next_write": s.write + 1, "highest_limit": config.delivery_count_limit}
    return attrs.evolve(partition, window=window, outstanding=outstanding, ready=True, **now)


def broker_of(s: OneLed) -> ShareBroker:
    """Return the broker of the situation."""
    parts = (SessionPartition(PLACE),)
    sessions = Map[Any, ShareSession]()
    for member, there in ((s.member, s.ours), (s.owner, s.theirs)):
        if there:
            sessions = sessions.set((GROUP, member), ShareSession(1, member, parts))
    waiting = Map[int, WaitingResponse]()
    if s.waits:
        awaited = (PLACE, AWAY) if s.both else (PLACE,)
        found = tuple(PartitionResponse(at, acknowledge_error=PENDING) for at in awaited)
        response = ShareResponse(partitions=found)
        waiting = waiting.set(s.seq, WaitingResponse(GROUP, response, frozenset(awaited)))
    return ShareBroker(
        KAFKA,
        Map({TOPIC: 2}),
        frozenset({PLACE}) if s.elsewhere else frozenset(),
        Map({KEY: _partition(s)}) if s.led else Map(),
        frozenset({KEY}) if s.unvalidated else frozenset(),
        frozenset({KEY}) if s.fenced else frozenset(),
        sessions,
        now=s.now,
        waiting=waiting,
    )


def in_memory(broker: ShareBroker) -> Term:
    """Whether the share-partition is in memory."""
    return KEY in broker.partitions and broker.partitions[KEY].ready


def owner_of(broker: ShareBroker) -> Any:  # noqa: ANN401 - a name, or None
    """Return who holds the one record, if it is in flight and anybody does."""
    return next((r.owner for r in broker.partitions[KEY].window.records.values()), None)


def is_sound(s: OneLed) -> Term:
    """Whether the invariants of a broker hold (``judge.share_broker_invariants``)."""
    if s.member == s.owner or not s.ready:
        return conjunction(s.member != s.owner, negate(s.unvalidated | s.waits | s.held))
    there = conjunction(s.led, negate(s.elsewhere), negate(s.fenced))
    sessions = s.ours | s.theirs | (s.unvalidated & s.waits)
    lasts = negate(s.held) | (s.now < s.deadline)
    return conjunction(there, sessions, negate(s.waits & s.held), lasts)


def _is_asked(s: OneLed) -> Term:
    """Whether the state is read for a fetch: it is not in memory, or was not validated."""
    return is_sound(s) and s.led and negate(s.elsewhere) and (s.unvalidated | negate(s.ready))


def waits(s: OneLed) -> Term:
    """Whether a write is outstanding."""
    return is_sound(s) and s.ready and s.waits


def ends(s: OneLed, *_of: object) -> Term:
    """Whether the share-partition is in memory, and the member has a session."""
    return is_sound(s) and s.ready and s.ours


def goes_on(s: OneLed) -> Term:
    """Whether the share-partition is in memory, and the clock may move on."""
    return s.ready & (s.later >= s.now) & (s.later <= MAX_INT64)


RULES = "spec.share_broker:"
_NOTED = share_broker._noted  # noqa: SLF001 - the rule
LOAD = f"{RULES}load"
_broker_of = Subject("KIP-932, Using the share coordinator", OneLed, is_sound)
ANSWERS = {
    f"end a session whose release is answered {error.name}": (Answer(error),)
    for error in (NONE, PENDING, ErrorCode.COORDINATOR_NOT_AVAILABLE)
}
_ERRORS = (
    *(ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH, LATER),
    *(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    *(ErrorCode.INVALID_REQUEST, ErrorCode.GROUP_ID_NOT_FOUND),
)
_UNREAD = {f"load where a read is answered {error.name}": (error,) for error in _ERRORS}
_ANSWERED = {f"complete a write by {error.name}": (error,) for error in (NONE, *_ERRORS)}
_GONE = share_broker.FENCING | {ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH}


@_broker_of.theorem(
    52,
    of="load",
    given=_is_asked,
    control=wrong(LOAD, "reads what it has", called_with(lambda *of: of[:3])),
)
def what_is_loaded_is_what_was_read(s: OneLed) -> Term:
    """A share-partition that is loaded has the state epoch read, and nothing of another."""
    before = broker_of(s)
    error, after = share_broker.load(before, KEY, None, DurableState(s.offset, 0, (), s.read, 1))
    partition = after.partitions[KEY]
    loaded = conjunction(error is NONE, partition.ready, partition.durable.state_epoch == s.read)
    kept = s.ready and s.read == s.epoch
    same = partition is before.partitions[KEY] if kept else not partition.window.records
    told = s.seq not in after.waiting or kept or s.both
    settled = conjunction(KEY not in after.unvalidated, KEY not in after.fenced)
    return conjunction(loaded, same, told, settled, after.now == partition.now)


@_broker_of.theorem(
    51, 52, of="load", control=wrong(LOAD, "forgets who leads", called_with(
        lambda broker, *of: (attrs.evolve(broker, elsewhere=frozenset()), *of))),
)  # fmt: skip
def only_what_may_be_led_is_loaded(s: OneLed) -> Term:
    """Of another leader, or of one that was fenced, nothing is loaded, nor of a deleted group."""
    before = broker_of(s)
    error, after = share_broker.load(before, KEY, None)
    if s.elsewhere | s.fenced:
        told = error is LATER if s.elsewhere or s.led else error is not NONE
        return conjunction(told, after.partitions == before.partitions)
    if not s.led:
        return conjunction(error is not NONE, KEY not in after.partitions)
    return conjunction(error is NONE, in_memory(after))


@_broker_of.theorem(
    52, of=_UNREAD, given=lambda s, _of: _is_asked(s),
    control=wrong(f"{RULES}_not_read", "keeps all", becomes(lambda b, _key, error: (error, b))),
)  # fmt: skip
def what_cannot_be_read_leaves_memory_where_it_is_gone(s: OneLed, error: ErrorCode) -> Term:
    """A read that fails loads nothing, and drops what another has; no client is told a fence."""
    told, after = share_broker.load(broker_of(s), KEY, None, error)
    retried = error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    stays = s.ready if retried else False
    is_fenced = error is ErrorCode.FENCED_LEADER_EPOCH
    return conjunction(
        told not in {NONE, *_FENCES, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS},
        in_memory(after) == stays,
        (KEY in after.fenced) == (True if is_fenced else s.fenced),
    )


_FENCES = {ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH, ErrorCode.INVALID_REQUEST}


@_broker_of.theorem(
    45, of=ANSWERS, given=ends,
    where=lambda s, _answer: s.theirs,
    control=wrong(f"{RULES}end_session", "ends all", sets(sessions=Map())),
)  # fmt: skip
def who_ends_a_session_holds_nothing_of_it(s: OneLed, answer: Answer) -> Term:
    """What a session held is released, unless the write fails; others keep what they hold."""
    after = share_broker.end_session(broker_of(s), (GROUP, s.member), conduct(answer))
    ours = s.held and not s.foreign
    lost = answer.status not in {NONE, PENDING}
    expected = (s.owner if s.foreign else s.member if lost else None) if s.held else None
    waits = bool(s.waits or (ours and answer.status is PENDING))
    writes = len(after.partitions[KEY].outstanding) == waits
    return conjunction(
        set(after.sessions) == {(GROUP, s.owner)}, owner_of(after) == expected, writes
    )


@_broker_of.theorem(
    52, of=ANSWERS, given=ends, where=lambda s, _answer: negate(s.theirs),
    control=wrong(f"{RULES}_drop_if_idle", "keeps all", becomes(lambda broker, _group: broker)),
)  # fmt: skip
def a_group_without_a_session_leaves_memory(s: OneLed, answer: Answer) -> Term:
    """After the last session nothing is in memory but what waits for a write, unvalidated."""
    after = share_broker.end_session(broker_of(s), (GROUP, s.member), conduct(answer))
    waits = bool(s.waits or (s.held and not s.foreign and answer.status is PENDING))
    unvalidated = KEY in after.unvalidated
    return conjunction(not after.sessions, in_memory(after) == waits, unvalidated == waits)


def completed(s: OneLed, error: ErrorCode) -> share_broker.Handled:
    """Return what comes of the answer to the write that is outstanding."""
    return share_broker.complete_write(broker_of(s), KEY, CompleteWrite(s.write, error))


@_broker_of.theorem(
    63, of=_ANSWERED, given=lambda s, _of: waits(s),
    control=wrong(f"{RULES}_answered", "answers nobody", becomes(
        lambda broker, key, operation, step: (
            _NOTED(broker, key, operation, step), step.outcome.status))),
)  # fmt: skip
def a_response_is_given_once_its_writes_are_answered(s: OneLed, error: ErrorCode) -> Term:
    """A response waits for each write of its acknowledgements, and has the error of each."""
    done = completed(s, error)
    if s.both:
        (part, other) = done.broker.waiting[s.seq].response.partitions
        waits = done.broker.waiting[s.seq].awaited == {AWAY} and not done.responses
        waits = waits and other.acknowledge_error is PENDING
    else:
        (part,) = done.responses[s.seq].partitions
        waits = not done.broker.waiting
    told = part.acknowledge_error
    is_error = told not in {NONE, PENDING, *_FENCES - {ErrorCode.INVALID_REQUEST}}
    return conjunction(waits, (told is NONE) if error is NONE else is_error)


@_broker_of.theorem(
    51, of=_ANSWERED, given=lambda s, _of: waits(s),
    control=wrong(f"{RULES}lead", "changes nothing", does_nothing),
)  # fmt: skip
def a_fenced_leader_loads_nothing_until_it_leads_anew(s: OneLed, error: ErrorCode) -> Term:
    """A broker that was fenced drops the share-partition, and loads it when it leads again."""
    broker = completed(s, error).broker
    told, after = share_broker.load(broker, KEY, None)
    gone = in_memory(broker) == (error not in _GONE and (s.ours or s.theirs))
    is_fenced = error is ErrorCode.FENCED_LEADER_EPOCH
    log, state = broker.partitions[KEY].log, Durable(s.offset, 0, state_epoch=s.read)
    anew = share_broker.lead(after, KEY, SharePartitionConfig(), log, state)
    there = not in_memory(anew) and anew.partitions[KEY].durable is state
    again = share_broker.load(anew, KEY, None)[0] is NONE and there
    return conjunction(gone, told is (LATER if is_fenced else NONE), again)


@_broker_of.theorem(
    51, of="resign", where=lambda s: s.ready,
    control=wrong(f"{RULES}_in_memory", "is nothing", becomes(lambda _broker: [])),
)  # fmt: skip
def a_broker_that_resigns_answers_whoever_waits(s: OneLed) -> Term:
    """Who no longer leads has nothing in memory, and answers each call that waits."""
    done = share_broker.resign(broker_of(s), PLACE)
    told = not s.waits or s.both or done.responses[s.seq].partitions[0].acknowledge_error is LATER
    idle = PLACE in done.broker.elsewhere and not in_memory(done.broker)
    sessions = done.broker.sessions == broker_of(s).sessions
    return conjunction(told, idle, sessions, share_broker.load(done.broker, KEY, None)[0] is LATER)


@_broker_of.theorem(
    46, of="advance", where=goes_on,
    control=wrong("spec.expire:is_lock_over", "a moment later", becomes(
        lambda record, now: (record.owner is not None) and now > record.deadline)),
)  # fmt: skip
def locks_end_wherever_a_broker_leads(s: OneLed) -> Term:
    """A record is held at a broker while its lock lasts, and by nobody from its deadline on."""
    after = share_broker.advance(broker_of(s), s.later)
    moved = conjunction(after.now == s.later, after.partitions[KEY].now == s.later)
    over = (s.later >= s.deadline) & (s.later > s.now)
    kept = after.partitions[KEY].outstanding == _partition(s).outstanding
    if not s.held:
        return conjunction(moved, kept, owner_of(after) is None)
    return conjunction(moved, (owner_of(after) is None) == over)


@_broker_of.theorem(
    45, of="disconnect", where=lambda s: s.ready,
    control=wrong(f"{RULES}end_session", "leaves it", called_with(
        lambda broker, key, how: (attrs.evolve(broker, sessions=broker.sessions.set(
            key, ShareSession(1, ""))), key, how))),
)  # fmt: skip
def a_connection_ends_its_own_sessions(s: OneLed) -> Term:
    """A connection that closes ends the sessions that were opened over it, and no other."""
    done = share_broker.disconnect(broker_of(s), s.member, s.now)
    expected = {(GROUP, s.owner)} if s.theirs else set()
    released = owner_of(done.broker) != s.member or not s.ours
    return conjunction(set(done.broker.sessions) == expected, released)
