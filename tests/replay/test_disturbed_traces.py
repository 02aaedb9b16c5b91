"""What a busy host, its clock and a lossy collector do to a trace is no fault of the leader."""

import copy
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from model.guards import Difference, Guard
from replay.verdict import Verdict
from tests.replay.samples import TRACES, Row, kafka_rows, recorded, replayed, write_lines

TIMED = ("kafka-4.4.0", "kafka-4.3.1-renewals", "kafka-4.4.0-dead-letters", "kafka-4.1.2")
CLAIMING = ("agent-4.4.0-seven-members", "agent-4.4.0-records-deleted")
VIRTUAL = tuple(path.name.split(".")[0] for path in sorted(TRACES.iterdir()))
OWN = {
    "kafka-4.1.2": {Difference.WRITTEN_STATE.name},
    "agent-4.4.0-records-deleted": {Difference.EXCEPTION.name},
}
"""What is wrong with a recording as it is (``test_recorded``)."""


def moved(rows: list[Row], at: int, by: int) -> list[Row]:
    """Move the clock from a row on; locks that were granted before keep their ends."""
    rows, config = copy.deepcopy(rows), rows[0]["config"]
    since = _begun(rows[at], config)
    for row in rows[at:]:
        row["time_ms"] += by
        if row.get("deadline_ms") is not None:
            row["deadline_ms"] += by
        for lock in row.get("deadlines") or ():
            lock["deadline_ms"] += by if _begun(lock, config) >= since else 0
    return rows


def busy(rows: list[Row], dice: Random) -> list[Row]:
    """Let the leader pause, up to 1 s, and the recorder be late with a claim, up to 300 ms."""
    for _ in range(dice.randint(1, 8)):
        at = dice.randrange(1, len(rows))
        rows = moved(rows, at, int(10 ** dice.uniform(1, 3)))
        if rows[at].get("deadline_ms") is not None and at + 1 < len(rows):
            late = rows[at]["time_ms"] + dice.randint(0, 300)
            rows[at]["time_ms"] = min(late, _begun(rows[at + 1], rows[0]["config"]))
    return rows


def _begun(row: Row, config: Row) -> int:
    """Return when a row began, as far as it says, or a lock of it: it was granted then."""
    end = row.get("deadline_ms")
    return int(row["time_ms"] if end is None else end - config["record_lock_duration_ms"])


def stepped_back(rows: list[Row], dice: Random) -> list[Row]:
    return moved(rows, dice.randrange(1, len(rows)), -2000)


def lossy(rows: list[Row], dice: Random) -> list[Row]:
    """Lose 3 % of the rows."""
    return [row for row in rows if dice.random() >= 0.03]


KINDS: dict[str, Callable[[list[Row], Random], list[Row]]] = {
    "busy host": busy,
    "clock steps back": stepped_back,
    "lost lines": lossy,
}
CASES = [(name, kind) for name in TIMED + CLAIMING for kind in KINDS]
CASES += [(name, "lost lines") for name in VIRTUAL]


def rows_of(name: str) -> list[Row]:
    if name in VIRTUAL:
        return kafka_rows(name.removeprefix("kafka-"), count=500)
    return [row for rows in recorded(name).values() for row in rows][:500]


def wrong_in(folder: Path, rows: list[Row]) -> set[str]:
    write_lines(folder / "trace.jsonl", rows)
    replay = replayed(str(folder / "trace.jsonl"))
    assert all(bool(v.divergences) == (v.verdict is Verdict.DIVERGES) for v in replay.verdicts)
    return {wrong.name for verdict in replay.verdicts for wrong in verdict.divergences}


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 100), marks=pytest.mark.long)])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_disturbed_trace_of_apache_kafka_does_not_diverge(
    tmp_path: Path, name: str, kind: str, seeds: range
) -> None:
    for seed in seeds:
        found = wrong_in(tmp_path, KINDS[kind](rows_of(name), Random(f"{kind}:{seed}")))  # noqa: S311 - no secret
        assert found <= OWN.get(name, set()), (name, kind, seed)


def test_a_lock_that_ends_early_is_found_on_a_busy_host(tmp_path: Path) -> None:
    rows = copy.deepcopy(rows_of("kafka-4.4.0"))
    next(row for row in rows if row["op"] == "expire")["time_ms"] -= 1
    assert wrong_in(tmp_path, busy(rows, Random(1))) == {Guard.LOCK_LASTS_ITS_DURATION.name}  # noqa: S311 - no secret
