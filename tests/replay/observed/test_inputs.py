"""What is wrong with a log is named and counted, never fatal, and nothing else is lost."""

import gzip
import json
import os
from pathlib import Path

import pytest

from replay.observed.inputs import sorted_out
from replay.observed.observation import ListedBroker
from replay.observed.run import judge_inputs, read_all
from replay.request_log.scan import MOST_PROBLEMS
from replay.verdict import Verdict
from tests.replay.observed.real import KNOWN, LOG, judged, lines


def test_logs_are_recognised_by_content_rotated_and_compressed(tmp_path: Path) -> None:
    text = lines()
    (tmp_path / "kafka-request.log.2026-11-22-02").write_text("".join(text[:300]))
    (tmp_path / "kafka-request.log.1.gz").write_bytes(
        gzip.compress("".join(text[300:500]).encode())
    )
    (tmp_path / "kafka-request.log").write_text("".join(text[500:]))
    (tmp_path / "server.log").write_text("[2026-11-22 02:20:47,623] INFO something else\n" * 60)
    inputs, others = sorted_out([tmp_path])
    assert sorted(Path(one.path).name for one in inputs) == [
        "kafka-request.log",
        "kafka-request.log.1.gz",
        "kafka-request.log.2026-11-22-02",
    ]
    assert not others
    result = judge_inputs(inputs, KNOWN)
    assert [one.verdict for one in result.verdicts] == [Verdict.CONFORMS]
    assert not result.gaps
    assert result.requests == 652


def test_what_is_no_request_log_is_left_to_others(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"partition":"g:t:0","seq":0}\n')
    assert sorted_out([trace, tmp_path / "absent"]) == ([], [trace, tmp_path / "absent"])
    assert sorted_out([tmp_path]) == ([], [tmp_path])


def test_a_log_whose_name_is_not_utf_8_is_left_to_who_reports_it(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff.log"))
    for path in (odd, tmp_path / "kafka-request.log"):
        path.write_text("".join(lines()[:20]))
    inputs, others = sorted_out([tmp_path])
    assert [Path(one.path).name for one in inputs] == ["kafka-request.log"]
    assert others == [odd]


def test_a_cut_line_is_named_and_its_time_is_not_judged(tmp_path: Path) -> None:
    text = list(lines())
    nth = next(n for n, line in enumerate(text) if '"SHARE_ACKNOWLEDGE"' in line)
    text[nth] = text[nth][:700] + "\n"
    result = judged(tmp_path, text)
    assert result.unusable == 1
    assert [(trouble.line, trouble.message) for trouble in result.troubles] == [
        (nth + 1, "the request is cut or is not JSON")
    ]
    [verdict] = result.verdicts
    assert verdict.verdict is not Verdict.DIVERGES
    assert verdict.checked < verdict.events
    assert result.gaps


def test_a_file_that_ends_in_a_line_is_read_up_to_it(tmp_path: Path) -> None:
    text = lines()
    nth = max(n for n, line in enumerate(text) if '"WRITE_SHARE_GROUP_STATE"' in line)
    result = judged(tmp_path, [*text[:nth], text[nth][:500]])
    [verdict] = result.verdicts
    assert result.unusable == 1
    assert verdict.verdict is not Verdict.DIVERGES
    assert verdict.requests


def test_a_missing_line_is_noticed_by_the_session_epochs(tmp_path: Path) -> None:
    text = list(lines())
    nth = next(
        n for n, line in enumerate(text) if '"shareSessionEpoch":5' in line and "FETCH" in line
    )
    del text[nth]
    result = judged(tmp_path, text)
    assert any("goes on with epoch 6 after 4" in gap.reason for gap in result.gaps)
    assert [one.verdict for one in result.verdicts] != [Verdict.DIVERGES]


def test_a_missing_file_is_noticed_by_the_quiet(tmp_path: Path) -> None:
    text = lines()
    later = [line.replace("02:21:", "03:21:") for line in text]
    result = judged(tmp_path, later)
    assert any("no line for" in gap.reason for gap in result.gaps)
    assert [one.verdict for one in result.verdicts] != [Verdict.DIVERGES]


def test_lines_that_have_run_together_are_read_both(tmp_path: Path) -> None:
    text = list(lines())
    nth = next(n for n, line in enumerate(text) if '"WRITE_SHARE_GROUP_STATE"' in line)
    text[nth : nth + 2] = [text[nth].rstrip("\n") + text[nth + 1]]
    result = judged(tmp_path, text)
    assert result.requests == 652
    assert [one.verdict for one in result.verdicts] == [Verdict.CONFORMS]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"requestApiVersion":2', '"requestApiVersion":9', "version of SHARE_FETCH is 9"),
        ('"acquiredRecords"', '"acquired"', "not as the protocol has it"),
        ('"lastOffset":37,"deliveryCount"', '"lastOffset":9999999,"deliveryCount"', "lastOffset"),
        ('"totalTimeMs":', '"totalTimeMs":-', "not a duration"),
        ('"requestHeader"', '"header"', "requestHeader"),
    ],
)
def test_a_body_that_is_not_as_it_should_be_is_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = list(lines())
    nth = next(n for n, line in enumerate(text) if '"lastOffset":37,"deliveryCount"' in line)
    assert old in text[nth]
    text[nth] = text[nth].replace(old, new, 1)
    result = judged(tmp_path, text)
    assert result.unusable == 1
    assert message in result.troubles[0].message
    assert [one.verdict for one in result.verdicts] != [Verdict.DIVERGES]


