"""When the processes of brokers were paused: their timers may be late by as much."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from replay.verdict import Recording

Numbers = npt.NDArray[np.int64]

MOST_MS = 10**15
"""The largest time in ms: some 30,000 years."""


class FaultFileError(Exception):
    """A file of faults cannot be used; one line says why."""


@attrs.frozen
class Pause:
    """The process of a broker, by its id, stood still. Times in ms since the epoch."""

    broker: str
    from_ms: int
    to_ms: int


@attrs.frozen
class Pauses:
    """The pauses of the brokers that wrote files, and how late a timer may be without any, in ms.

    Of each file they are [from, to), in order, and none overlaps another.
    """

    by_source: Mapping[str, tuple[tuple[int, int], ...]] = attrs.field(factory=dict)
    sweep_ms: int = 0


def read_pauses(path: Path | None, zero_ms: int = 0) -> tuple[Pause, ...]:
    """Return the pauses in a file of faults, one a line; none without a file.

    A fault is an object with ``fault`` and ``t``, in ms of a clock that shows 0 at ``zero_ms``
    since the epoch, or the line ``[t, fault, arguments]`` of a plan. A ``pause`` has its ``node``,
    the id of a broker, and ends with the next ``resume`` of that node, or after its ``seconds`` or
    ``for_ms``. Other faults make no timer late. Raises FaultFileError.
    """
    began: dict[str, tuple[int, int | None, int]] = {}
    pauses: list[Pause] = []
    for number, line in enumerate(_lines(path), 1):
        where = f"{path}, line {number}"
        fault, ms, row = _fault(line, where, zero_ms)
        if fault not in {"pause", "resume"}:
            continue
        node = row.get("node")
        if type(node) not in {int, str}:
            raise FaultFileError(f"{where}: a {fault} names no node")
        begun = began.pop(str(node), None)
        if begun:
            pauses.append(Pause(str(node), begun[0], min(ms, begun[1] or ms)))
        if fault == "pause":
            began[str(node)] = (ms, _end(ms, row, where), number)
    for node, (from_ms, to_ms, number) in began.items():
        if to_ms is None:
            raise FaultFileError(f"{path}, line {number}: this pause of node {node} never ends")
        pauses.append(Pause(node, from_ms, to_ms))
    return tuple(pauses)


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FaultFileError(f"{path}: cannot be read: {error}") from None


def _fault(line: str, where: str, zero_ms: int) -> tuple[str, int, Mapping[str, object]]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if isinstance(row, list) and len(row) == 3 and isinstance(row[2], dict):  # noqa: PLR2004 - as in a plan
        row = {**row[2], "t": row[0], "fault": row[1]}
    if not isinstance(row, dict) or not isinstance(row.get("fault"), str):
        raise FaultFileError(f"{where}: no JSON object with a fault, and no [t, fault, arguments]")
    return row["fault"], zero_ms + _number(row.get("t"), where, "t"), row


def _number(value: object, where: str, name: str) -> int:
    if type(value) not in {int, float} or not abs(value) <= MOST_MS:  # type: ignore[arg-type] # a number
        raise FaultFileError(f"{where}: {name} is {value!r:.40}; allowed: a number up to {MOST_MS}")
    return round(value)  # type: ignore[call-overload,no-any-return] # a number


def _end(from_ms: int, row: Mapping[str, object], where: str) -> int | None:
    """Return when a pause ends by itself, if it says so."""
    for name, ms in (("seconds", 1000), ("for_ms", 1)):
        value = row.get(name)
        if value is None:
            continue
        if type(value) not in {int, float} or not 0 <= value * ms <= MOST_MS:  # type: ignore[operator] # a number
            allowed = f"0 to {MOST_MS // ms}"
            raise FaultFileError(f"{where}: {name} are {value!r:.40}; allowed: {allowed}")
        return from_ms + round(value * ms)  # type: ignore[operator] # a number
    return None


def pauses_of(
    pauses: Sequence[Pause], recordings: Mapping[str, Recording], sweep_ms: int
) -> Pauses:
    """Return the pauses of the brokers that wrote these files.

    Raises FaultFileError where none is of a broker that was paused.
    """
    brokers = {recording.broker for recording in recordings.values()}
    for pause in pauses:
        if pause.broker not in brokers:
            allowed = ", ".join(sorted(brokers - {""})) or "none, as no file names its broker"
            text = f"node {pause.broker} was paused; the brokers of these traces: {allowed}"
            raise FaultFileError(text)
    spans = {broker: _merged(p for p in pauses if p.broker == broker) for broker in brokers}
    by_source = {source: spans[each.broker] for source, each in recordings.items()}
    return Pauses({source: found for source, found in by_source.items() if found}, sweep_ms)


def _merged(pauses: Iterable[Pause]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted((pause.from_ms, pause.to_ms) for pause in pauses):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        elif begin < end:
            merged.append((begin, end))
    return tuple(merged)


def with_pauses(table: pa.Table, pauses: Pauses) -> pa.Table:
    """Return the rows with how much later timers may be at each, as their broker was paused.

    What a trace itself says of that is not believed.
    """
    place = table.schema.get_field_index("paused_ms")
    late = np.zeros(table.num_rows, np.int64)
    if pauses.by_source:
        sources = table.column("source").to_numpy(zero_copy_only=False)
        times = table.column("time_ms").fill_null(0).to_numpy()
        for source, spans in pauses.by_source.items():
            own = sources == source
            late[own] = excused_ms(times[own], spans, pauses.sweep_ms)
    if not late.any() and table.column(place).null_count == table.num_rows:
        return table
    return table.set_column(place, table.schema.field(place), pa.array(late, mask=late == 0))


def excused_ms(times: Numbers, spans: Sequence[tuple[int, int]], sweep_ms: int) -> Numbers:
    """Return how much of the time before each of these its process stood still, in ms.

    That is the time in which ``sweep_ms`` went by for the process: at ``time`` a lock may be held
    that ended at ``time - sweep_ms - excused`` or later.
    """
    begins, ends = np.array(spans, np.int64).T
    stood = np.concatenate(([0], np.cumsum(ends - begins)))
    # By the clock of the process: when each pause comes, the times, and the oldest end of a lock.
    came = begins - stood[:-1]
    index = np.searchsorted(begins, times, side="right")
    inside = np.maximum(0, ends[index - 1] - times) * (index > 0)
    oldest = times - stood[index] + inside - sweep_ms
    latest_end = oldest + stood[np.searchsorted(came, oldest, side="left")]
    return np.asarray(times - sweep_ms - latest_end, np.int64)
