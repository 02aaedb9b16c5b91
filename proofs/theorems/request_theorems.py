"""Theorems about the five requests to the share coordinator: guard, effect and record (KIP-932)."""

from collections.abc import Callable, Iterator
from uuid import UUID

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.profile import KIP
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    WriteState,
)
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate
from proofs.theorems.controls import becomes
from proofs.theorems.situation import flag, number
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Theorem, about, laws
from spec import share_coordinator as coordinator
from spec.coordinator import Durable
from spec.logic import Term, either
from spec.partition import SharePartition
from spec.share_coordinator import Held, Reply, ShareCoordinator

_law = laws("KIP-932, Share coordinator")
KEY = SharePartitionKey("group", UUID(int=1), 0)
OTHER = SharePartitionKey("group", UUID(int=1), 1)
ANOTHERS = Held(Durable(3, 0), 0, 0, 0)
"""What is held of another share-partition."""
NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
FENCED_LEADER_EPOCH = ErrorCode.FENCED_LEADER_EPOCH
FENCED_STATE_EPOCH = ErrorCode.FENCED_STATE_EPOCH
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@attrs.frozen
class OneRequest:
    """What a share coordinator holds of a share-partition, if anything, and a request about it.

    ``leader_epoch`` and ``state_epoch`` are those of the request, less one, so that they may be
    -1; the other epochs are what is held. ``due`` is when a snapshot is due, in updates.
    """

    present: Term = flag()
    start: Term = number()
    complete: Term = number()
    fence: Term = number()
    held_state_epoch: Term = number()
    snapshot_epoch: Term = number()
    updates: Term = number()
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
        known = cls(
            present=True, start=start, fence=leader, held_state_epoch=epoch, due=5, partitions=2,
            leader_epoch=leader + 1, state_epoch=epoch + 1, given_start=start, given_complete=1,
            now=state.now,
        )  # fmt: skip
        yield known
        yield attrs.evolve(known, present=False)
        yield attrs.evolve(known, leader_epoch=leader + 2)


def _before(s: OneRequest) -> ShareCoordinator:
    held = Map({OTHER: ANOTHERS})
    if s.present:
        held = held.set(KEY, _held(s))
    return ShareCoordinator(KIP, Map({KEY.topic_id: s.partitions}), held, s.due)


def _held(s: OneRequest) -> Held:
    durable = Durable(
        s.start,
        s.complete,
        state_epoch=s.held_state_epoch,
        leader_epoch=s.fence,
        snapshot_epoch=s.snapshot_epoch,
        updates=s.updates,
    )
    return Held(durable, s.fence, 1, 1)


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
COMPARES_LEADER = frozenset({"ReadShareGroupState", "WriteShareGroupState"})
COMPARES_STATE = frozenset({"InitializeShareGroupState", "WriteShareGroupState"})
NEEDS_STATE = COMPARES_LEADER


def _serve(s: OneRequest, name: str) -> tuple[ShareCoordinator, Reply]:
    before = _before(s)
    return before, coordinator.serve(before, REQUESTS[name](s), s.now)


def _refusal(s: OneRequest, name: str) -> ErrorCode:
    """Return the answer that the KIP gives to a request, in Kafka's order."""
    if (name in COMPARES_LEADER and _leader(s) < 0) or (name in COMPARES_STATE and _state(s) < 0):
        return INVALID_REQUEST
    if name in NEEDS_STATE and not s.present:
        return UNKNOWN
    if s.present and _is_fenced_leader(s, name):
        return FENCED_LEADER_EPOCH
    if s.present and _is_fenced_state(s, name):
        return FENCED_STATE_EPOCH
    return UNKNOWN if s.partitions <= KEY.partition else NONE


def _is_fenced_leader(s: OneRequest, name: str) -> bool:
    summary = name == "ReadShareGroupStateSummary" and bool(_leader(s) >= 0)
    return (summary or name in COMPARES_LEADER) and bool(_leader(s) < s.fence)


