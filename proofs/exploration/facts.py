"""The facts of leaders and of durable states that properties use, as numbers.

What is durable of an offset is one byte. Bit 7 says that it is not delivered again: it has a state
other than AVAILABLE, or lies before the start offset. Bits 4 to 6 are the state's id, bits 0 to 3
the delivery count; 0 is never delivered.
"""

from collections.abc import Iterable

import attrs

from model.states import RecordState
from proofs.exploration.world import ExploredLeader, SmallWorld, initialize, present
from spec.coordinator import Durable, durable_state
from spec.lag import lag
from spec.log import Log
from spec.record import Record, is_acquirable, is_dead_letter, is_terminal

PASSED = 0x80
WHOLE = 0xFF


@attrs.frozen
class Facts:
    """Of a leader. Masks have a bit for each offset; codes with their masks a byte for each.

    ``committed``: what a new leader should find where the coordinator has every write.
    ``available``, ``acknowledged``, ``delivered``: of records that are AVAILABLE again,
    ACKNOWLEDGED, and ACQUIRED with the delivery count last given.
    ``unfinished``: records that are in the log and not terminal; ``awaited``: those whose write is
    outstanding; ``takeable``: those in the window which a fetch should be able to take;
    ``held``: those under an acquisition lock; ``archiving``:
    those on their way to the dead-letter queue; ``present``: those in the log.
    ``behind``: the leader has yet to notice that the log start offset passed its own.
    ``quiet``: no answer is awaited; ``full``: the window is as wide as it may be.
    """

    log: Log
    start: int
    quiet: bool
    full: bool
    committed: tuple[int, int]
    available: tuple[int, int]
    acknowledged: tuple[int, int]
    delivered: tuple[int, int]
    unfinished: int
    awaited: int
    takeable: int
    held: int
    archiving: int
    present: int
    behind: bool


@attrs.frozen
class DurableFacts:
    """Of a durable state.

    The log's end without ``reported`` is the reported lag, and without ``resumed`` the lag of a
    leader that has just read the state.
    """

    start: int
    code: int
    terminal: int
    reported: int
    resumed: int


def facts_of(world: SmallWorld, leader: ExploredLeader) -> Facts:
    """Return the facts of a leader."""
    window = leader.partition.window
    inside = set(present(leader.log))
    shown = {offset: window.records.get(offset) for offset in inside}
    tracked = {o: r for o, r in shown.items() if r is not None}
    settled = {o: r for o, r in shown.items() if r is None or not r.pending}
    behind = window.start_offset < leader.log.start_offset
    width = window.end_offset - window.start_offset
    return Facts(
        leader.log,
        window.start_offset,
        not leader.partition.outstanding,
        width >= world.window,
        _coded({o: _committed(window.start_offset, o, r) for o, r in settled.items()}),
        _coded({o: (0, PASSED) for o, r in tracked.items() if is_acquirable(r)}),
        _coded(
            {
                o: (_code(r.state, r.delivery_count), WHOLE)
                for o, r in tracked.items()
                if r.state == RecordState.ACKNOWLEDGED and not r.pending
            }
        ),
        _coded({o: (r.delivery_count, 0x0F) for o, r in tracked.items() if o in window.held}),
        _bits(
            o
            for o, r in shown.items()
            if o >= window.start_offset and (r is None or not is_terminal(r) or r.pending)
        ),
        _bits(o for o, r in tracked.items() if r.pending),
        0 if behind else _bits(o for o, r in tracked.items() if is_acquirable(r)),
        _bits(window.held),
        _bits(o for o, r in tracked.items() if is_dead_letter(r)),
        _bits(inside),
        behind,
    )


def durable_facts(world: SmallWorld, durable: Durable) -> DurableFacts:
    """Return the facts of a durable state."""
    code = terminal = 0
    for offset in range(world.offsets):
        if offset < durable.start_offset:
            byte = PASSED
        else:
            byte = _code(*durable.entries.get(offset, (RecordState.AVAILABLE, 0)))
        code |= byte << 8 * offset
        terminal |= (byte >> 7) << offset
    new = initialize(world, Log(0, world.offsets), durable_state(durable))[0].partition
    return DurableFacts(
        durable.start_offset,
        code,
        terminal,
        max(0, durable.start_offset) + max(0, durable.delivery_complete_count),
        world.offsets - lag(new),
    )


def _committed(start: int, offset: int, record: Record | None) -> tuple[int, int]:
    if offset < start:
        return PASSED, PASSED
    if record is None:
        return 0, WHOLE
    if record.owner is not None:
        return record.delivery_count - 1, WHOLE
    return _code(record.state, record.delivery_count), WHOLE


def _code(state: int, count: int) -> int:
    terminal = state != RecordState.AVAILABLE
    return terminal << 7 | int(state) << 4 | count


def _coded(bytes_: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return the codes and masks of offsets, each as one number."""
    code = sum(byte << 8 * offset for offset, (byte, _) in bytes_.items())
    return code, sum(mask << 8 * offset for offset, (_, mask) in bytes_.items())


def _bits(offsets: Iterable[int]) -> int:
    return sum(1 << offset for offset in offsets)
