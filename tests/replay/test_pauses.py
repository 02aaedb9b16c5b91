"""Pauses of brokers: what a file of faults says of them, and how late timers may be for it."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from model.guards import Guard
from model.trace_json import line_from_row
from replay.pauses import (
    FaultFileError,
    Pause,
    Pauses,
    excused_ms,
    pauses_of,
    read_pauses,
    with_pauses,
)
from replay.plan import Plan
from replay.tables import row_of
from replay.verdict import Recording, Verdict
from sharespec.cli import cli
from tests.replay.samples import Row, check_rows, placed, present
from tests.replay.test_real_clocks import NOW, SWEEP, rows

LATE = SWEEP + 3
"""With so many ms more the timers of the sample are too late, were their process not paused."""

SPANS = st.lists(st.integers(0, 40), max_size=6, unique=True).map(sorted)


def held_up(late: int = LATE) -> list[Row]:
    """Return the sample in which all timers are late, by so much."""
    table = rows()
    for row in table[5:]:
        row["time_ms"] += late
    return table


def written(folder: Path, table: list[Row], *faults: object) -> list[str]:
    """Write the traces of broker 2 and what was done to it; return the arguments that say so."""
    events = [row_of(placed(table), row) for row in range(len(table))]
    lines = b'{"recorder":{"broker":"2"}}\n', *map(line_from_row, events), b'{"trailer":{}}\n'
    trace, plan = folder / "trace.jsonl", folder / "faults.jsonl"
    trace.write_bytes(b"".join(lines))
    plan.write_text("".join(json.dumps(fault) + "\n" for fault in faults))
    return ["replay", str(trace), "--faults", str(plan)]


PAUSE: dict[str, object] = {"fault": "pause", "node": 2, "t": 950, "seconds": 60}
RESUME: dict[str, object] = {"fault": "resume", "node": 2, "t": 950 + LATE}


def test_timers_may_be_late_by_a_pause_of_their_broker(tmp_path: Path) -> None:
    arguments = written(tmp_path, held_up(), PAUSE, {"fault": "kill", "node": 7, "t": 1}, RESUME)
    result = CliRunner().invoke(cli, [*arguments, "--faults-clock", str(NOW)])
    assert result.exit_code == 0, result.output
    for changed, found in (({"t": 2, "seconds": 0.9}, 1), ({"seconds": 0.05}, 1), ({"t": 999}, 0)):
        arguments = written(tmp_path, held_up(), PAUSE | changed)
        result = CliRunner().invoke(cli, [*arguments, "--faults-clock", str(NOW)])
        assert result.exit_code == found, (changed, result.output)
        assert result.output.count("guard          LOCK_ENDS_ON_TIME") == found


@pytest.mark.parametrize("command", ["replay", "explain", "view"])
def test_the_line_of_a_plan_is_a_fault_too(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for node, late in ((2, 0), (2, LATE + 60_000)):
        pause = [950, "pause", {"node": node, "for_ms": 60_000}]
        _, *arguments = written(tmp_path, held_up(late or LATE), pause, [1, "kill", {"node": 7}])
        result = CliRunner().invoke(cli, [command, *arguments, "--faults-clock", str(NOW)])
        assert result.exit_code == bool(late), result.output


@pytest.mark.parametrize("against", [("impl",), ("spec", "impl")])
def test_what_a_trace_claims_of_pauses_is_not_believed(against: tuple[str, ...]) -> None:
    table = [{**row, "paused_ms": 10 * SWEEP} for row in held_up()]
    divergence = present(check_rows(table, Plan(against=against)).verdict.divergence)
    assert divergence.name == Guard.LOCK_ENDS_ON_TIME.name


def test_a_lock_that_ends_too_early_is_found_in_a_pause_too(tmp_path: Path) -> None:
    table = rows()
    table[5]["time_ms"] -= 3
    arguments = written(tmp_path, table, PAUSE | {"t": 900}, RESUME)
    result = CliRunner().invoke(cli, [*arguments, "--faults-clock", str(NOW)])
    assert "LOCK_LASTS_ITS_DURATION" in result.output


def test_the_pauses_of_other_brokers_excuse_nothing() -> None:
    pauses = Pauses({"other": ((NOW, NOW + LATE),)}, SWEEP)
    assert with_pauses(placed(rows()), pauses).column("paused_ms").null_count == len(rows())
    assert check_rows(rows(), Plan()).verdict.verdict is Verdict.CONFORMS


@given(SPANS, st.lists(st.integers(0, 60), min_size=1), st.integers(0, 9))
def test_so_much_is_excused_that_the_process_ran_no_longer_than_a_timer_may_be_late(
    bounds: list[int], times: list[int], sweep: int
) -> None:
    spans = list(zip(bounds[::2], bounds[1::2], strict=False))
    stands = [any(begin <= ms < end for begin, end in spans) for ms in range(60)]
    if not spans:
        return
    excused = excused_ms(np.array(times, np.int64), spans, sweep)
    for ms, late in zip(times, excused.tolist(), strict=True):
        ended = [e for e in range(-70, ms + 1) if _ran(stands, e, ms) <= sweep]
        assert ms - sweep - late == min(ended)


def _ran(stands: list[bool], from_ms: int, to_ms: int) -> int:
    return sum(not (ms >= 0 and stands[ms]) for ms in range(from_ms, to_ms))


def test_pauses_end_when_they_are_resumed_or_by_themselves(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    faults = (
        {"fault": "pause", "node": 1, "t": 10.4, "seconds": 1},
        {"fault": "pause", "node": "b", "t": 20},
        {"fault": "resume", "node": "b", "t": 50},
        {"fault": "resume", "node": 3, "t": 60},
        [70, "pause", {"node": 1, "for_ms": 500}],
    )
    path.write_text("\n".join(map(json.dumps, faults)))
    found = [Pause("b", 1020, 1050), Pause("1", 1010, 1070), Pause("1", 1070, 1570)]
    assert list(read_pauses(path, 1000)) == found
    recordings = {"x": Recording(headers=1, broker="1"), "y": Recording(headers=1, broker="b")}
    pauses = pauses_of(found, recordings, 5)
    assert pauses == Pauses({"x": ((1010, 1570),), "y": ((1020, 1050),)}, 5)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: no JSON object with a fault"),
        ("[]", "line 1: no JSON object with a fault"),
        ('{"fault": "pause", "node": 1}', "line 1: t is None"),
        ('{"fault": "pause", "node": 1, "t": true}', "line 1: t is True"),
        ('{"fault": "pause", "node": 1, "t": NaN}', "line 1: t is nan"),
        ('{"fault": "pause", "node": 1, "t": 1e300}', "line 1: t is 1e+300"),
        ('[1, "pause"]', "line 1: no JSON object with a fault, and no [t, fault, arguments]"),
        ('[1, "pause", {"node": 1, "for_ms": -1}]', "line 1: for_ms are -1"),
        ('[1, "pause", {"node": 1, "seconds": 1e308}]', "line 1: seconds are 1e+308"),
        ('{"fault": "pause", "t": 1}', "line 1: a pause names no node"),
        ('{"fault": "pause", "node": 1, "t": 1, "seconds": -1}', "line 1: seconds are -1"),
        ('{"fault": "pause", "node": 1, "t": 1}', "line 1: this pause of node 1 never ends"),
        ('{"fault": "pause", "node": 9, "t": 1, "seconds": 1}', "the brokers of these traces: 2"),
    ],
)
def test_a_file_of_faults_that_cannot_be_used_gets_one_line(
    line: str, message: str, tmp_path: Path
) -> None:
    arguments = written(tmp_path, rows())
    (tmp_path / "faults.jsonl").write_text(line)
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_file_of_faults_that_is_not_there_gets_one_line(tmp_path: Path) -> None:
    with pytest.raises(FaultFileError, match="cannot be read"):
        read_pauses(tmp_path / "none")
