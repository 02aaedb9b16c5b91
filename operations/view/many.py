"""The share-partitions of a replay: all in the overview, the diverging and some others drawn."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from operations.explain import ExplainError
from operations.local import opened_traces, share_partitions
from operations.view.drawing import Drawing
from operations.view.page import MAX_PARTITIONS, Listed
from operations.view.trace import SPARK, drawn_rows
from replay.plan import Plan
from replay.report import Label
from replay.verdict import ORDER, PartitionVerdict, Verdict, place

MAX_DIVERGING, MAX_CONFORMING = 12, 3
"""How many share-partitions of each verdict are drawn."""


def listed_verdicts(
    verdicts: Iterable[PartitionVerdict], lag: Path | None, label: Label
) -> list[Listed]:
    """Return the lines of the overview: what diverges first.

    ``lag`` is the folder of the replay's files of lag, if it wrote any.
    """
    ordered = sorted(verdicts, key=lambda v: (ORDER.index(v.verdict), v.partition))
    lags = read_lags(lag, {v.partition for v in ordered[:MAX_PARTITIONS]}) if lag else {}
    return [
        Listed(
            v.partition,
            v.verdict.value,
            v.events,
            v.checked,
            _fault(v, label),
            tuple(lags[v.partition].values) if v.partition in lags else (),
            lags[v.partition].times if v.partition in lags else (),
            tuple(d.time_ms for d in v.divergences if d.time_ms and d.time_ms in _REAL_MS),
        )
        for v in ordered
    ]


def drawings_of(
    paths: Sequence[Path], verdicts: Iterable[PartitionVerdict], plan: Plan, label: Label
) -> list[Drawing]:
    """Return the drawings of the diverging share-partitions and of some that conform.

    One that cannot be drawn, as it goes on where an earlier replay left it, is left out.
    """
    wanted = chosen(verdicts)
    drawings: dict[str, Drawing] = {}
    with opened_traces(paths, plan) as traces:
        for rows in share_partitions(traces, lambda name: name in wanted):
            try:
                drawings[rows.partition] = drawn_rows(rows, plan.rules, label=label).drawing
            except ExplainError:
                continue
    return [drawings[name] for name in wanted if name in drawings]


def chosen(verdicts: Iterable[PartitionVerdict]) -> list[str]:
    """Return the names of those that are drawn, the diverging ones first."""
    ordered = sorted(verdicts, key=lambda v: v.partition)
    return [
        v.partition
        for verdict, most in (
            (Verdict.DIVERGES, MAX_DIVERGING),
            (Verdict.CONFORMS, MAX_CONFORMING),
        )
        for v in [v for v in ordered if v.verdict is verdict][:most]
    ]


def read_lags(folder: Path, wanted: set[str]) -> dict[str, "Few"]:
    """Return the leader's lag over time of each share-partition, in a few values each."""
    kept: dict[str, Few] = {}
    for path in sorted(folder.glob("part-*.parquet")):
        for name, lags, times in _lags_in(path):
            if name in wanted:
                kept.setdefault(name, Few()).add(lags, times)
    return kept


class Few:
    """Every so many values of a long series: at most twice as many as a spark line has.

    ``times`` are the first and the last, in ms, if the clock is a real one.
    """

    def __init__(self) -> None:
        """Start without any."""
        self.values: list[int] = []
        self.times: tuple[int, ...] = ()
        self._step, self._count = 1, 0

    def add(self, values: Iterable[int], times: Sequence[int]) -> None:
        """Take the next values, which were at these times."""
        known = (*self.times, min(times, default=0), max(times, default=0))
        if min(known) in _REAL_MS and max(known) in _REAL_MS:
            self.times = (min(known), max(known))
        for value in values:
            if self._count % self._step == 0:
                self.values.append(value)
            self._count += 1
            if len(self.values) >= 2 * SPARK:
                self.values = self.values[::2]
                self._step *= 2


_REAL_MS = range(10**11, 253_402_300_800_000)
"""What a real clock shows, from 1973 to the year 9999: virtual ones begin at 0."""


def _lags_in(path: Path) -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield runs of rows of one share-partition, which lie together in a file."""
    for batch in pq.ParquetFile(path).iter_batches(columns=["partition", "lag", "time_ms"]):
        encoded = batch.column("partition").dictionary_encode()
        numbers, lags = encoded.indices.to_numpy(), batch.column("lag").to_numpy()
        times = batch.column("time_ms").to_numpy()
        for number, name in enumerate(encoded.dictionary.to_pylist()):
            yield name, lags[numbers == number].tolist(), times[numbers == number].tolist()


def _fault(verdict: PartitionVerdict, label: Label) -> str:
    if divergence := verdict.divergence:
        what = f": {divergence.headline}" if divergence.headline else ""
        known = label(divergence)
        more = len(verdict.divergences) - 1
        return (
            f"{divergence.name} at seq {divergence.seq}{what}; "
            f"{f'known, {known}' if known else 'new'}{f'; {more} more' if more else ''}"
        )
    if problem := verdict.problem:
        return f"{place(problem.source, problem.line)}: {problem.message}"
    return verdict.reason