def test_a_write_of_no_partition_is_named(tmp_path: Path) -> None:
    text = list(lines())
    nth = next(n for n, line in enumerate(text) if '"WRITE_SHARE_GROUP_STATE"' in line)
    for name in ("partitionIndex", "partition", "index"):
        text[nth] = text[nth].replace(f'"{name}":', '"where":')
    result = judged(tmp_path, text)
    assert result.unusable == 1
    assert "an object with partitionIndex, partition, index" in result.troubles[0].message


def test_a_line_of_another_kind_of_request_may_be_anything(tmp_path: Path) -> None:
    text = list(lines())
    nth = next(n for n, line in enumerate(text) if '"BROKER_HEARTBEAT"' in line)
    text[nth] = text[nth][:300] + "\n"
    result = judged(tmp_path, text)
    assert result.unusable == 0
    assert [one.verdict for one in result.verdicts] == [Verdict.CONFORMS]


def test_clocks_that_go_back_are_counted(tmp_path: Path) -> None:
    text = list(lines())
    text[10:10] = [text[400]]
    assert judged(tmp_path, text).backward == 2


def test_a_file_that_is_no_file_is_left_to_others(tmp_path: Path) -> None:
    broken = tmp_path / "kafka-request.log.gz"
    broken.write_bytes(LOG.read_bytes()[:20_000])
    inputs, _ = sorted_out([broken])
    result = judge_inputs(inputs, KNOWN)
    assert result.unusable == 1
    assert "too early" in result.troubles[0].message


def test_observations_are_judged_as_the_log_is(tmp_path: Path) -> None:
    path = tmp_path / "observed.jsonl"
    path.write_text('{"observed":"node","node":1}\n{"observed":"acquire"}\n\nnot JSON\n[]\n \n')
    inputs, _ = sorted_out([path])
    [tally], seen = read_all(inputs)
    assert (tally.unusable, seen) == (3, [])
    assert tally.facts == [ListedBroker(1)]
    assert [each.line for each in tally.troubles] == [2, 4, 5]
    path.write_text('{"observed":"node","node":1}\n' + "[]\n" * 150)
    [tally], _ = read_all(inputs)
    assert (tally.unusable, len(tally.troubles)) == (150, MOST_PROBLEMS)
    assert json.loads(path.read_text().splitlines()[0])["node"] == 1
