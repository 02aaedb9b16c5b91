"""A simulation of several brokers in one process is recorded, run by run, on its own clock."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conformance.cluster.simulated import JudgedTraces, Simulator
from tests.recorder.account import Row, Trace, problems, read
from tests.recorder.released import recorder

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("simulated")]

START_MS = 1_700_000_000_000
SEED, OTHER = 17, 5


def brokers(folder: Path) -> dict[str, Trace]:
    """Return the trace of each broker of a run."""
    return {path.name: read(path) for path in sorted(folder.iterdir())}


def recorded(folder: Path, *seeds: int) -> Iterator[dict[str, Trace]]:
    """Run clusters in one process and yield what the recorder wrote of each."""
    recorder()
    folder.mkdir()
    with closing(Simulator(folder, lambda _folder, _paused_ms: JudgedTraces())) as simulator:
        for seed in seeds:
            yield brokers(simulator.run(seed).traces)


def rows(run: dict[str, Trace]) -> dict[str, list[Row]]:
    return {name: trace.rows for name, trace in run.items()}


def test_a_run_is_recorded_whole_and_apart_from_others(tmp_path: Path) -> None:
    for run, seed in zip(recorded(tmp_path / "one", SEED, OTHER), (SEED, OTHER), strict=True):
        for name, trace in run.items():
            assert problems(trace) == []
            assert [header["broker"] for header in trace.headers] == [name.removeprefix("broker-")]
            assert [(t["dropped"], t["faults"]) for t in trace.trailers] == [(0, 0)]
            assert {row["partition"].split(":")[0] for row in trace.rows} == {f"s{seed}"}
        times = [row["time_ms"] for trace in run.values() for row in trace.rows]
        assert START_MS < min(times) < max(times) < START_MS + 300_000


def test_a_leader_epoch_is_of_one_broker(tmp_path: Path) -> None:
    (run,) = recorded(tmp_path / "one", SEED)
    leaders = [
        {(row["partition"], row["leader_epoch"]) for row in trace.rows} for trace in run.values()
    ]
    assert len(leaders) > 1
    assert sum(map(len, leaders)) == len(set().union(*leaders))


def test_a_seed_gives_the_same_rows_whatever_ran_before_it(tmp_path: Path) -> None:
    (alone,) = recorded(tmp_path / "one", SEED)
    _before, after, again = recorded(tmp_path / "two", OTHER, SEED, SEED)
    assert rows(alone) == rows(after) == rows(again)
    assert sum(len(trace.rows) for trace in alone.values()) > 500
