"""What worlds of the lockstep recorded, whole and with one value spoiled, for the columnar kernel.

What it should find is what the specification finds, event by event.
"""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import attrs
import pyarrow as pa

from impl.kernel import replay_partition
from judge.dice import SeededDice
from judge.engine import Engine, engines_for
from judge.follower import follow
from model.errors import InvalidValueError
from model.guards import Difference
from model.profile import Profile
from model.snapshot import SharePartitionSnapshot
from model.trace import TraceEvent
from model.trace_arrow import table_from_rows
from model.trace_codec import row_from_event
from replay.result_schema import LAG, lag_row, lag_table
from replay.tables import BadRowError, events_of, first_bad_row
from tests.lockstep.world import HASTY, OPERATIONS, new_world, step

Row = dict[str, Any]
Found = tuple[object, ...]
Path = tuple[str | int, ...]

SHORTEST, LONGEST = 30, 60
"""How many operations a world does."""
_NULLS = 0.05
_AT_AN_OFFSET = {
    difference.name
    for difference in (Difference.ACQUIRED, Difference.WRITTEN_STATE, Difference.RECORDS)
}
_FIXED = ("partition", "op", "seq")
"""What the first stage of a replay looks at."""
BEHIND = 2
"""How many events follow the spoiled one."""


@attrs.frozen
class Case:
    """Events to replay, and what was spoiled in them: empty if nothing was."""

    profile: Profile
    table: pa.Table
    spoiled: str


def cases(seed: int, stories: int, spoilings: int) -> Iterator[Case]:
    """Yield so many stories of each profile, and each so many times with one value spoiled."""
    random = Random(seed)  # noqa: S311 - a test, no secret
    for number in range(stories):
        for profile in HASTY:
            rows = _story(profile, SeededDice(seed * 1_000_003 + number))
            yield Case(profile, table_from_rows(rows), "")
            for _ in range(spoilings if rows else 0):
                yield _spoiled(profile, rows, random)
            yield from _misstated(profile, rows)


def found_by_specification(case: Case) -> Found:
    """Return where and what the specification finds wrong, where no event stands, or each state."""
    bad = first_bad_row(case.table)
    events = _Counted(case.table.slice(0, bad.row) if bad else case.table)
    states: list[dict[str, Any]] = []

    def observe(event: TraceEvent, engine: Engine, state: SharePartitionSnapshot) -> None:
        states.append(lag_row(event, state, engine.lag()))

    try:
        found = follow(events, engines_for(("spec",), case.profile), 0, observe)
    except (BadRowError, InvalidValueError):
        return "unreadable", events.row
    if found:
        return _located(events.row, found.name, found.offset)
    return ("unreadable", bad.row) if bad else ("conforms", table_from_rows(states, LAG))


def found_by_kernel(case: Case) -> Found:
    """Return the same of the kernel."""
    result = replay_partition(case.table, case.profile)
    if result.unreadable:
        return "unreadable", result.events
    if found := result.divergence:
        return _located(found.row, found.kind.name, found.offset)
    return "conforms", lag_table("lockstep", case.table, result)


def _located(row: int, name: str, offset: int | None) -> Found:
    """Name what is wrong; where several offsets are as they should not be, none is told."""
    return row, name, offset if name in _AT_AN_OFFSET else None


class _Counted:
    """The events of a table, and the row of the last that was read."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.row = 0

    def __iter__(self) -> Iterator[TraceEvent]:
        for row in range(self._table.num_rows):
            self.row = row
            yield from events_of(self._table.slice(row, 1))


def _story(profile: Profile, dice: SeededDice) -> list[Row]:
    world, pair = new_world(profile, dice)
    for _ in range(dice.number(SHORTEST, LONGEST)):
        step(world, dice.weighted(OPERATIONS))
    rows = [json.loads(json.dumps(row_from_event(event))) for event in pair.events]
    some = copy.deepcopy(rows)
    for row in some:
        if dice.number(0, 2) == 0:
            row["after"]["records"] = None
    # What was archived sooner or later than this project does is told by the records alone.
    told = found_by_specification(Case(profile, table_from_rows(some), ""))
    return some if told[0] == "conforms" else rows


def _spoiled(profile: Profile, rows: list[Row], random: Random) -> Case:
    """Spoil one value of one event; which field it is of is drawn first, for some are rare."""
    places: dict[str, list[tuple[int, Path]]] = {}
    for number, row in enumerate(rows):
        for path in _paths(row, ()):
            places.setdefault(_kind(path), []).append((number, path))
    kind = random.choice(sorted(places))
    place, path = random.choice(places[kind])
    alike = [_at(rows[number], other) for number, other in random.choices(places[kind], k=4)]
    old = _at(rows[place], path)
    others = _others(old, alike)
    if path[0] not in ("config", "persisted", "reset_offset") and random.random() < _NULLS:
        others = [None]
    return _changed(profile, rows, place, path, random.choice(others or [old]))


def _misstated(profile: Profile, rows: list[Row]) -> Iterator[Case]:
    """Spoil each part of the state that the last checkpoint tells, where the events lead to it."""
    lead: list[Row] = [{"op": "gap"}, *rows]
    told = [n for n, row in enumerate(rows) if row["op"] == "checkpoint" != lead[n]["op"] != "gap"]
    for place in told[-1:]:
        for name, old in rows[place]["after"].items():
            new = old[:-1] if isinstance(old, list) else (old or 0) + 1
            yield _changed(profile, rows, place, ("after", name), new)


def _changed(profile: Profile, rows: list[Row], place: int, path: Path, new: object) -> Case:
    """Put another value at a path of an event."""
    changed = copy.deepcopy(rows[: place + 1 + BEHIND])
    old = _at(rows[place], path)
    _at(changed[place], path[:-1])[path[-1]] = new
    text = f"{rows[place]['op']} {place}: {'.'.join(map(str, path))} {old!r} -> {new!r}"
    return Case(profile, table_from_rows(changed), text)


def _at(row: Row, path: Path) -> Any:  # noqa: ANN401 - any part of a row
    inner: Any = row
    for part in path:
        inner = inner[part]
    return inner


def _kind(path: Path) -> str:
    return ".".join(part if isinstance(part, str) else "[]" for part in path)


def _paths(value: object, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in _FIXED:
                yield from _paths(inner, (*path, name))
        return
    yield path
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _paths(inner, (*path, index))


def _others(old: object, alike: list[object]) -> list[object]:
    """Return other values: near it, or that stand there elsewhere."""
    match old:
        case bool():
            near: list[object] = [not old]
        case int():
            near = [old + 1, old + 2, *(lower for lower in (old - 1, old - 2) if lower >= 0)]
        case list():
            near = [old[:-1], old[1:], [*old, *old[-1:]], old[::-1], []]
        case str():
            near = ["", "java.lang.IllegalStateException: no"]
        case _:
            near = []
    return [value for value in [*near, *near, *alike] if value != old]
