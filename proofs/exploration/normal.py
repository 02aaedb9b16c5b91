"""The normal form of a leader: its state without names that make no difference.

Two leaders of one normal form have the same future. Left out are: what the clock shows (deadlines
count from now, and one that has passed is 0), the names of members (numbered in the order of the
offsets that they hold or held), the numbers of writes and of calls (writes are sorted by what they
say), the durable state (no rule of a leader looks at it), the numbers of acquisitions, and of the
configuration what no move alters. The tests of this module and of ``product`` check that nothing
is lost.
"""

import marshal
from typing import Any, TypeAlias

import attrs

from model.outcome import Write
from model.ranges import StateBatch
from model.states import RecordState
from proofs.exploration.world import ExploredLeader
from spec.log import Log
from spec.record import Record
from spec.window import tracked

Content: TypeAlias = tuple[int, int, tuple[tuple[int, int, int, int], ...]]
"""What a write says: start offset, delivery complete count, batches (first, last, state, count)."""

_Numbers: TypeAlias = dict[Any, int]

_STABLE = 2
"""A version of marshal whose bytes depend on the value alone."""


@attrs.frozen
class View:
    """The normal form as ``key``; the members and outstanding writes in its order.

    ``involved`` counts the members that hold or held a record; they come first.
    """

    key: bytes
    members: tuple[str, ...]
    involved: int
    writes: tuple[int, ...]


def content(write: Write) -> Content:
    """Return the content of a write, without its number."""
    batches = tuple((b.first, b.last, int(b.state), b.delivery_count) for b in write.state_batches)
    return write.start_offset, write.delivery_complete_count, batches


def write_of(what: Content) -> Write:
    """Return a write of this content, with number 0."""
    start, count, written = what
    batches = (StateBatch(first, last, RecordState(state), n) for first, last, state, n in written)
    return Write(0, start, count, tuple(batches))


def view(leader: ExploredLeader, names: tuple[str, ...], *, symmetry: bool = True) -> View:
    """Return the normal form of a leader whose members have these names."""
    partition, window = leader.partition, leader.partition.window
    numbers: _Numbers = {} if symmetry else {name: number for number, name in enumerate(names)}
    config, now = partition.config, partition.now
    deliveries: _Numbers = {}
    records = tuple(
        (offset, *_record(window.records[offset], numbers, deliveries, now))
        for offset in tracked(window, window.start_offset, window.end_offset)
    )
    waiting = sorted(
        (o.offsets, o.seq is not None, content(o.write), id_)
        for id_, o in partition.outstanding.items()
    )
    key: Any = (
        partition.ready,
        window.start_offset,
        window.end_offset,
        partition.highest_limit,
        config.delivery_count_limit,
        config.partition_max_record_locks,
        config.record_lock_duration_ms,
        config.dead_letter_queue,
        records,
        tuple(w[:3] for w in waiting),
        _log(partition.log, window.start_offset),
        _log(leader.log, leader.log.start_offset),
    )
    involved = len(numbers)
    for name in names:
        numbers.setdefault(name, len(numbers))
    return View(marshal.dumps(key, _STABLE), tuple(numbers), involved, tuple(w[3] for w in waiting))


def _record(
    record: Record, members: _Numbers, deliveries: _Numbers, now: int
) -> tuple[object, ...]:
    def number(name: object, numbers: _Numbers = members) -> int:
        return -1 if name is None else numbers.setdefault(name, len(numbers))

    def age(since: int | None) -> int:
        return -1 if since is None else now - since

    def remaining(deadline: int | None) -> int:
        return -1 if deadline is None else max(0, deadline - now)

    # Of a delivery that can no longer be restored, nothing but that there was one matters.
    lives = record.owner is not None or remaining(record.former_deadline) > 0
    return (
        int(record.state),
        record.delivery_count,
        number(record.owner),
        remaining(record.deadline),
        bool(record.pending),
        number(record.former_owner),
        remaining(record.former_deadline),
        bool(record.exhausted),
        number(record.acquisition, deliveries) if lives else -1,
        age(record.progress_start) if lives else -1,
        age(record.last_progress) if lives else -1,
    )


def _log(log: Log, start: int) -> tuple[object, ...]:
    holes = tuple((max(first, start), last) for first, last in log.holes if last >= start)
    return log.start_offset, log.end_offset, log.stable_offset, holes
