"""Theorems about the five requests to the share coordinator: guard, effect and record (KIP-932).

The last are about requests with state batches: what is merged, logged and read.
"""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.profile import KAFKA, KIP
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    WriteState,
)
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord
from proofs.theorems.controls import becomes, returns, wrong
from proofs.theorems.durable_situation import (
    Entry,
    StateWrites,
    are_writes,
    durable_of,
    entries_of,
    wins,
)
from proofs.theorems.effects import reported
from proofs.theorems.situation import any_like, flag, number
from proofs.theorems.symbolic import conjunction, is_same
from proofs.theorems.theorem import Control, Subject
from spec import coordinator as single
from spec import share_coordinator as coordinator
from spec.coordinator import Durable
from spec.logic import Term, either, negate
from spec.partition import SharePartition
from spec.share_coordinator import HeldState, Reply, ShareCoordinator

KEY = SharePartitionKey("group", UUID(int=1), 0)
OTHER = SharePartitionKey("group", UUID(int=1), 1)
ELSEWHERE = SharePartitionKey("group", UUID(int=2), 0)
HELD = HeldState(Durable(0, 0), 0, 0, 0)
ANOTHERS = HeldState(Durable(3, 0), 0, 0, 0)
"""What is held of another share-partition."""
NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@attrs.frozen
class OneRequest:
    """What a share coordinator holds of a share-partition, if anything, and a request about it.

    ``leader_epoch`` and ``state_epoch`` are those of the request, less one, so that they may be
    -1; the other epochs are what is held. ``due`` is when a snapshot is due, in updates.
    """

    present: Term = flag()
    held: HeldState = any_like(HELD)
    due: Term = number(1)
    partitions: Term = number()
    leader_epoch: Term = number()
    state_epoch: Term = number()
    given_start: Term = number()
    given_complete: Term = number()
    now: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[OneRequest]":
        """Yield requests about what is durable in a state that a run reached."""
        durable = state.durable
        leader, epoch = durable.leader_epoch, durable.state_epoch
        start = max(durable.start_offset, 0)
        held = HeldState(Durable(start, 0, Map(), epoch, leader), leader, 1, 1)
        known = cls(True, held, 5, 2, leader + 1, epoch + 1, start, 1, state.now)  # noqa: FBT003 - it is held
        yield known
        yield attrs.evolve(known, present=False)


def _before(s: OneRequest) -> ShareCoordinator:
    held = Map({OTHER: ANOTHERS})
    if s.present:
        held = held.set(KEY, s.held)
    return ShareCoordinator(KIP, Map({KEY.topic_id: s.partitions}), held, s.due)


def can_be(s: OneRequest) -> Term:
    """Whether the fence is the leader epoch that is durable, as under ``kip``."""
    return s.held.leader_fence == s.held.durable.leader_epoch


def _leader(s: OneRequest) -> Term:
    return s.leader_epoch - 1


def _state(s: OneRequest) -> Term:
    return s.state_epoch - 1


REQUESTS: dict[str, Callable[[OneRequest], StateRequest]] = {
    "InitializeShareGroupState": lambda s: InitializeState(KEY, _state(s), s.given_start),
    "ReadShareGroupState": lambda s: ReadState(KEY, _leader(s)),
    "WriteShareGroupState": lambda s: WriteState(
        KEY, _state(s), _leader(s), s.given_start, s.given_complete
    ),
    "ReadShareGroupStateSummary": lambda s: ReadStateSummary(KEY, _leader(s)),
    "DeleteShareGroupState": lambda _s: DeleteState(KEY),
}


