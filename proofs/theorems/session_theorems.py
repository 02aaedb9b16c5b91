"""Theorems about the requests that a share session accepts (KIP-932, ShareFetch)."""

import random
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.share_messages import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    TopicPartition,
)
from proofs.theorems.controls import called_with, does_nothing, returns
from proofs.theorems.situation import flag, number
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Theorem, laws
from spec import share_session
from spec.logic import Term, negate
from spec.share_session import Sessions, ShareSession

GROUP, MEMBER, OTHER = "g", "m", "n"
OURS, THEIRS = (GROUP, MEMBER), (GROUP, OTHER)
AT = TopicPartition("t", 0)
NONE = ErrorCode.NONE
_NOBODY: Sessions = Map()
RUNS, LENGTH = 20, 12


@attrs.frozen
class OneSession:
    """A request of one member that ``has_session`` or not; its session expects ``epoch``.

    ``asked`` is the epoch of the request, which acknowledges (ShareAcknowledge) or fetches; with
    ``batches`` a fetch acknowledges too. ``other``: another member has a session. There may be
    ``most`` sessions.
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

    @classmethod
    def reached(cls, sessions: Sessions) -> "Iterator[OneSession]":
        """Yield requests to sessions that a run reached: of each epoch that makes a difference."""
        session = sessions.get(OURS)
        epoch = 1 if session is None else session.epoch
        here = cls(session is not None, epoch, fetches=True, other=THEIRS in sessions)
        limits = (len(sessions), len(sessions) + 1)
        for asked in (INITIAL_EPOCH, FINAL_EPOCH, epoch, epoch + 1):
            for acknowledges, most in product((False, True), limits):
                yield attrs.evolve(here, asked=asked, acknowledges=acknowledges, most=most)

    @staticmethod
    @lru_cache(maxsize=1)
    def states() -> tuple[tuple[int, Sessions], ...]:
        """Return sessions that runs reach, each with the number of requests to it."""
        chance = random.Random(0)  # noqa: S311 - the same runs each time; nothing secret
        return tuple(pair for _ in range(RUNS) for pair in enumerate(_run(chance)))


def _run(chance: random.Random) -> Iterator[Sessions]:
    sessions = _NOBODY
    yield sessions
    for _ in range(LENGTH):
        member = chance.choice((MEMBER, OTHER))
        session = sessions.get((GROUP, member))
        expected = INITIAL_EPOCH if session is None else session.epoch
        epoch = chance.choice((FINAL_EPOCH, INITIAL_EPOCH, expected, expected, expected))
        request = ShareFetch(GROUP, member, epoch, (PartitionRequest(AT),))
        error, sessions = share_session.begin(sessions, request, member, 2)
        if error is NONE and epoch == FINAL_EPOCH:
            sessions = sessions.delete((GROUP, member))
        yield sessions


def _sessions(s: OneSession) -> Sessions:
    sessions = _NOBODY
    if s.has_session:
        sessions = sessions.set(OURS, ShareSession(s.epoch, MEMBER))
    if s.other:
        sessions = sessions.set(THEIRS, ShareSession(1, OTHER))
    return sessions


def _request(s: OneSession) -> ShareRequest:
    asked = (PartitionRequest(AT, (AT,) if s.batches else ()),)  # type: ignore[arg-type] # nobody looks into a batch
    if s.acknowledges:
        return ShareAcknowledge(GROUP, MEMBER, s.asked, asked, s.renews, s.version)
    sizes: Any = {} if s.fetches else dict.fromkeys(_SIZES, 0)
    return ShareFetch(
        GROUP, MEMBER, s.asked, asked, is_renew_ack=s.renews, version=s.version, **sizes
    )


_SIZES = ("max_wait_ms", "min_bytes", "max_bytes", "max_records")


def _begun(s: OneSession) -> tuple[ErrorCode, Sessions]:
    return share_session.begin(_sessions(s), _request(s), MEMBER, s.most)


def _can_be(s: OneSession) -> Term:
    return conjunction(s.epoch <= MAX_EPOCH, s.asked >= -MAX_EPOCH - 1, s.asked <= MAX_EPOCH)


def _is_well_formed(s: OneSession) -> Term:
    """Whether what a request says of renewing is so; the next error is one of the epoch."""
    return conjunction(_can_be(s), share_session.is_renewal_well_formed(_request(s)))


def _goes_on(s: OneSession) -> Term:
    """Whether a request neither opens nor closes a session, and there is one."""
    opens_or_closes = (s.asked == INITIAL_EPOCH) | (s.asked == FINAL_EPOCH)
    return conjunction(_is_well_formed(s), s.has_session, negate(opens_or_closes))


def _opens(s: OneSession) -> Term:
    fetches = conjunction(negate(s.acknowledges), negate(s.batches))
    return conjunction(_is_well_formed(s), s.asked == INITIAL_EPOCH, fetches)


def _stays_within(s: OneSession) -> Term:
    after = share_session.next_epoch(s.epoch)
    return conjunction(after >= 1, after <= MAX_EPOCH, negate(after == s.epoch))


def _both_can_be(s: OneSession) -> Term:
    return conjunction(_can_be(s), s.asked >= 1)


def _tells_apart(s: OneSession) -> Term:
    following, other = share_session.next_epoch(s.epoch), share_session.next_epoch(s.asked)
    return implies(following == other, s.epoch == s.asked)


def _takes_one_epoch(s: OneSession) -> Term:
    error, after = _begun(s)
    if s.asked == s.epoch:
        moved = after[OURS].epoch == share_session.next_epoch(s.epoch)
        return conjunction(error is NONE, moved)
    return error is ErrorCode.INVALID_SHARE_SESSION_EPOCH


def _is_not_taken_twice(s: OneSession) -> Term:
    error, after = _begun(s)
    if error is not NONE:
        return True
    again, _ = share_session.begin(after, _request(s), MEMBER, s.most)
    return again is ErrorCode.INVALID_SHARE_SESSION_EPOCH


def _changes_nothing_refused(s: OneSession) -> Term:
    before = _sessions(s)
    error, after = share_session.begin(before, _request(s), MEMBER, s.most)
    return error is NONE or after is before


def _leaves_the_other(s: OneSession) -> Term:
    before = _sessions(s)
    _, after = share_session.begin(before, _request(s), MEMBER, s.most)
    return after.get(THEIRS) is before.get(THEIRS)


def _opens_within_the_limit(s: OneSession) -> Term:
    error, after = _begun(s)
    others = 1 if s.other else 0
    if others >= s.most:
        return error is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    return conjunction(error is NONE, after[OURS].epoch == 1)


_law = laws("KIP-932, ShareFetch")


def _with_its_epoch(sessions: Sessions, request: ShareRequest, *rest: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as the rule
    session = sessions.get(OURS)
    if session is not None:
        request = attrs.evolve(request, session_epoch=session.epoch)
    return sessions, request, *rest


_AT_ITS_EPOCH = called_with(_with_its_epoch)


def _forgotten(answer: tuple[ErrorCode, Sessions]) -> tuple[ErrorCode, Sessions]:
    error, after = answer
    return error, after if error is NONE else _NOBODY


def _alone(answer: tuple[ErrorCode, Sessions]) -> tuple[ErrorCode, Sessions]:
    error, after = answer
    return error, _NOBODY.set(OURS, after[OURS]) if error is NONE else after


SESSION_THEOREMS = (
    Theorem(
        _law(
            "a_session_epoch_never_opens_or_closes",
            "After a session epoch comes another from 1 to the largest, so neither 0 nor -1.",
            47,
        ),
        "next epoch",
        OneSession,
        _can_be,
        _stays_within,
        Control(
            "after the largest epoch comes 0",
            "spec.share_session:next_epoch",
            lambda rule: lambda epoch: 0 if epoch == MAX_EPOCH else rule(epoch),
        ),
    ),
    Theorem(
        _law(
            "session_epochs_are_told_apart",
            "No two session epochs are followed by the same one.",
            47,
        ),
        "next epoch",
        OneSession,
        _both_can_be,
        _tells_apart,
        Control(
            "the largest epoch is followed by 2",
            "spec.share_session:next_epoch",
            lambda rule: lambda epoch: 2 if epoch == MAX_EPOCH else rule(epoch),
        ),
    ),
    Theorem(
        _law(
            "a_session_takes_one_epoch",
            "A session takes requests of one epoch and then of the next; others are refused.",
            44,
            47,
        ),
        "request",
        OneSession,
        _goes_on,
        _takes_one_epoch,
        Control(
            "begin does not look at the epoch",
            "spec.share_session:begin",
            called_with(_with_its_epoch),
        ),
    ),
    Theorem(
        _law(
            "a_request_is_taken_once",
            "A request that a session took is refused when it comes again.",
            47,
        ),
        "request",
        OneSession,
        _goes_on,
        _is_not_taken_twice,
        Control("the epoch of a session stays", "spec.share_session:_continued", does_nothing),
    ),
    Theorem(
        _law(
            "a_refused_request_changes_no_session",
            "A request that its session refuses, or that opens none, changes no session.",
            44,
        ),
        "request",
        OneSession,
        _can_be,
        _changes_nothing_refused,
        Control("a refusal ends every session", "spec.share_session:begin", returns(_forgotten)),
    ),
    Theorem(
        _law("a_request_leaves_other_sessions", "A request changes no session of another member."),
        "request",
        OneSession,
        lambda s: conjunction(_can_be(s), s.other),
        _leaves_the_other,
        Control("a new session is the only one", "spec.share_session:_open", returns(_alone)),
    ),
    Theorem(
        _law(
            "a_session_opens_within_the_limit",
            "A fetch opens a session, unless as many of other members are open as there may be.",
        ),
        "open",
        OneSession,
        _opens,
        _opens_within_the_limit,
        Control(
            "a session that is opened anew counts twice",
            "spec.share_session:_open",
            called_with(
                lambda sessions, request, connection, most: (
                    sessions,
                    request,
                    connection,
                    most - (OURS in sessions),
                )
            ),
        ),
    ),
)
