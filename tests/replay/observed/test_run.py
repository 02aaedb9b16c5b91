import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from replay.observed.inputs import sorted_out
from replay.observed.run import judge_inputs
from replay.observed.settings import Assumed
from replay.processes import open_processes
from replay.session import SparkRunner
from replay.verdict import Verdict, weighed
from sharespec.cli import cli
from tests.replay.observed.real import KNOWN, LOG, Change, altered, judged, lines


@pytest.mark.parametrize("settings", [Assumed(), KNOWN], ids=["little known", "much known"])
def test_a_log_of_a_released_broker_conforms(settings: Assumed) -> None:
    inputs, others = sorted_out([LOG])
    result = judge_inputs(inputs, settings)
    assert not others
    assert not result.troubles
    assert not result.gaps
    assert [(one.partition, one.verdict, one.requests, one.writes) for one in result.verdicts] == [
        ("g1:orders:0", Verdict.CONFORMS, 140, 98)
    ]


def _counted_twice(data: dict[str, Any]) -> None:
    acquired = data["response"]["responses"][0]["partitions"][0]["acquiredRecords"]
    acquired[0]["deliveryCount"] += 1


def _another_state(data: dict[str, Any]) -> None:
    data["request"]["topics"][0]["partitions"][0]["stateBatches"][1]["deliveryState"] = 4


def _further_start(data: dict[str, Any]) -> None:
    data["request"]["topics"][0]["partitions"][0]["startOffset"] = 60


def _many_complete(data: dict[str, Any]) -> None:
    data["request"]["topics"][0]["partitions"][0]["deliveryCompleteCount"] = 2000


def _another_member(data: dict[str, Any]) -> None:
    data["request"] |= {"memberId": "somebody else", "shareSessionEpoch": 0}


@pytest.mark.parametrize(
    ("api", "nth", "change", "rule"),
    [
        ("SHARE_FETCH", 2, _counted_twice, "ACQUIRED"),
        ("WRITE_SHARE_GROUP_STATE", 0, _another_state, "WRITTEN_STATE"),
        ("WRITE_SHARE_GROUP_STATE", 4, _further_start, "START_STOPS_AT_UNFINISHED"),
        ("WRITE_SHARE_GROUP_STATE", 3, _many_complete, "WRITTEN_DELIVERY_COMPLETE_COUNT"),
        ("SHARE_ACKNOWLEDGE", 0, _another_member, "WRITTEN_STATE"),
    ],
    ids=["count", "state", "start", "complete", "member"],
)
def test_an_altered_log_diverges(
    tmp_path: Path, api: str, nth: int, change: Change, rule: str
) -> None:
    [verdict] = judged(tmp_path, altered(api, nth, change)).verdicts
    assert verdict.divergences[0].name == rule
    assert verdict.divergences[0].evidence


def _counted_more(data: dict[str, Any]) -> None:
    data["request"]["topics"][0]["partitions"][0]["stateBatches"][0]["deliveryCount"] += 3


def test_what_diverges_twice_is_found_twice(tmp_path: Path) -> None:
    first = altered("SHARE_FETCH", 2, _counted_twice)
    second = altered("WRITE_SHARE_GROUP_STATE", 30, _counted_more)
    text = [b if b != plain else a for a, b, plain in zip(first, second, lines(), strict=True)]
    [verdict] = judged(tmp_path, text).verdicts
    found = [(wrong.name, wrong.operation, wrong.place.line) for wrong in verdict.divergences]
    assert found == [("ACQUIRED", "acquire", 210), ("WRITTEN_STATE", "complete_write", 400)]
    assert verdict.checked == verdict.events
    [verdict] = judged(tmp_path, text, attrs.evolve(KNOWN, most_findings=1)).verdicts
    assert len(verdict.divergences) == 1
    assert verdict.events - verdict.checked > 100


def test_lines_that_are_put_together_anew_are_the_same(tmp_path: Path) -> None:
    text = altered("SHARE_FETCH", 0, lambda _: None)
    assert text != list(lines())
    [verdict] = judged(tmp_path, text).verdicts
    assert verdict.verdict is Verdict.CONFORMS


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_children_and_spark_judge_a_log_in_parts_as_one_process_does(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And name the lines of a divergence as they are in its file."""
    wrong = altered("SHARE_FETCH", 2, _counted_twice)
    paths = [tmp_path / f"kafka-request-{nth}.log" for nth in range(10)]
    for nth, path in enumerate(paths):
        path.write_text("".join(lines() if nth else wrong).replace('"g1"', f'"g{nth}"'))
    inputs, _ = sorted_out(paths)
    here = judge_inputs(inputs, KNOWN)
    monkeypatch.setattr("replay.tasks.CHUNK_BYTES", 100_000)
    with open_processes(2) as children:
        others = [judge_inputs(inputs, KNOWN, each) for each in (children, SparkRunner(spark))]
    for other in others:
        assert other.verdicts == here.verdicts
        assert other.requests == here.requests > 1000
    assert (here.count(Verdict.CONFORMS), here.gaps) == (9, ())
    (one,) = (verdict.divergence for verdict in here.verdicts if verdict.divergence)
    assert (one.place.source, one.place.line) == (str(paths[0]), 210)
    assert all(wrong[int(each.rstrip(")").rpartition(":")[2]) - 1] for each in one.evidence)


def test_half_of_the_lines_of_a_log_bear_no_verdict(tmp_path: Path) -> None:
    """Where a session goes on with a later epoch, nobody knows what came between."""
    half = tmp_path / "half.log"
    half.write_text("".join(lines()[::2]))
    inputs, _others = sorted_out([half])
    (verdict,) = judge_inputs(inputs, Assumed()).verdicts
    assert verdict.verdict is Verdict.UNKNOWN
    done = CliRunner().invoke(cli, ["replay", str(half)])
    assert done.exit_code == 2
    assert " 0 conforms   of 1 share-partition" in done.output
    judged = f"{verdict.checked} of {verdict.events} requests were judged"
    reason = f"{judged}, at least 90% must be: give the whole logs"
    assert reason in done.output
    told = CliRunner().invoke(cli, ["replay", str(half), "--json"]).stdout
    totals = json.loads(told.splitlines()[-1])
    assert (totals["unknown"], totals["conforms"]) == (1, 0)
    whole = attrs.evolve(verdict, verdict=Verdict.CONFORMS, checked=verdict.events)
    assert weighed(whole) is whole