def _held_after(s: OneRequest, name: str) -> HeldState | None:
    """Return what is held after a request that is accepted: None, of what is not there."""
    held = s.held if s.present else None
    match name:
        case "InitializeShareGroupState":
            if held and _state(s) == held.durable.state_epoch:
                return held  # It may be repeated.
            fence, epoch = (held.leader_fence, held.durable.snapshot_epoch + 1) if held else (0, 0)
            return HeldState(
                Durable(s.given_start, 0, Map(), _state(s), fence, epoch), fence, s.now, s.now
            )
        case "ReadShareGroupState":
            durable = attrs.evolve(s.held.durable, leader_epoch=_leader(s))
            fenced = attrs.evolve(s.held, durable=durable, leader_fence=_leader(s))
            return held if _leader(s) == s.held.leader_fence else _logged(s, fenced)
        case "WriteShareGroupState":
            known = s.held.durable.start_offset, s.held.durable.delivery_complete_count
            start, count = _numbers_after(known, s.given_start, s.given_complete)
            numbers = {"start_offset": start, "delivery_complete_count": count}
            durable = attrs.evolve(s.held.durable, **numbers)
            return _logged(s, attrs.evolve(s.held, durable=durable))
        case _:
            return None if name == "DeleteShareGroupState" else held


def _numbers_after(known: tuple[Term, Term], start: Term, count: Term) -> tuple[Term, Term]:
    """Return the start offset and the delivery complete count after a write of these numbers."""
    given = either(start == -1, known[0], start)
    keeps = conjunction(count >= 0, count <= known[1])
    level = either(keeps, known[1], count)
    behind = either(given == known[0], level, known[1])
    return either(given > known[0], given, known[0]), either(given > known[0], count, behind)


def _logged(s: OneRequest, held: HeldState) -> HeldState:
    """Return what is held once it is logged: by an update, or, when one is due, a snapshot."""
    before = s.held.durable
    if before.updates >= s.due:
        epoch = before.snapshot_epoch + 1
        durable = attrs.evolve(held.durable, snapshot_epoch=epoch, updates=0)
        return HeldState(durable, held.leader_fence, s.now, s.now)
    return attrs.evolve(held, durable=attrs.evolve(held.durable, updates=before.updates + 1))


def _record(s: OneRequest, after: HeldState | None) -> StateRecord | None:
    """Return the record of what is held after a request, if that is another than before."""
    if after is None:
        return StateRecord(KEY, None) if s.present else None
    durable, before = after.durable, s.held.durable
    same = s.present and durable.snapshot_epoch == before.snapshot_epoch
    if conjunction(same, durable.updates == before.updates):
        return None
    if same:
        numbers = durable.leader_epoch, durable.start_offset, durable.delivery_complete_count
        return StateRecord(KEY, ShareUpdate(durable.snapshot_epoch, *numbers))
    return StateRecord(KEY, ShareSnapshot(durable.snapshot_epoch, state_of(durable), s.now, s.now))


def state_of(durable: Durable) -> DurableState:
    """Return the state that is durable, without batches."""
    numbers = durable.start_offset, durable.delivery_complete_count
    return DurableState(*numbers, (), durable.state_epoch, durable.leader_epoch)


def _answered(s: OneRequest, name: str) -> DurableState | None:
    """Return the state that a request is answered, if it asks for one."""
    if not name.startswith("Read"):
        return None
    return state_of(s.held.durable if s.present else Durable())


def _refusal(s: OneRequest, name: str) -> ErrorCode:
    """Return the answer that the KIP gives to a request, in Kafka's order."""
    compares_leader = name in {"ReadShareGroupState", "WriteShareGroupState"}
    compares_state = name in {"InitializeShareGroupState", "WriteShareGroupState"}
    if (compares_leader and _leader(s) < 0) or (compares_state and _state(s) < 0):
        return INVALID_REQUEST
    if compares_leader and not s.present:
        return UNKNOWN
    leads = compares_leader or (name == "ReadShareGroupStateSummary" and _leader(s) >= 0)
    if s.present and leads and _leader(s) < s.held.leader_fence:
        return ErrorCode.FENCED_LEADER_EPOCH
    held_epoch = s.held.durable.state_epoch
    older = s.present and compares_state and _state(s) < held_epoch
    newer = name == "WriteShareGroupState" and s.present and _state(s) > held_epoch
    if older or newer:
        return ErrorCode.FENCED_STATE_EPOCH
    if s.partitions <= KEY.partition:
        return UNKNOWN
    repeated = name == "InitializeShareGroupState" and s.present and _state(s) == held_epoch
    return INVALID_REQUEST if repeated and s.given_start > s.held.durable.start_offset else NONE


