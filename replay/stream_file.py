"""The folder of a stream: states, events that wait and alarms, each batch of it whole or not.

What a batch leaves becomes valid with one step, in which ``states.txt`` is replaced: it names the
batch and the file of the events that wait. The alarms are in files of their own, written before.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from judge.finding import Finding
from judge.weighing import Evidence, too_little
from model.profile import Profile
from replay.judged import ARRIVED, Counts, Waiting
from replay.result_schema import divergence_row
from replay.state_file import NAME, Carried, StateError, read_left, write_states
from replay.verdict import Problem
from report.scratch import whole_file

SPARK = "spark"
"""The folder in which Spark keeps which files belong to which batch."""

DIGITS = 8
"""How many digits name a stream and a batch in the names of files."""


@attrs.frozen
class Summary:
    """A batch: what it brought, of how many share-partitions, and how long that took.

    ``waiting`` events wait at its end. ``lag_seconds`` is how long the event that waited longest
    for its verdict had been there; None if nothing tells when events came.
    """

    batch: int
    counts: Counts
    partitions: int = 0
    alarms: int = 0
    problems: int = 0
    waiting: int = 0
    seconds: float = 0.0
    lag_seconds: float | None = None


@attrs.frozen
class Left:
    """What a stream has left after a batch, -1 before the first.

    ``total`` counts over all batches; ``alarms`` are the divergences of all. ``seen`` counts by
    share-partition since this run began, and is not written.
    """

    stream: str = ""
    carried: Mapping[str, Carried] = attrs.field(factory=dict)
    waiting: Mapping[str, Waiting] = attrs.field(factory=dict)
    held: pa.Table = attrs.field(factory=ARRIVED.empty_table)
    last: Summary = attrs.field(factory=lambda: Summary(-1, Counts()))
    total: Counts = attrs.field(factory=Counts)
    alarms: int = 0
    held_file: str = ""
    seen: Mapping[str, Counts] = attrs.field(factory=dict, eq=False, repr=False)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return the share-partitions of which too little was judged, as far as none diverged."""
        held = Counter(self.held.column("partition").to_pylist())
        diverged = {name for name, each in self.carried.items() if each.divergence}
        given = {name: c.checked + c.passed + held[name] for name, c in self.seen.items()}
        return tuple(
            name
            for name in sorted(given.keys() - diverged)
            if given[name] and _light(self.seen[name], given[name])
        )


def _light(counts: Counts, given: int) -> str:
    return too_little(Evidence.EVENTS, counts.checked, given, counts.believed)


def read_stream(folder: Path, rules: Profile) -> Left:
    """Return what a stream, or a replay, left in a folder.

    Raises StateError for what cannot be used.
    """
    carried, stream = read_left(folder, rules)
    if stream is None:
        return Left(carried=carried)
    try:
        last = {**stream["last"], "counts": Counts(**stream["last"]["counts"])}
        waiting = {name: Waiting(**each) for name, each in stream["waiting"].items()}
        held = _held(folder, stream["held_file"], stream["held_digest"])
        return Left(
            stream["stream"],
            carried,
            waiting,
            held,
            Summary(**last),
            Counts(**stream["total"]),
            stream["alarms"],
            stream["held_file"],
        )
    except (KeyError, TypeError, ValueError, OSError, pa.ArrowException) as error:
        text = " ".join(str(error).split())[:200]
        raise StateError(f"{folder / NAME} was altered: {text}") from None


def _held(folder: Path, name: str, digest: str) -> pa.Table:
    if not name:
        return ARRIVED.empty_table()
    if Path(name).name != name:
        raise ValueError(name)
    data = folder.joinpath(name).read_bytes()
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError(f"{name} has not its digest")
    return pa.ipc.open_file(pa.BufferReader(data)).read_all().cast(ARRIVED)


def _packed(table: pa.Table) -> bytes:
    """Return a table as the bytes of an Arrow file."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def write_stream(folder: Path, rules: Profile, left: Left) -> Left:
    """Write what a batch leaves; the batch is done when the last file is in its place.

    The events that wait come first, in a file that nothing names yet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name, digest = "", ""
    if left.held.num_rows:
        data = _packed(left.held)
        name = f"held-{file_name(left.stream, left.last.batch)}.arrow"
        digest = hashlib.sha256(data).hexdigest()
        _put(folder / name, data)
    stream = {
        "stream": left.stream,
        "waiting": {key: attrs.asdict(each) for key, each in sorted(left.waiting.items())},
        "held_file": name,
        "held_digest": digest,
        "last": attrs.asdict(left.last),
        "total": attrs.asdict(left.total),
        "alarms": left.alarms,
    }
    write_states(folder, rules, left.carried.values(), stream)
    for old in folder.glob("held-*"):
        if old.name != name:
            old.unlink(missing_ok=True)
    return attrs.evolve(left, held_file=name)


def write_alarms(
    folder: Path, name: str, batch: int, alarms: Iterable[Finding], problems: Iterable[Problem]
) -> None:
    """Write the divergences and problems of a batch, over those of an attempt that was cut off."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, rows in (
        ("alarms", [divergence_row(each) for each in alarms]),
        ("problems", [attrs.asdict(each) for each in problems]),
    ):
        path = folder / f"{kind}-{name}.jsonl"
        if rows:
            lines = [json.dumps({"batch": batch, **row}, default=_plain) + "\n" for row in rows]
            _put(path, "".join(lines).encode())
        else:
            path.unlink(missing_ok=True)


def _plain(value: Any) -> Any:  # noqa: ANN401 - as json has it
    return value.value


def file_name(stream: str, batch: int) -> str:
    """Return what the files of a batch are named after: no other stream has the same."""
    return f"{stream[:DIGITS]}-{batch:0{DIGITS}}"


def spark_id(folder: Path) -> str:
    """Return the name that Spark gave a stream when it began; it keeps it across restarts."""
    try:
        return str(json.loads(folder.joinpath(SPARK, "metadata").read_text())["id"])
    except (OSError, KeyError, TypeError, ValueError):
        raise StateError(f"{folder / SPARK} is no folder of a stream") from None


def _put(path: Path, data: bytes) -> None:
    with whole_file(path) as draft:
        draft.write_bytes(data)
