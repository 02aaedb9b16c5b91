"""Theorems about share sessions: which requests one accepts, and marks (KIP-932, KAFKA-20458)."""

import random
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.operations import MarkInProgress, ProgressBatch
from model.outcome import Outcome
from model.profile import DRAFT_RESOLVED
from model.ranges import AcquiredRange
from model.share_messages import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    MarkedPartition,
    MarkResponse,
    PartitionMarks,
    PartitionRequest,
    PartitionResponse,
    ShareAcknowledge,
    ShareFetch,
    ShareMark,
    ShareRequest,
    TopicPartition,
)
from proofs.theorems.attempts import standing_in
from proofs.theorems.controls import becomes, does_nothing, off_by_one, returns, wrong
from proofs.theorems.reachable import runs_of
from proofs.theorems.situation import flag, number
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Subject
from spec import mark_request, share_session
from spec.logic import Term, either, negate
from spec.partition import SharePartition
from spec.share_broker import ShareBroker
from spec.share_session import Sessions, ShareSession

GROUP, MEMBER, OTHER, TOPIC = "g", "m", "n", "t"
OURS, THEIRS = (GROUP, MEMBER), (GROUP, OTHER)
PLACES = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
BATCHES = (ProgressBatch(0, 1, 0, 0),), (ProgressBatch(2, 3, 0, 1), ProgressBatch(4, 4, 0, 1))
ANSWERS = (ErrorCode.NONE,), (ErrorCode.INVALID_RECORD_STATE, ErrorCode.NONE)
"""What two share-partitions are asked to mark, and how they answer."""
NONE, WRONG_EPOCH = ErrorCode.NONE, ErrorCode.INVALID_SHARE_SESSION_EPOCH
_SIZES = ("max_wait_ms", "min_bytes", "max_bytes", "max_records")


@attrs.frozen
class OneSession:
    """A request of one member that ``has_session`` or not; its session expects ``epoch``.

    ``asked`` is the epoch of the request, which acknowledges (ShareAcknowledge) or fetches; with
    ``batches`` a fetch acknowledges too. ``other``: another member has a session. There may be
    ``most`` sessions. Marks are of two share-partitions of a topic, which exists where ``known``,
    with so many ``partitions``; each may be led, and may be ready.
    """

    has_session: Term = flag()
    epoch: Term = number(1)
    asked: Term = number(FINAL_EPOCH - 1)
    acknowledges: Term = flag()
    batches: Term = flag()
    renews: Term = flag()
    fetches: Term = flag()
    version: Term = number(1)
    other: Term = flag()
    most: Term = number()
    known: Term = flag()
    partitions: Term = number()
    leads: Term = flag()
    ready: Term = flag()
    leads_other: Term = flag()
    other_ready: Term = flag()
    now: Term = number()

    @classmethod
    def reached(cls, sessions: Sessions) -> Iterator["OneSession"]:
        """Yield requests to sessions that a run reached: of each epoch that makes a difference."""
        session = sessions.get(OURS)
        epoch = 1 if session is None else session.epoch
        here = cls(
            session is not None, epoch, fetches=True, other=THEIRS in sessions, known=True,
            partitions=2, leads=True, ready=True,
        )  # fmt: skip
        limits = (len(sessions), len(sessions) + 1)
        for asked in (INITIAL_EPOCH, FINAL_EPOCH, epoch, epoch + 1):
            for acknowledges, most in product((False, True), limits):
                yield attrs.evolve(here, asked=asked, acknowledges=acknowledges, most=most)

    states = staticmethod(lru_cache(lambda: runs_of(_run, 20)))