def served(s: OneRequest, name: str) -> tuple[ShareCoordinator, Reply]:
    """Return the share coordinator, and its reply to the request."""
    before = _before(s)
    return before, coordinator.serve(before, REQUESTS[name](s), s.now)


FUNCTIONS = {
    "InitializeShareGroupState": "initialize_state",
    "ReadShareGroupState": "read_state",
    "WriteShareGroupState": "write_state",
    "ReadShareGroupStateSummary": "read_state_summary",
    "DeleteShareGroupState": "delete_state",
}
EACH = {name: (name,) for name in FUNCTIONS}
REFUSES = becomes(lambda state, *_of, **_how: Reply(state, ErrorCode.NON_EMPTY_GROUP))
FORGETS = returns(lambda reply: attrs.evolve(reply, coordinator=ShareCoordinator(KIP)))
_REQUEST = Subject("KIP-932, Share coordinator", OneRequest, can_be)


def _each(how: str, change: Callable[[Any], Any]) -> dict[str, Control]:
    targets = {name: f"spec.share_coordinator:{function}" for name, function in FUNCTIONS.items()}
    return {name: wrong(target, how, change) for name, target in targets.items()}


@_REQUEST.theorem(30, of=EACH, control=_each("refuses everything", REFUSES))
def request_is_answered_as_the_kip_says(s: OneRequest, name: str) -> Term:
    """A request is refused for its numbers, then for absent state, then for its epochs."""
    return served(s, name)[1].status is _refusal(s, name)


@_REQUEST.theorem(
    30, of={f"{n} of Apache Kafka": (n,) for n in ("ReadShareGroupState", "WriteShareGroupState")},
    given=lambda s, _name: conjunction(can_be(s), negate(s.present)),
    control=wrong("spec.kafka:absent_state_error", "is the KIP's", becomes(lambda _of: UNKNOWN)),
)  # fmt: skip
def absent_state_is_refused_as_kafka_does(s: OneRequest, name: str) -> Term:
    """A request about what was never initialized is invalid to Kafka, and changes nothing."""
    reply = coordinator.serve(attrs.evolve(_before(s), profile=KAFKA), REQUESTS[name](s), s.now)
    return conjunction(reply.status is INVALID_REQUEST, reply.coordinator.held == _before(s).held)


@_REQUEST.theorem(30, of=EACH, control=_each("forgets all share-partitions", FORGETS))
def request_does_what_it_says(s: OneRequest, name: str) -> Term:
    """An accepted request changes and logs what the KIP says, any other request nothing."""
    before, reply = served(s, name)
    if reply.status is not NONE:
        return reply.coordinator is before and reply.record is None
    after, expected = reply.coordinator, _held_after(s, name)
    return conjunction(
        is_same(after.held.get(KEY), expected),
        is_same(reply.record, _record(s, expected)),
        is_same(reply.state, _answered(s, name)),
        after.held.get(OTHER) is ANOTHERS,
        after.topics is before.topics,
    )


_KEEPS = wrong(
    "spec.share_coordinator:_forget",
    "forgets nothing",
    becomes(lambda held, _key: Reply(held, NONE)),
)


@_REQUEST.theorem(26, of="forget a topic", control=_KEEPS)
def a_deleted_topic_is_forgotten(s: OneRequest) -> Term:
    """Of a deleted topic nothing is held, and each of its share-partitions has a tombstone."""
    before = _before(s)
    holding = attrs.evolve(before, held=before.held.set(ELSEWHERE, ANOTHERS))
    after, tombstones = coordinator.forget_topic(holding, KEY.topic_id)
    return conjunction(
        dict(after.held) == {ELSEWHERE: ANOTHERS},
        {each.key: each.value for each in tombstones} == dict.fromkeys(before.held),
        len(tombstones) == len(before.held),
    )


_coordinator = Subject("KIP-932, Share coordinator", StateWrites, are_writes)


def _holding(s: StateWrites) -> ShareCoordinator:
    held = Map({KEY: HeldState(durable_of(s), s.leader_epoch, 1, 1)})
    return ShareCoordinator(KIP, Map({KEY.topic_id: 1}), held, s.due)


