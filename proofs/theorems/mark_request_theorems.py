"""Theorems about a MarkInProgress request at a broker (KAFKA-20458, a draft).

What marks do in one share-partition is proved in ``mark_theorems``; here only which of them are
asked for, and how they are answered.
"""

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.operations import MarkInProgress, ProgressBatch
from model.outcome import Outcome
from model.profile import DRAFT_RESOLVED
from model.share_messages import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    MarkedPartition,
    MarkResponse,
    PartitionMarks,
    ShareMark,
    TopicPartition,
)
from proofs.theorems.controls import becomes, called_with
from proofs.theorems.situation import flag, number
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Theorem, laws
from spec import mark_request
from spec.logic import Term
from spec.partition import SharePartition
from spec.share_broker import ShareBroker
from spec.share_session import Sessions, ShareSession, next_epoch

if TYPE_CHECKING:
    from collections.abc import Iterator

_law = laws("KAFKA-20458, MarkInProgress")
GROUP, MEMBER, OTHER, TOPIC = "g", "m", "n", "t"
PLACES = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
BATCHES = (ProgressBatch(0, 1, 0, 0),), (ProgressBatch(2, 3, 0, 1), ProgressBatch(4, 4, 0, 1))
ANSWERS = (ErrorCode.NONE,), (ErrorCode.INVALID_RECORD_STATE, ErrorCode.NONE)
"""What two share-partitions are asked, and what their marks answer."""
NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
WRONG_EPOCH = ErrorCode.INVALID_SHARE_SESSION_EPOCH


@attrs.frozen
class OneMarkRequest:
    """A request about two share-partitions of a topic, by a member that ``has_session`` or not.

    The session expects ``epoch``, the request has ``asked``. The topic exists where ``known``, with
    so many ``partitions``. Each share-partition may be led, and may be ready.
    """

    has_session: Term = flag()
    epoch: Term = number(1)
    asked: Term = number(-2)
    other: Term = flag()
    known: Term = flag()
    partitions: Term = number()
    leads: Term = flag()
    ready: Term = flag()
    leads_other: Term = flag()
    other_ready: Term = flag()
    now: Term = number()

    @classmethod
    def reached(cls, _state: SharePartition) -> "Iterator[OneMarkRequest]":
        """Yield requests to a session."""
        here = cls(True, 1, 1, True, True, 2, leads=True, ready=True)  # noqa: FBT003 - named above
        yield here
        yield attrs.evolve(here, asked=2)


def _can_be(s: OneMarkRequest) -> Term:
    return conjunction(s.epoch <= MAX_EPOCH, s.asked <= MAX_EPOCH)


def _before(s: OneMarkRequest) -> ShareBroker:
    sessions: Sessions = Map()
    if s.has_session:
        sessions = sessions.set((GROUP, MEMBER), ShareSession(s.epoch, MEMBER))
    if s.other:
        sessions = sessions.set((GROUP, OTHER), ShareSession(1, OTHER))
    led = Map[Any, SharePartition]()
    for place, leads, ready in zip(
        PLACES, (s.leads, s.leads_other), (s.ready, s.other_ready), strict=True
    ):
        if leads:
            led = led.set((GROUP, place), SharePartition(DRAFT_RESOLVED, ready=ready))
    topics = Map({TOPIC: s.partitions}) if s.known else Map[str, int]()
    return ShareBroker(DRAFT_RESOLVED, topics, partitions=led, sessions=sessions)


@attrs.frozen
class _Served:
    """What was asked of share-partitions, the broker before and after, and the response."""

    asked: list[tuple[Any, ...]]
    before: ShareBroker
    after: ShareBroker
    response: MarkResponse


def _served(s: OneMarkRequest) -> _Served:
    """Serve the request; each operation on a share-partition adds one to ``next_seq``."""
    before, asked = _before(s), list[tuple[Any, ...]]()
    marks = tuple(PartitionMarks(*of) for of in zip(PLACES, BATCHES, strict=True))
    request = ShareMark(GROUP, MEMBER, s.asked, marks)

    def apply_to(broker: ShareBroker, key: Any, operation: Any) -> tuple[ShareBroker, Outcome]:  # noqa: ANN401 - as the rule
        asked.append((key, operation))
        answers = ANSWERS[PLACES.index(key[1])]
        return attrs.evolve(broker, next_seq=broker.next_seq + 1), Outcome(marked=answers)

    def advance(broker: ShareBroker, now: Term) -> ShareBroker:
        return attrs.evolve(broker, now=now)

    with (
        patch.object(mark_request, "apply_to", apply_to),
        patch.object(mark_request, "advance", advance),
    ):
        after, response = mark_request.handle_mark(before, request, s.now)
    return _Served(asked, before, after, response)


