"""Every change of the share coordinator's state, computed once.

Each is made by the specification, with its fences, and by the implementation's own merge, and is
checked: repeated it changes nothing, nothing is taken back, and from a leader or of a state epoch
that is older it is refused.
"""

import numpy as np
from immutables import Map

from impl.durable import merge_answered
from impl.layout import DURABLE_COMPLETE, DURABLE_START, DURABLE_TAIL
from impl.state import new_state
from model.errors import ErrorCode
from model.outcome import Write
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from proofs.exploration.intern import Interned
from proofs.exploration.network import Action, NetworkAct
from proofs.exploration.normal import Content
from proofs.exploration.world import SmallWorld
from spec.coordinator import Durable, durable_state, initialize, merge, write
from spec.record import durable_maximum

_EPOCHS, _OLDER_LEADER, _OLDER_STATE = (1, 1), (0, 1), (1, 0)
"""(leader epoch, state epoch) of writes, where the coordinator has seen 1 and 1."""


class Coordinator:
    """Numbers for durable states; the first is one that was never written."""

    def __init__(self, world: SmallWorld) -> None:
        """Begin with that state."""
        self.world = world
        self.states: Interned[Durable] = Interned([_stripped(Durable())])
        self.writes = 0
        self.wrong: dict[tuple[tuple[Action, ...], int], str] = {}

    def apply(self, actions: tuple[Action, ...], state: int) -> int:
        """Return the durable state after merges or a reset; notes what is wrong with them."""
        durable = self.states[state]
        for act, what in actions:
            if isinstance(what, int):
                assert act is NetworkAct.RESET  # noqa: S101 - nothing else has a number
                durable = _stripped(initialize(durable, what, durable.state_epoch + 1)[1])
                continue
            before, request = durable, _write(what)
            status, durable = write(before, request, _EPOCHS, self.world.profile)
            self.writes += 1
            wrong = self._wrong(before, request, status, durable)
            if wrong is not None:
                self.wrong.setdefault((actions, state), wrong)
        return self.states.number(durable)

    def covers(self, state: int, what: Content) -> bool:
        """Return whether a write would change nothing."""
        durable = self.states[state]
        return merge(durable, _write(what), self.world.profile) == durable

    def _wrong(
        self, before: Durable, request: Write, status: ErrorCode, after: Durable
    ) -> str | None:
        profile = self.world.profile
        if status is not ErrorCode.NONE:
            return f"a write of the current leader is answered {status.name}"
        if merge(after, request, profile) != after:
            return "a write that arrives again changes the durable state"
        if not _covers(after, before, counts=not profile.coordinator_counts_complete):
            return "a write takes back something durable"
        for epochs, fence in (
            (_OLDER_LEADER, ErrorCode.FENCED_LEADER_EPOCH),
            (_OLDER_STATE, ErrorCode.FENCED_STATE_EPOCH),
        ):
            if write(before, request, epochs, profile) != (fence, before):
                return f"a write that should be refused with {fence.name} is not"
        merged = _merged_by_implementation(self.world, before, request)
        if merged != durable_state(after):
            return f"the implementation merges to {merged}, the specification to {after}"
        return None


def _stripped(durable: Durable) -> Durable:
    """Return the state with the epochs that every current leader sees."""
    return Durable(
        durable.start_offset,
        durable.delivery_complete_count,
        Map(durable.entries),
        state_epoch=1,
        leader_epoch=1,
    )


def _write(what: Content) -> Write:
    start, count, batches = what
    return Write(
        0,
        start,
        count,
        tuple(StateBatch(first, last, RecordState(state), n) for first, last, state, n in batches),
    )


def _covers(after: Durable, before: Durable, *, counts: bool) -> bool:
    """Whether what was durable before still is, or is further, or lies before the start offset.

    ``counts``: of the delivery complete count too, at one start offset.
    """
    entries = after.entries
    return (after.start_offset, counts and after.delivery_complete_count) >= (
        before.start_offset,
        counts and before.delivery_complete_count,
    ) and all(
        offset < after.start_offset
        or (offset in entries and durable_maximum(*entries[offset], *entry) == entries[offset])
        for offset, entry in before.entries.items()
    )


def _merged_by_implementation(world: SmallWorld, before: Durable, request: Write) -> DurableState:
    """Return the implementation's merge of a write into a state, which it merges first."""
    state = new_state(world.profile)
    known = durable_state(before)
    for start, complete, batches in (
        (known.start_offset, known.delivery_complete_count, known.state_batches),
        (request.start_offset, request.delivery_complete_count, request.state_batches),
    ):
        rows = [(b.first, b.last, b.state, b.delivery_count) for b in batches]
        merge_answered(state, start, complete, np.array(rows, np.int64).reshape(-1, 4))
    header = state.header
    return DurableState(
        int(header[DURABLE_START]),
        int(header[DURABLE_COMPLETE]),
        tuple(
            StateBatch(first, last, RecordState(kind), count)
            for first, last, kind, count in state.durable[: header[DURABLE_TAIL]].tolist()
        ),
        known.state_epoch,
        known.leader_epoch,
    )