def _run(chance: random.Random) -> Iterator[Sessions]:
    sessions: Sessions = Map()
    yield sessions
    for _ in range(12):
        member = chance.choice((MEMBER, OTHER))
        session = sessions.get((GROUP, member))
        expected = INITIAL_EPOCH if session is None else session.epoch
        epoch = chance.choice((FINAL_EPOCH, INITIAL_EPOCH, expected, expected, expected))
        request = ShareFetch(GROUP, member, epoch, (PartitionRequest(PLACES[0]),))
        error, sessions = share_session.begin(sessions, request, member, 2)
        if error is NONE and epoch == FINAL_EPOCH:
            sessions = sessions.delete((GROUP, member))
        yield sessions


def _sessions(s: OneSession) -> Sessions:
    sessions: Sessions = Map()
    if s.has_session:
        sessions = sessions.set(OURS, ShareSession(s.epoch, MEMBER))
    return sessions.set(THEIRS, ShareSession(1, OTHER)) if s.other else sessions


def _request(s: OneSession) -> ShareRequest:
    batches: Any = (PLACES[0],) if s.batches else ()  # Nobody looks into a batch.
    asked = (PartitionRequest(PLACES[0], batches),)
    if s.acknowledges:
        return ShareAcknowledge(GROUP, MEMBER, s.asked, asked, s.renews, s.version)
    sizes: Any = {} if s.fetches else dict.fromkeys(_SIZES, 0)
    form = {"is_renew_ack": s.renews, "version": s.version, **sizes}
    return ShareFetch(GROUP, MEMBER, s.asked, asked, **form)


def _begun(s: OneSession) -> tuple[ErrorCode, Sessions]:
    return share_session.begin(_sessions(s), _request(s), MEMBER, s.most)


def _can_be(s: OneSession) -> Term:
    return conjunction(s.epoch <= MAX_EPOCH, s.asked >= -MAX_EPOCH - 1, s.asked <= MAX_EPOCH)


def _is_well_formed(s: OneSession) -> Term:
    """Whether what a request says of renewing is so; the next error is one of the epoch."""
    return negate(s.renews) | ((s.version > 1) & (s.acknowledges | negate(s.fetches)))


def _goes_on(s: OneSession) -> Term:
    """Whether a request neither opens nor closes a session, and there is one."""
    opens_or_closes = (s.asked == INITIAL_EPOCH) | (s.asked == FINAL_EPOCH)
    return conjunction(_is_well_formed(s), s.has_session, negate(opens_or_closes))


def _opens(s: OneSession) -> Term:
    fetches = conjunction(negate(s.acknowledges), negate(s.batches))
    return conjunction(_is_well_formed(s), s.asked == INITIAL_EPOCH, fetches)


NEXT, BEGIN, OPEN = (f"spec.share_session:{name}" for name in ("next_epoch", "begin", "_open"))
MARK = "spec.mark_request:handle_mark"
ALWAYS_1 = wrong(NEXT, "is always 1", becomes(lambda _before: 1))
STAYS = wrong("spec.share_session:_continued", "keeps the epoch", does_nothing)
FORGETS = wrong(BEGIN, "ends every session", returns(lambda answer: (answer[0], Map())))
ONE_MORE = wrong(OPEN, "opens one more than there may be", off_by_one(3))
MARKS_ANY = wrong(
    MARK,
    "tells of no error",
    returns(lambda answer: (answer[0], attrs.evolve(answer[1], error=NONE))),
)
FINDS_ALL = wrong("spec.share_broker:locate", "finds every partition", becomes(lambda *_of: NONE))
_session = Subject("KIP-932, ShareFetch", OneSession, _can_be)


@_session.theorem(47, of="next epoch", control=ALWAYS_1)
def a_session_epoch_never_opens_or_closes(s: OneSession) -> Term:
    """After a session epoch comes another from 1 to the largest, so neither 0 nor -1."""
    after = share_session.next_epoch(s.epoch)
    return conjunction(after >= 1, after <= MAX_EPOCH, negate(after == s.epoch))