def _refusal(s: OneMarkRequest) -> ErrorCode:
    """Return how the session refuses the request."""
    if s.asked == FINAL_EPOCH or s.asked == INITIAL_EPOCH:  # noqa: PLR1714 - two questions
        return WRONG_EPOCH
    if not s.has_session:
        return ErrorCode.SHARE_SESSION_NOT_FOUND
    return NONE if s.asked == s.epoch else WRONG_EPOCH


def _is_guarded(s: OneMarkRequest) -> Term:
    """Whether a request that the session refuses changes nothing but the clock."""
    served, expected = _served(s), _refusal(s)
    if expected is NONE:
        return served.response.error is NONE
    same = conjunction(
        served.after.sessions is served.before.sessions,
        served.after.partitions is served.before.partitions,
        served.after.now == s.now,
    )
    refused = served.response == MarkResponse(expected) and not served.asked
    return conjunction(refused, same)


def _moves_on(s: OneMarkRequest) -> Term:
    """Whether an accepted request moves its session on, and no other."""
    served = _served(s)
    if served.response.error is not NONE:
        return True
    before, after = served.before.sessions, served.after.sessions
    return conjunction(
        after[GROUP, MEMBER].epoch == next_epoch(s.epoch),
        after.get((GROUP, OTHER)) is before.get((GROUP, OTHER)),
    )


def _error(s: OneMarkRequest, index: int) -> ErrorCode:
    """Return what keeps a share-partition from being asked."""
    if not s.known:
        return ErrorCode.UNKNOWN_TOPIC_ID
    leads, ready = ((s.leads, s.ready), (s.leads_other, s.other_ready))[index]
    is_served = index < s.partitions and leads and ready
    return NONE if is_served else UNKNOWN


def _answers_each(s: OneMarkRequest) -> Term:
    """Whether each share-partition in memory is asked its marks, and each is answered in order."""
    served = _served(s)
    if served.response.error is not NONE:
        return True
    expected, operations = [], []
    for index, (place, batches) in enumerate(zip(PLACES, BATCHES, strict=True)):
        error = _error(s, index)
        if error is NONE:
            operations.append(((GROUP, place), MarkInProgress(MEMBER, batches)))
            expected.append(MarkedPartition(place, batches=ANSWERS[index]))
        else:
            expected.append(MarkedPartition(place, error))
    return conjunction(
        served.response.partitions == tuple(expected),
        served.asked == operations,
        served.after.next_seq == len(operations),
    )


GUARDED = _law(
    "mark_request_is_refused_as_its_session_says",
    "A mark neither opens nor closes a session; one that its session refuses changes nothing.",
    44,
)
MOVES = _law(
    "mark_request_moves_its_session_on",
    "An accepted request moves on the epoch of its session, and of no other.",
    47,
)
ANSWERED = _law(
    "marks_reach_each_share_partition_in_memory",
    "Each share-partition in memory is asked its own marks, the others are answered their error.",
)


def _opens(broker: ShareBroker, request: ShareMark, now: int) -> tuple[Any, ...]:
    session = broker.sessions.get((GROUP, MEMBER))
    epoch = request.session_epoch if session is None else session.epoch
    return broker, attrs.evolve(request, session_epoch=epoch), now


RULE = "spec.mark_request:handle_mark"
MARK_REQUEST_THEOREMS = tuple(
    Theorem(stated, "serve a mark", OneMarkRequest, _can_be, claim, control)
    for stated, claim, control in (
        (GUARDED, _is_guarded, Control("handle_mark takes any epoch", RULE, called_with(_opens))),
        (
            MOVES,
            _moves_on,
            Control(
                "handle_mark leaves the session as it was",
                RULE,
                lambda rule: (
                    lambda broker, *of: (
                        attrs.evolve(rule(broker, *of)[0], sessions=broker.sessions),
                        rule(broker, *of)[1],
                    )
                ),
            ),
        ),
        (
            ANSWERED,
            _answers_each,
            Control(
                "locate finds every partition",
                "spec.share_broker:locate",
                becomes(lambda *_of: NONE),
            ),
        ),
    )
)
