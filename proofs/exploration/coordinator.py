"""Every change of the share coordinator's state in a small world.

Each is made by the specification and by the implementation's own merge, and is checked: repeated it
changes nothing, and nothing is taken back.
"""

import attrs
import numpy as np

from impl.durable import merge_answered
from impl.layout import DURABLE_COMPLETE, DURABLE_START, DURABLE_TAIL
from impl.state import new_state
from model.outcome import Write
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from proofs.exploration.leaders import Found, Offsets
from proofs.exploration.normal import Content, write_of
from proofs.exploration.world import SmallWorld, initialize
from spec import coordinator
from spec.coordinator import Durable, durable_state, merge
from spec.lag import lag
from spec.log import Log
from spec.record import durable_maximum


@attrs.frozen(eq=False)
class DurableForm:
    """A durable state as every current leader sees it, and what properties look at of it.

    ``found``: what a new leader finds of each offset; ``terminal``: the offsets that it does not
    deliver. The log's end without ``reported`` is the reported lag, and without ``resumed`` the lag
    of a leader that has just read the state.
    """

    durable: Durable
    found: dict[int, Found]
    terminal: Offsets
    reported: int
    resumed: int

    @property
    def start(self) -> int:
        """The durable start offset."""
        return self.durable.start_offset


@attrs.define
class Coordinator:
    """The share coordinator of a small world; every durable state and every merge is kept once.

    ``merges`` has, for a durable state and a write, the state after it and what is wrong with it.
    """

    world: SmallWorld
    states: dict[Durable, DurableForm] = attrs.Factory(dict)
    merges: dict[tuple[DurableForm, Content], tuple[DurableForm, str | None]] = attrs.Factory(dict)

    def first(self) -> DurableForm:
        """Return the state that was never written."""
        return self._form(Durable())

    def reset(self, before: DurableForm, start: int) -> DurableForm:
        """Return the state after an administrator altered the start offset."""
        state_epoch = before.durable.state_epoch + 1
        return self._form(coordinator.initialize_durable(before.durable, start, state_epoch))

    def merged(self, before: DurableForm, what: Content) -> tuple[DurableForm, str | None]:
        """Return the state after a write of the current leader, and what is wrong with that."""
        known = self.merges.get((before, what))
        if known is None:
            request, profile = write_of(what), self.world.profile
            after = merge(before.durable, request, profile)
            wrong = self._wrong(before.durable, request, after)
            known = self.merges[before, what] = self._form(after), wrong
        return known

    def covers(self, state: DurableForm, what: Content) -> bool:
        """Return whether a write would change nothing."""
        return self.merged(state, what)[0] is state

    def _form(self, durable: Durable) -> DurableForm:
        bare = Durable(
            durable.start_offset,
            durable.delivery_complete_count,
            durable.entries,
            state_epoch=1,
            leader_epoch=1,
        )
        if bare not in self.states:
            self.states[bare] = form_of(self.world, bare)
        return self.states[bare]

    def _wrong(self, before: Durable, request: Write, after: Durable) -> str | None:
        profile = self.world.profile
        if merge(after, request, profile) != after:
            return "a write that arrives again changes the durable state"
        if not _covers(after, before, counts=not profile.coordinator_counts_complete):
            return "a write takes back something durable"
        merged = _merged_by_implementation(self.world, before, request)
        if merged != durable_state(after):
            return f"the implementation merges to {merged}, the specification to {after}"
        return None


def form_of(world: SmallWorld, durable: Durable) -> DurableForm:
    """Return a durable state with what properties look at; what lies before it is ARCHIVED."""
    found = {
        offset: durable.entries.get(offset, (RecordState.AVAILABLE, 0))
        if offset >= durable.start_offset
        else (RecordState.ARCHIVED, 0)
        for offset in range(world.offsets)
    }
    new = initialize(world, Log(0, world.offsets), durable_state(durable))[0].partition
    return DurableForm(
        durable,
        found,
        frozenset(o for o, (state, _) in found.items() if state != RecordState.AVAILABLE),
        max(0, durable.start_offset) + max(0, durable.delivery_complete_count),
        world.offsets - lag(new),
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