@_session.theorem(47, of="next epoch", where=lambda s: s.asked >= 1, control=ALWAYS_1)
def session_epochs_are_told_apart(s: OneSession) -> Term:
    """No two session epochs are followed by the same one."""
    following, other = share_session.next_epoch(s.epoch), share_session.next_epoch(s.asked)
    return implies(following == other, s.epoch == s.asked)


@_session.theorem(44, 47, of="request", where=_goes_on, control=STAYS)
def a_session_takes_one_epoch(s: OneSession) -> Term:
    """A session takes requests of one epoch and then of the next; others are refused."""
    error, after = _begun(s)
    if s.asked == s.epoch:
        moved = after[OURS].epoch == share_session.next_epoch(s.epoch)
        return conjunction(error is NONE, moved)
    return error is WRONG_EPOCH


@_session.theorem(44, of="request", control=FORGETS)
def a_refused_request_changes_no_session(s: OneSession) -> Term:
    """A request that its session refuses changes none; one that renews and fetches is refused."""
    before = _sessions(s)
    error, after = share_session.begin(before, _request(s), MEMBER, s.most)
    if error is NONE:
        return _is_well_formed(s)
    return conjunction(after is before, _is_well_formed(s) | (error is ErrorCode.INVALID_REQUEST))


@_session.theorem(62, of="request", where=lambda s: s.other, control=FORGETS)
def a_request_leaves_other_sessions(s: OneSession) -> Term:
    """A request changes no session of another member."""
    return _begun(s)[1].get(THEIRS) == ShareSession(1, OTHER)


@_session.theorem(62, of="open", where=_opens, control=ONE_MORE)
def a_session_opens_within_the_limit(s: OneSession) -> Term:
    """A fetch opens a session, unless as many of other members are open as there may be."""
    error, after = _begun(s)
    if either(s.other, 1, 0) >= s.most:
        return error is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    return conjunction(error is NONE, after[OURS].epoch == 1)


def _fetch(epoch: Term, *asked: TopicPartition, less: Iterable[TopicPartition] = ()) -> ShareFetch:
    return ShareFetch(GROUP, MEMBER, epoch, tuple(map(PartitionRequest, asked)), tuple(less))


@_session.theorem(
    66, of="fetch", where=lambda s: s.most > 1, control=wrong(
        "spec.share_session:rotated", "stays", becomes(
            lambda session, _epoch: tuple(p.topic_partition for p in session.partitions))),
)  # fmt: skip
def a_session_has_each_share_partition_in_turn(s: OneSession) -> Term:
    """A session has what fetches named and none forgot, each once, and each first in its turn."""
    (first, second), third = PLACES, TopicPartition("u", 0)
    less = (second,) if s.batches else ()
    _, opened = share_session.begin(_sessions(s), _fetch(INITIAL_EPOCH, first, second), "", s.most)
    _, after = share_session.begin(opened, _fetch(1, second, third, less=less), "", s.most)
    session, left = after[OURS], (first, third) if s.batches else (first, second, third)
    turns = [share_session.rotated(session, epoch) for epoch in range(1, len(left) + 1)]
    due = {part.topic_partition for part in session.partitions if part.answer_due}
    gave = PartitionResponse(first, acquired=(AcquiredRange(0, 0, 1),))
    failed = {first: gave, third: PartitionResponse(third, WRONG_EPOCH)}
    then = share_session.after_response(session, failed).partitions
    moved = then[-1].topic_partition == first
    moved = moved and [p.topic_partition for p in then if p.answer_due] == [third]
    once = all(sorted(turn) == sorted(left) for turn in turns)
    return moved and once and due == {third} and {turn[0] for turn in turns} == set(left)


@attrs.frozen
class _Marked:
    """What was asked of share-partitions, the broker before and after, and the response."""

    asked: list[tuple[Any, ...]]
    before: ShareBroker
    after: ShareBroker
    response: MarkResponse


