"""Batches of a stream without Spark, and a process that is killed in the middle of one.

``python -m tests.replay.streams FOLDER POINT`` runs the batches that are not done, as Spark does.
It notes that a batch is done after all that the batch leaves. It kills itself at POINT of the batch
``DIES_IN``.
"""

import functools
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NoReturn
from unittest.mock import patch

import pyarrow as pa

from model.trace_arrow import table_from_rows
from replay.judged import ARRIVED, Before, Judged, Patience, Waiting, judge_batches, judged_of
from replay.plan import Plan
from replay.session import open_session
from replay.stream import Batch, Each, StreamPlace, check_stream, run_batch
from replay.stream_file import Left, read_stream, write_stream
from replay.stream_source import folder_stream, topic_of, topic_stream
from tests.replay.samples import Row, kafka_rows, renamed

STREAM = "0123456789-of-tests"
PATIENCE = Patience(batches=1, events=1000)
DIES_IN = 1
POINTS = ("write_alarms", "each", "write_states", "done")


def wrong(row: Row) -> Row:
    """The event with another start offset after it."""
    return {**row, "after": {**row["after"], "start_offset": row["after"]["start_offset"] + 1}}


def batches() -> list[list[Row]]:
    """A share-partition that conforms, one that diverges, one with a hole, one with a bad row.

    What the second batch brings diverges, waits and is unreadable.
    """
    rows = {name: renamed(kafka_rows(count=30), name) for name in "abcde"}
    rows["b"][15] = wrong(rows["b"][15])
    rows["e"][27] = wrong(rows["e"][27])
    whole = [[row for name in "abde" for row in rows[name][i : i + 10]] for i in (0, 10, 20)]
    whole[0] += rows["c"][:8]
    whole[1] += [*rows["c"][12:20], {**rows["a"][3], "seq": None}, rows["d"][12]]
    whole[2] += [*rows["c"][8:12], *rows["a"][15:18]]
    return whole


def arrived(rows: Sequence[Row]) -> pa.Table:
    """The rows as a batch has them."""
    places = [{"source": "f", "line": i + 1, **row} for i, row in enumerate(rows)]
    return table_from_rows(places, ARRIVED)


def judged(table: pa.Table, plan: Plan, left: Left) -> tuple[list[Judged], int | None]:
    """Judge a batch as workers do, here."""
    table = pa.concat_tables([table, left.held]).sort_by("partition").combine_chunks()
    names = [name for name in table.column("partition").unique().to_pylist() if name]
    before = {n: Before(left.carried.get(n), left.waiting.get(n, Waiting())) for n in names}
    found = judge_batches(plan, PATIENCE, before, table.to_batches(max_chunksize=7))
    rows = [row for batch in found for row in batch.to_pylist()]
    return [judged_of(row) for row in rows], None


def plan_in(folder: Path) -> Plan:
    return Plan(state_folder=str(folder / "states"))


def place_in(folder: Path, each: Each = lambda _: None) -> StreamPlace:
    return StreamPlace(plan_in(folder), folder / "out", each)


def run(folder: Path, all_rows: Sequence[Sequence[Row]], each: Each = lambda _: None) -> Left:
    """Run the batches that Spark would run: those behind the last that it has noted."""
    place = place_in(folder, each)
    left = read_stream(place.states, place.plan.rules)
    noted = folder / "noted"
    first = int(noted.read_text()) + 1 if noted.exists() else 0
    for number in range(first, len(all_rows)):
        judge = functools.partial(judged, arrived(all_rows[number]), place.plan)
        left = run_batch(number, STREAM, left, judge, place)
        done(number)
        noted.write_text(str(number))
    return left


def done(number: int) -> None:
    """Stand where Spark has not noted yet that a batch is done."""


def alarms(folder: Path) -> list[tuple[str, int]]:
    """Every alarm that was written, with its event."""
    return [(row["partition"], row["seq"]) for row in _written(folder, "alarms")]


def problems(folder: Path) -> list[tuple[str | None, str]]:
    return [(row["partition"], row["message"]) for row in _written(folder, "problems")]


def _written(folder: Path, kind: str) -> Iterator[Row]:
    for path in sorted(folder.glob(f"out/{kind}-*.jsonl")):
        yield from map(json.loads, path.read_text().splitlines())


def _die(*_: object, **__: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def _dying(function: Callable[..., object], number: Callable[..., object]) -> Callable[..., object]:
    def call(*given: object) -> object:
        return _die() if number(*given) == DIES_IN else function(*given)

    return call


DYING = "import sys; from tests.replay.streams import watch; watch(*sys.argv[1:])"


def watch(folder: str, source: str, *packages: str) -> None:
    """Watch a folder or topic, and die when a batch is done and Spark has not noted that."""
    here = Path(folder)

    def die(*given: Any) -> None:  # noqa: ANN401 - passed on
        write_stream(*given)
        _die()

    patch("replay.stream.write_stream", die).start()
    with open_session("local[2]", packages) as session:
        topic = topic_of(source)
        rows = topic_stream(session, topic) if topic else folder_stream(session, Path(source))
        check_stream(rows, plan_in(here), here / "out").awaitTermination()


def main(folder: Path, point: str) -> None:
    """Run the batches up to the point where this process dies."""
    numbers: dict[str, Callable[..., object]] = {
        "replay.stream.write_alarms": lambda *given: given[2],
        "replay.stream_file.write_states": lambda *given: given[3]["last"]["batch"],
        f"{__name__}.done": lambda number: number,
    }
    for name, number_of in numbers.items():
        if name.endswith(f".{point}"):
            patch(name, _dying(resolve_name(name), number_of)).start()

    def each(batch: Batch) -> None:
        if point == "each" and batch.summary.batch == DIES_IN:
            _die()

    run(folder, batches(), each)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