def _written(s: StateWrites, batches: int) -> Reply:
    numbers = s.one_start, s.one_complete
    named = (s.one, s.two)[:batches]
    request = WriteState(KEY, s.state_epoch, s.leader_epoch, *numbers, named)
    return coordinator.serve(_holding(s), request, 1)


def _numbers(s: StateWrites) -> tuple[Term, Term]:
    """Return the start offset and the delivery complete count after the write."""
    return _numbers_after((s.start, s.complete), s.one_start, s.one_complete)


def _known_after(s: StateWrites, offset: Term, known: Entry | None, batches: int) -> Entry | None:
    """Return what is known of an offset after the write, of which this was known before."""
    if offset < _numbers(s)[0]:
        return None
    for batch in (s.one, s.two)[:batches]:
        if batch.first <= offset and offset <= batch.last:  # noqa: PLR1716 - two questions
            entry = batch.state, batch.delivery_count
            known = entry if known is None else _higher(known, entry)
    return known


def _higher(entry: Entry, other: Entry) -> Entry:
    later = wins(other, entry)
    return either(later, other[0], entry[0]), either(later, other[1], entry[1])


def _reported(holding: Any, offset: Term) -> Entry | None:  # noqa: ANN401 - a state or record
    """Return what state batches report of an offset."""
    batch = reported(holding, offset)
    return None if batch is None else (batch.state, batch.delivery_count)


def _has_numbers(holding: Any, start: Term, count: Term) -> Term:  # noqa: ANN401 - a state or record
    return conjunction(holding.start_offset == start, holding.delivery_complete_count == count)


def _is_started(s: StateWrites) -> Term:
    """Whether a start offset is durable and one is written, and an update will do."""
    return conjunction(s.start >= 0, s.one_start >= 0, s.updates < s.due)


def _keeps_start(s: StateWrites) -> Term:
    """Whether no start offset is written, and an update will do."""
    return conjunction(s.start >= 0, s.one_start == -1, s.updates < s.due)


def _is_due(s: StateWrites) -> Term:
    """Whether both offsets are durable, and a snapshot is due."""
    due = s.start >= 0, s.one_start >= 0, s.updates >= s.due
    return conjunction(s.known, s.other_known, *due)


def _overlap(s: StateWrites) -> Term:
    """Whether neither batch names the second offset, which is durable."""
    beyond = s.one.last < s.other, s.two.last < s.other
    return conjunction(_is_started(s), s.other_known, *beyond)


def _are_apart(s: StateWrites) -> Term:
    """Whether the first batch names the first offset alone, and the second one the second."""
    first = s.one.first <= s.offset, s.offset <= s.one.last, s.one.last < s.other
    second = s.offset < s.two.first, s.two.first <= s.other, s.other <= s.two.last
    return conjunction(_is_started(s), *first, *second)


_WRITES = {
    "write one state batch": (1, _is_started),
    "write one state batch and keep the start offset": (1, _keeps_start),
    "write one state batch when a snapshot is due": (1, _is_due),
    "write two state batches that may overlap": (2, _overlap),
    "write two state batches apart": (2, _are_apart),
}
LAST_WINS = wrong(
    "spec.record:durable_maximum", "takes what comes last", becomes(lambda *of: of[:2])
)
LOSES = wrong("spec.coordinator:coalesce", "loses the first batch", returns(lambda each: each[1:]))
KEEPS = wrong(
    "spec.coordinator:initialize_durable",
    "keeps what is durable",
    becomes(lambda durable, *_of: durable),
)
TELLS = wrong(
    "spec.share_coordinator:read_state_summary",
    "answers state batches too",
    becomes(lambda held, request: Reply(held, ErrorCode.NONE, state=_whole(held, request))),
)


def _whole(before: ShareCoordinator, request: ReadStateSummary) -> Any:  # noqa: ANN401 - a state
    return single.durable_state(before.held[request.key].durable)