def _broker(s: OneSession) -> ShareBroker:
    led = Map[Any, SharePartition]()
    each = zip(PLACES, (s.leads, s.leads_other), (s.ready, s.other_ready), strict=True)
    for place, leads, ready in each:
        if leads:
            led = led.set((GROUP, place), SharePartition(DRAFT_RESOLVED, ready=ready))
    topics = Map({TOPIC: s.partitions}) if s.known else Map[str, int]()
    return ShareBroker(DRAFT_RESOLVED, topics, partitions=led, sessions=_sessions(s))


def _marked(s: OneSession) -> _Marked:
    """Serve a request; each operation on a share-partition adds one to ``next_seq``."""
    before, asked = _broker(s), list[tuple[Any, ...]]()
    marks = tuple(PartitionMarks(*of) for of in zip(PLACES, BATCHES, strict=True))

    def apply_to(broker: ShareBroker, key: Any, operation: Any) -> tuple[ShareBroker, Outcome]:  # noqa: ANN401 - as the rule
        asked.append((key, operation))
        answers = ANSWERS[PLACES.index(key[1])]
        return attrs.evolve(broker, next_seq=broker.next_seq + 1), Outcome(marked=answers)

    def advance(broker: ShareBroker, now: Term) -> ShareBroker:
        return attrs.evolve(broker, now=now)

    with standing_in(mark_request, apply_to=apply_to, advance=advance):
        request = ShareMark(GROUP, MEMBER, s.asked, marks)
        return _Marked(asked, before, *mark_request.handle_mark(before, request, s.now))


_marks = Subject("KAFKA-20458, MarkInProgress", OneSession, _can_be)


@_marks.theorem(44, of="serve a mark", control=MARKS_ANY)
def mark_request_is_refused_as_its_session_says(s: OneSession) -> Term:
    """A mark neither opens nor closes a session; one that its session refuses changes nothing."""
    marked, expected = _marked(s), NONE
    if (s.asked == FINAL_EPOCH) | (s.asked == INITIAL_EPOCH):
        expected = WRONG_EPOCH
    elif not s.has_session:
        expected = ErrorCode.SHARE_SESSION_NOT_FOUND
    elif s.asked != s.epoch:
        expected = WRONG_EPOCH
    if expected is NONE:
        return marked.response.error is NONE
    before, after = marked.before, marked.after
    same = after.sessions is before.sessions and after.partitions is before.partitions
    refused = marked.response == MarkResponse(expected) and not marked.asked
    return conjunction(refused, same, after.now == s.now)


@_marks.theorem(47, of="serve a mark", control=STAYS)
def mark_request_moves_its_session_on(s: OneSession) -> Term:
    """An accepted request moves on the epoch of its session, and of no other."""
    marked = _marked(s)
    if marked.response.error is not NONE:
        return True
    before, after = marked.before.sessions, marked.after.sessions
    moved = after[OURS].epoch == share_session.next_epoch(s.epoch)
    return conjunction(moved, after.get(THEIRS) is before.get(THEIRS))


@_marks.theorem(62, of="serve a mark", control=FINDS_ALL)
def marks_reach_each_share_partition_in_memory(s: OneSession) -> Term:
    """Each share-partition in memory is asked its own marks; others are answered their error."""
    marked = _marked(s)
    if marked.response.error is not NONE:
        return True
    expected, operations = [], []
    states = ((s.leads, s.ready), (s.leads_other, s.other_ready))
    for index, (place, batches) in enumerate(zip(PLACES, BATCHES, strict=True)):
        if not s.known:
            expected.append(MarkedPartition(place, ErrorCode.UNKNOWN_TOPIC_ID))
        elif index < s.partitions and all(states[index]):
            operations.append(((GROUP, place), MarkInProgress(MEMBER, batches)))
            expected.append(MarkedPartition(place, batches=ANSWERS[index]))
        else:
            expected.append(MarkedPartition(place, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    return conjunction(
        marked.response.partitions == tuple(expected),
        marked.asked == operations,
        marked.after.next_seq == len(operations),
    )
