"""A whole state in which every field has a value, and the same with any one field altered."""

from collections.abc import Iterator
from enum import Enum
from typing import Any

import attrs

from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.ranges import PassedOver, StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from model.whole_state import (
    Awaited,
    AwaitedKind,
    Delayed,
    LogState,
    RecordedNumbers,
    RecordsInFlight,
    ReplayState,
    WholeState,
    WriteInFlight,
)

FREE, HELD, DONE = RecordState.AVAILABLE, RecordState.ACQUIRED, RecordState.ACKNOWLEDGED
NO, YES = False, True
WORK, GONE = RecordState.IN_PROGRESS, RecordState.ARCHIVED

FULL = ReplayState(
    WholeState(
        config=SharePartitionConfig(
            3,
            20,
            50,
            AutoOffsetReset.BY_DURATION,
            IsolationLevel.READ_COMMITTED,
            renew_acknowledge_enable=False,
            dead_letter_queue=True,
            in_progress_staleness_threshold_ms=60,
            in_progress_max_lock_extension_ms=70,
            in_progress_rebalance_grace_ms=8,
        ),
        now=100,
        timed=True,
        last_event=99,
        ready=True,
        start_offset=8,
        end_offset=26,
        records=(
            RecordsInFlight(10, 11, FREE, 1),
            RecordsInFlight(13, 13, WORK, 2, "a", 130, None, NO, 4, 90, 95),
            RecordsInFlight(15, 16, HELD, 1, "b", 120, None, NO, 5),
            RecordsInFlight(18, 18, DONE, 3, "a", 110, 6, YES, 2, 80, 85),
            RecordsInFlight(20, 20, GONE, 1, None, None, 6),
            RecordsInFlight(22, 22, GONE, 1),
        ),
        log=LogState(2, 40, 38, YES, ((17, 17), (24, 25)), ((8, 21), (28, 39))),
        writes=(
            WriteInFlight(
                6, 9, 2, (StateBatch(18, 18, DONE, 3), StateBatch(20, 20, FREE, 1)), 41, 43, YES
            ),
            WriteInFlight(7, 9, 1, (StateBatch(24, 24, FREE, 1),), seen=YES, told_at=40),
            WriteInFlight(8, 9, 1, (StateBatch(22, 22, GONE, 1),), 42),
        ),
        next_write=9,
        durable=DurableState(9, 1, (StateBatch(10, 10, FREE, 1),), 3, 4),
        durable_whole=True,
        highest_limit=4,
        next_acquisition=6,
        waiting=(PassedOver(10, 10, 2), PassedOver(12, 13, 1)),
        stuck=Delayed(11, 1),
        doubtful=(WriteInFlight(0, 9, 2, (StateBatch(12, 12, GONE, 2),)),),
    ),
    44,
    100,
    (RecordedNumbers(6, 10, 3),),
    (Awaited(AwaitedKind.WRITE, 6, 41), Awaited(AwaitedKind.LOG, 12, 40)),
)
"""A replay of the profile draft_resolved, in the middle."""


IMPOSSIBLE = {f".records[{place}].exhausted" for place in range(6) if place != 3} | {
    f".doubtful[0].{name}" for name in ("id", "seq", "made_after", "seen")
}
"""What no state can have: a count that had reached its limit when a write was made, without one.

And what is not told of a write that is in doubt.
"""


def altered(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any part of a state
    """Yield the value with one field altered, for every field of every part, and its path."""
    if attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            for inner, other in altered(getattr(value, field.name), f"{path}.{field.name}"):
                yield inner, _with(value, field.name, other)
    elif isinstance(value, tuple):
        if not value or not isinstance(value[-1], int):  # Those are of an extent.
            yield path, value[:-1] if value else (None,)
        for place, part in enumerate(value):
            for inner, other in altered(part, f"{path}[{place}]"):
                yield inner, (*value[:place], other, *value[place + 1 :])
    elif value is not None:
        # A range must not begin behind its end.
        yield path, value - 1 if path.endswith(".first") else _other(value)


def _with(value: Any, name: str, other: object) -> Any:  # noqa: ANN401 - any part of a state
    """Return the value with another field; validators would refuse some of them alone."""
    with attrs.validators.disabled():
        return attrs.evolve(value, **{name: other})


def _other(value: object) -> object:
    match value:
        case bool():
            return not value
        case Enum():
            kinds = list(type(value))
            return kinds[(kinds.index(value) + (2 if len(kinds) > 2 else 1)) % len(kinds)]
        case int():
            return value + 1
        case str():
            return value + "x"
    raise TypeError(value)


def fields_of(value: object) -> set[str]:
    """Return the name of each field of each part, with the name of its type."""
    if isinstance(value, tuple):
        return {name for part in value for name in fields_of(part)}
    if not attrs.has(type(value)):
        return set()
    kind: type[Any] = type(value)
    names = {f"{kind.__name__}.{field.name}" for field in attrs.fields(kind)}
    parts = (getattr(value, field.name) for field in attrs.fields(kind))
    return names.union(*(fields_of(part) for part in parts))