@_coordinator.theorem(
    6, 27, 28, of=_WRITES, where=lambda s, _batches, given: given(s), control=LAST_WINS
)
def write_merges_its_batches(s: StateWrites, batches: int, _given: object) -> Term:
    """Of each offset the highest delivery count stays, then the highest state, from the start."""
    reply = _written(s, batches)
    after = reply.coordinator.held[KEY].durable
    return conjunction(
        reply.status is ErrorCode.NONE,
        _has_numbers(after, *_numbers(s)),
        *(
            is_same(after.entries.get(offset), _known_after(s, offset, known, batches))
            for offset, known in entries_of(s)
        ),
    )


@_coordinator.theorem(26, of=_WRITES, where=lambda s, _batches, given: given(s), control=LOSES)
def write_logs_its_batches(s: StateWrites, batches: int, _given: object) -> Term:
    """An update has of each offset what was written, a snapshot all that is durable."""
    reply = _written(s, batches)
    value: Any = reply.record.value if reply.record else None
    whole = bool(s.updates >= s.due)
    logged = value.state if whole else value
    return conjunction(
        isinstance(value, ShareSnapshot) == whole,
        _has_numbers(logged, *_numbers(s)),
        *(
            is_same(
                _reported(logged, offset),
                _known_after(s, offset, known if whole else None, batches),
            )
            for offset, known in entries_of(s)
        ),
    )


@_coordinator.theorem(26, of="write an idle state again", control=LOSES)
def an_idle_state_is_written_as_it_is(s: StateWrites) -> Term:
    """What is idle for the interval is written again: a snapshot of all that is durable."""
    is_due = KEY in coordinator.due_for_snapshot(_holding(s), s.another, s.due)
    reply = coordinator.snapshot_again(_holding(s), KEY, s.another)
    held = reply.coordinator.held[KEY]
    value: Any = reply.record.value if reply.record else None
    return conjunction(
        is_due == (s.another - 1 >= s.due),
        value.snapshot_epoch == s.snapshot_epoch + 1,
        conjunction(value.create_timestamp == 1, value.write_timestamp == s.another),
        conjunction(held.created_ms == 1, held.written_ms == s.another),
        _has_numbers(value.state, s.start, s.complete),
        is_same(
            attrs.evolve(held.durable, entries=Map()),
            Durable(
                s.start, s.complete, Map(), s.state_epoch, s.leader_epoch, s.snapshot_epoch + 1
            ),
        ),
        *(
            is_same(entry, known)
            for offset, known in entries_of(s)
            for entry in (
                _reported(value.state, offset),
                held.durable.entries.get(offset),
            )
        ),
    )


@_coordinator.theorem(25, of="read by a new leader", control=LOSES)
def new_leader_reads_what_is_durable(s: StateWrites) -> Term:
    """A new leader reads what is durable of each offset, and that stays durable."""
    reply = coordinator.serve(_holding(s), ReadState(KEY, s.leader_epoch + 1), 1)
    state, after = reply.state, reply.coordinator.held[KEY].durable
    if state is None:
        return False
    return conjunction(
        reply.status is ErrorCode.NONE,
        state.state_epoch == s.state_epoch,
        _has_numbers(state, s.start, s.complete),
        *(is_same(_reported(state, offset), known) for offset, known in entries_of(s)),
        *(is_same(after.entries.get(offset), known) for offset, known in entries_of(s)),
    )


@_coordinator.theorem(21, of="initialize in the next state epoch", control=KEEPS)
def altered_start_discards_all_batches(s: StateWrites) -> Term:
    """An altered start offset leaves nothing durable of records."""
    reply = coordinator.serve(_holding(s), InitializeState(KEY, s.state_epoch + 1, s.one_start), 1)
    value: Any = reply.record.value if reply.record else None
    return not reply.coordinator.held[KEY].durable.entries and not value.state.state_batches


@_coordinator.theorem(50, of="read the summary", control=TELLS)
def summary_has_no_batches(s: StateWrites) -> Term:
    """A summary has no state batch, and changes nothing."""
    before = _holding(s)
    reply = coordinator.serve(before, ReadStateSummary(KEY, s.leader_epoch), 1)
    empty = reply.state is not None and not reply.state.state_batches
    return empty and reply.coordinator is before