def _is_fenced_state(s: OneRequest, name: str) -> bool:
    if name == "WriteShareGroupState":
        return bool(_state(s) != s.held_state_epoch)
    return name in COMPARES_STATE and bool(_state(s) < s.held_state_epoch)


def _answers(s: OneRequest, name: str) -> Term:
    _before_it, reply = _serve(s, name)
    expected = _refusal(s, name)
    if expected is NONE and _is_no_repetition(s, name):
        expected = INVALID_REQUEST
    return reply.status is expected


def _is_no_repetition(s: OneRequest, name: str) -> bool:
    """Whether a start offset beyond the durable one is given in the same state epoch."""
    if name != "InitializeShareGroupState" or not s.present:
        return False
    return bool(_state(s) == s.held_state_epoch) and bool(s.given_start > s.start)


def _leaves_the_rest(s: OneRequest, name: str) -> Term:
    before, reply = _serve(s, name)
    after = reply.coordinator
    if reply.status is not NONE or name == "ReadShareGroupStateSummary":
        return after is before and reply.record is None
    others = after.held.get(OTHER) is ANOTHERS and after.topics is before.topics
    return others and (reply.record is None or reply.record.key == KEY)


def _initializes(s: OneRequest) -> Term:
    before, reply = _serve(s, "InitializeShareGroupState")
    if reply.status is not NONE:
        return True
    if s.present and _state(s) == s.held_state_epoch:
        return reply.coordinator is before and reply.record is None
    after = reply.coordinator.held[KEY]
    epoch = either(s.present, s.snapshot_epoch + 1, 0)
    return conjunction(
        after.durable.start_offset == s.given_start,
        after.durable.delivery_complete_count == 0,
        after.durable.state_epoch == _state(s),
        after.durable.leader_epoch == either(s.present, s.fence, 0),
        after.leader_fence == either(s.present, s.fence, 0),
        after.durable.snapshot_epoch == epoch,
        after.durable.updates == 0,
        _is_snapshot(s, reply, after.durable),
    )


def _is_snapshot(s: OneRequest, reply: Reply, durable: Durable) -> Term:
    """Whether the record is a snapshot of this state, written now."""
    value = reply.record.value if reply.record else None
    if not isinstance(value, ShareSnapshot):
        return False
    held = reply.coordinator.held[KEY]
    return conjunction(
        value.snapshot_epoch == durable.snapshot_epoch,
        _same_state(value.state, durable),
        *(time == s.now for time in (value.create_timestamp, value.write_timestamp)),
        *(time == s.now for time in (held.created_ms, held.written_ms)),
    )


def _same_state(state: DurableState, durable: Durable) -> Term:
    return conjunction(
        state.start_offset == durable.start_offset,
        state.delivery_complete_count == durable.delivery_complete_count,
        state.state_epoch == durable.state_epoch,
        state.leader_epoch == durable.leader_epoch,
        not state.state_batches,
    )


def _reads(s: OneRequest) -> Term:
    before, reply = _serve(s, "ReadShareGroupState")
    if reply.status is not NONE or reply.state is None:
        return reply.status is not NONE
    matches = _same_state(reply.state, _held(s).durable)
    if _leader(s) == s.fence:
        return conjunction(matches, reply.coordinator is before, reply.record is None)
    after = reply.coordinator.held[KEY]
    return conjunction(
        matches,
        after.leader_fence == _leader(s),
        after.durable.leader_epoch == _leader(s),
        after.durable.state_epoch == s.held_state_epoch,
        after.durable.start_offset == s.start,
        after.durable.delivery_complete_count == s.complete,
        _is_logged(s, reply, after),
    )


