from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from judge.finding import Finding, FindingKind
from operations.view.many import (
    MAX_CONFORMING,
    MAX_DIVERGING,
    chosen,
    drawings_of,
    listed_verdicts,
    read_lags,
)
from replay.plan import Plan
from replay.report import unlabelled
from replay.result_schema import LAG
from replay.verdict import PartitionVerdict, Problem, Verdict
from tests.replay.samples import kafka_rows, write_lines

NOTHING = {field.name: "" if field.type == pa.string() else 0 for field in LAG}
"""A row of lag without its values."""


def verdict(name: str, which: Verdict, problem: Problem | None = None) -> PartitionVerdict:
    return PartitionVerdict(name, which, 9, 3, "a reason", problem=problem)


def test_what_diverges_is_drawn_first_and_only_so_much() -> None:
    verdicts = [
        verdict(f"g:t:{n:02}", Verdict.DIVERGES if n % 2 else Verdict.CONFORMS) for n in range(60)
    ]
    names = chosen([*verdicts, verdict("g:t:99", Verdict.UNREADABLE)])
    assert names[:2] == ["g:t:01", "g:t:03"]
    assert len(names) == MAX_DIVERGING + MAX_CONFORMING
    assert names[-MAX_CONFORMING:] == ["g:t:00", "g:t:02", "g:t:04"]


def test_the_overview_lists_each_with_what_is_wrong() -> None:
    problem = Problem("t.jsonl", 7, "seq 3 is missing")
    listed = listed_verdicts(
        [
            verdict("a", Verdict.CONFORMS),
            verdict("b", Verdict.UNREADABLE, problem),
            verdict("c", Verdict.UNCHECKED),
        ],
        None,
        lambda _divergence: "",
    )
    assert [(each.name, each.fault) for each in listed] == [
        ("b", "t.jsonl:7: seq 3 is missing"),
        ("c", "a reason"),
        ("a", "a reason"),
    ]
    assert {each.lag for each in listed} == {()}


def lag_rows(name: str, lags: range) -> pa.Table:
    rows = [NOTHING | {"partition": name, "lag": lag} for lag in lags]
    return pa.Table.from_pylist(rows, schema=LAG)


def test_lags_are_read_in_a_few_values(tmp_path: Path) -> None:
    tables = [lag_rows("a", range(1000)), lag_rows("b", range(5)), lag_rows("c", range(5))]
    pq.write_table(pa.concat_tables(tables), tmp_path / "part-00000.parquet")
    pq.write_table(lag_rows("a", range(1000, 2000)), tmp_path / "part-00001.parquet")
    lags = read_lags(tmp_path, {"a", "b"})
    assert lags.keys() == {"a", "b"}
    assert (lags["b"].values, lags["b"].times) == ([0, 1, 2, 3, 4], ())
    assert 60 <= len(lags["a"].values) <= 120
    assert lags["a"].values == sorted(lags["a"].values)
    assert lags["a"].values[-1] > 1900


def test_times_are_those_of_a_real_clock(tmp_path: Path) -> None:
    now = 1_795_692_923_273
    rows = [NOTHING | {"partition": "a", "time_ms": time} for time in (now, now + 9, now + 5)]
    rows += [NOTHING | {"partition": name, "time_ms": 2**62} for name in "bb"]
    pq.write_table(pa.Table.from_pylist(rows, schema=LAG), tmp_path / "part-00000.parquet")
    wrong = Finding(
        7, "spec", FindingKind.DIFFERENCE, "END_OFFSET", "", "", "", "", "", time_ms=now + 5
    )
    found = attrs.evolve(
        verdict("a", Verdict.DIVERGES),
        divergence=wrong,
        more=(attrs.evolve(wrong, time_ms=None), attrs.evolve(wrong, time_ms=2**62)),
    )
    one, other = listed_verdicts([found, verdict("b", Verdict.CONFORMS)], tmp_path, unlabelled)
    assert (one.times, one.faults) == ((now, now + 9), (now + 5,))
    assert (other.times, other.faults) == ((), ())


def test_a_share_partition_that_cannot_be_drawn_is_left_out(tmp_path: Path) -> None:
    late = [{**row, "partition": "g:t:1", "seq": n} for n, row in enumerate(kafka_rows()[1:9])]
    path = write_lines(tmp_path / "t.jsonl", [*kafka_rows(count=9), *late])
    verdicts = [verdict("core:orders:0", Verdict.CONFORMS), verdict("g:t:1", Verdict.DIVERGES)]
    drawings = drawings_of([path], verdicts, Plan(), unlabelled)
    assert [drawing.name for drawing in drawings] == ["core:orders:0"]


def test_a_known_divergence_is_told_from_a_new_one() -> None:
    wrong_event = Finding(7, "spec", FindingKind.DIFFERENCE, "END_OFFSET", "", "", "", "", "")
    wrong = attrs.evolve(
        verdict("a", Verdict.DIVERGES), divergence=wrong_event, more=(wrong_event, wrong_event)
    )
    [new] = listed_verdicts([wrong], None, lambda _divergence: "")
    [known] = listed_verdicts([wrong], None, lambda divergence: f"{divergence.name}-is-late")
    assert new.fault == "END_OFFSET at seq 7; new; 2 more"
    assert known.fault == "END_OFFSET at seq 7; known, END_OFFSET-is-late; 2 more"
