"""The whole state of a share-partition: every value that a later event can depend on.

It is neutral: the specification and the implementation keep their state in other ways, and each
converts its own to this one and back (``judge.whole_state``, ``impl.whole_state``), so that either
can go on where the other stands. It has one form for each state: ranges are as long as possible
and ascend, writes are in the order of their ids.

Left out is what no later event can depend on: what the last operation answered; which numbers the
implementation has for members and changes, and what is still to be merged in its durable state;
how often the share coordinator wrote a snapshot; of an outstanding write the offsets that have left
the window. A lock that ends after the last time a clock can show ends at that.
"""

from enum import IntEnum
from typing import Any

import attrs

from model.config import SharePartitionConfig
from model.ranges import PassedOver, StateBatch
from model.snapshot import DurableState
from model.states import RecordState

Extent = tuple[int, int]
"""The first and the last offset, both inclusive."""


@attrs.frozen
class LogState:
    """What is known of the log. ``end_offset`` and ``stable_offset`` are exclusive.

    ``holes`` hold no record, ``batches`` were produced; without ``known`` the log is what reads
    show.
    """

    start_offset: int
    end_offset: int
    stable_offset: int
    known: bool
    holes: tuple[Extent, ...] = ()
    batches: tuple[Extent, ...] = ()


@attrs.frozen
class RecordsInFlight:
    """Records of the window from ``first`` to ``last`` in equal states.

    ``owner`` and ``last_ms`` are who holds the acquisition lock and its last ms; of records that
    are pending those that a failed write restores. ``write`` is the id of the write that they wait
    for, None if they are not pending; ``exhausted`` says whether the delivery count had reached its
    limit when that was made. ``acquisition``, ``progress_start`` and ``last_progress`` are those of
    the delivery, where records may be marked.
    """

    first: int
    last: int
    state: RecordState
    delivery_count: int
    owner: str | None = None
    last_ms: int | None = None
    write: int | None = None
    exhausted: bool = False
    acquisition: int | None = None
    progress_start: int | None = None
    last_progress: int | None = None


@attrs.frozen
class WriteInFlight:
    """A write to the share coordinator that is not answered yet.

    ``seq`` is the operation that its answer completes, None if none waits; ``made_after`` the one
    after which it takes its start offset and delivery complete count, None if it has them.
    ``seen``: it is as an implementation made it. ``told_at`` is the checkpoint that told it without
    its ``seq``: its answer completes one before that, or none.
    """

    id: int
    start_offset: int
    delivery_complete_count: int
    state_batches: tuple[StateBatch, ...]
    seq: int | None = None
    made_after: int | None = None
    seen: bool = False
    told_at: int | None = None


@attrs.frozen
class Delayed:
    """A start offset that waits, and how many fetches in a row have left it waiting."""

    offset: int
    fetches: int


@attrs.frozen
class WholeState:
    """The state of a share-partition under some profile, which is not part of it.

    The fields are those of ``spec.partition.SharePartition``. ``highest_limit`` is 0 before any
    leader has told its state; ``last_event`` is 0 where the clock is not a real one. ``doubtful``
    are the writes that may be durable though nobody said so, without those that are; their ``id``
    is 0, and they ascend.
    """

    config: SharePartitionConfig
    now: int
    timed: bool
    last_event: int
    ready: bool
    start_offset: int
    end_offset: int
    records: tuple[RecordsInFlight, ...]
    log: LogState
    writes: tuple[WriteInFlight, ...]
    next_write: int
    durable: DurableState
    durable_whole: bool
    highest_limit: int
    next_acquisition: int
    waiting: tuple[PassedOver, ...] = ()
    stuck: Delayed | None = None
    doubtful: tuple[WriteInFlight, ...] = ()


@attrs.frozen
class RecordedNumbers:
    """The numbers that a recording has for a write which takes its own later.

    ``delivery_complete_count`` is None where none was recorded.
    """

    id: int
    start_offset: int
    delivery_complete_count: int | None


class AwaitedKind(IntEnum):
    """What must come in time: the answer to a write, the end of a dead letter, or the log."""

    WRITE = 0
    DEAD_LETTER = 1
    LOG = 2


@attrs.frozen
class Awaited:
    """The one of its kind that is watched: the id of a write, or an offset.

    ``since`` is the event, or where the clock is a real one the time (ms), from which on it was.
    """

    kind: AwaitedKind
    number: int
    since: int


@attrs.frozen
class ReplayState:
    """Where a replay stands: the whole state, and what it needs of the events before.

    ``seq`` is that of the next event, ``time_ms`` the clock of the last. ``numbers`` are recorded
    for writes that take theirs later, in the order of their ids; ``awaited`` in that of the kinds.
    """

    state: WholeState
    seq: int
    time_ms: int
    numbers: tuple[RecordedNumbers, ...] = ()
    awaited: tuple[Awaited, ...] = ()


def first_difference(value: Any, other: Any, name: str = "state") -> str | None:  # noqa: ANN401 - any part of a state
    """Return the first field in which two values differ, with both, in words; None if none does."""
    if value == other:
        return None
    if type(value) is type(other) and attrs.has(type(value)):
        names: list[str] = [field.name for field in attrs.fields(type(value))]
        fields = ((getattr(value, each), getattr(other, each), f"{name}.{each}") for each in names)
        return next(filter(None, (first_difference(*field) for field in fields)))
    if isinstance(value, tuple) and isinstance(other, tuple):
        for place, parts in enumerate(zip(value, other, strict=False)):
            if different := first_difference(*parts, f"{name}[{place}]"):
                return different
        return f"{name} has {len(value)} or {len(other)} elements"
    return f"{name} is {value!r} or {other!r}"