def _is_logged(s: OneRequest, reply: Reply, after: Held) -> Term:
    """Whether an update was appended, or, when one is due, a snapshot."""
    value = reply.record.value if reply.record else None
    if s.updates >= s.due:
        counted = conjunction(
            after.durable.snapshot_epoch == s.snapshot_epoch + 1, after.durable.updates == 0
        )
        return conjunction(counted, _is_snapshot(s, reply, after.durable))
    if not isinstance(value, ShareUpdate):
        return False
    return conjunction(
        value.snapshot_epoch == s.snapshot_epoch,
        value.leader_epoch == after.durable.leader_epoch,
        value.start_offset == after.durable.start_offset,
        value.delivery_complete_count == after.durable.delivery_complete_count,
        after.durable.snapshot_epoch == s.snapshot_epoch,
        after.durable.updates == s.updates + 1,
        conjunction(after.created_ms == 1, after.written_ms == 1),
    )


def _writes(s: OneRequest) -> Term:
    _before_it, reply = _serve(s, "WriteShareGroupState")
    if reply.status is not NONE:
        return True
    after = reply.coordinator.held[KEY]
    ahead = s.given_start > s.start
    level = s.given_start == s.start
    larger = either(s.given_complete > s.complete, s.given_complete, s.complete)
    count = either(ahead, s.given_complete, either(level, larger, s.complete))
    return conjunction(
        after.leader_fence == s.fence,
        after.durable.leader_epoch == s.fence,
        after.durable.state_epoch == s.held_state_epoch,
        after.durable.start_offset == either(ahead, s.given_start, s.start),
        after.durable.delivery_complete_count == count,
        _is_logged(s, reply, after),
    )


def _summarizes(s: OneRequest) -> Term:
    _before_it, reply = _serve(s, "ReadShareGroupStateSummary")
    if reply.status is not NONE or reply.state is None:
        return reply.status is not NONE
    return _same_state(reply.state, _held(s).durable if s.present else Durable())


def _deletes(s: OneRequest) -> Term:
    before, reply = _serve(s, "DeleteShareGroupState")
    if reply.status is not NONE:
        return True
    if not s.present:
        return reply.coordinator is before and reply.record is None
    gone = KEY not in reply.coordinator.held
    return gone and reply.record is not None and reply.record.value is None


ANSWERED = _law(
    "request_is_answered_as_the_kip_says",
    "A request is refused for its numbers, then for absent state, then for its epochs.",
    30,
)
REST = _law(
    "request_leaves_the_rest",
    "A request changes no other share-partition, and nothing at all if it is refused.",
    30,
)
DONE = _law(
    "request_does_what_it_says",
    "An accepted request changes start offset, count and epochs as the KIP says, and logs it.",
    30,
)
_EFFECTS = {
    "InitializeShareGroupState": (_initializes, "initialize_state"),
    "ReadShareGroupState": (_reads, "read_state"),
    "WriteShareGroupState": (_writes, "write_state"),
    "ReadShareGroupStateSummary": (_summarizes, "read_state_summary"),
    "DeleteShareGroupState": (_deletes, "delete_state"),
}


def _any(_s: OneRequest) -> Term:
    return True


def _theorems() -> Iterator[Theorem]:
    for name, (effect, function) in _EFFECTS.items():
        target = f"spec.share_coordinator:{function}"
        refusing = Control(
            f"{function} refuses everything",
            target,
            becomes(lambda state, *_of, **_how: Reply(state, ErrorCode.NON_EMPTY_GROUP)),
        )
        emptied = Control(
            f"{function} forgets all share-partitions",
            target,
            lambda rule: (
                lambda *of, **how: attrs.evolve(rule(*of, **how), coordinator=ShareCoordinator(KIP))
            ),
        )
        silent = Control(
            f"{function} accepts and does nothing",
            target,
            becomes(lambda state, *_of, **_how: Reply(state, NONE)),
        )
        yield Theorem(ANSWERED, name, OneRequest, _any, about(_answers, name), refusing)
        yield Theorem(REST, name, OneRequest, _any, about(_leaves_the_rest, name), emptied)
        yield Theorem(DONE, name, OneRequest, _any, effect, silent)


REQUEST_THEOREMS = tuple(_theorems())
