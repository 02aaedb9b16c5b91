"""A dump of the state topic, joined to a request log on the command line."""

import gzip
import json
from pathlib import Path

import pytest

from model.checks import MAX_RANGE
from tests.replay.observed.real import DUMP, LOG
from tests.sharespec.running import runner

run = runner("replay")


def written(folder: Path, text: str) -> Path:
    path = folder / "state-topic.txt"
    path.write_text(text)
    return path


def test_a_dump_is_joined_to_a_log() -> None:
    done = run(LOG, "--state-topic", DUMP, "--json")
    assert done.exit_code == 0
    totals = json.loads(done.stdout.splitlines()[-1])
    assert (totals["conforms"], totals["durable"]) == (1, 98)
    assert json.loads(run(LOG, "--json").stdout.splitlines()[-1])["durable"] == 0
    assert "98 writes have their record" in run(LOG, "--state-topic", DUMP).output


def test_a_dump_that_differs_from_the_log_exits_with_1(tmp_path: Path) -> None:
    text = gzip.decompress(DUMP.read_bytes()).decode()
    other = text.replace('"deliveryCompleteCount":75', '"deliveryCompleteCount":74', 1)
    assert other != text
    done = run(LOG, "--state-topic", written(tmp_path, other))
    assert done.exit_code == 1
    assert "RECORD_IS_THE_WRITE: a record of the state topic has the numbers" in done.output


LARGE = json.dumps(
    {
        "key": {"type": 1, "data": {"groupId": "g", "topicId": "A" * 22, "partition": 0}},
        "value": {
            "version": 0,
            "data": {
                "snapshotEpoch": 0,
                "leaderEpoch": 0,
                "startOffset": 0,
                "deliveryCompleteCount": 0,
                "stateBatches": [
                    {
                        "firstOffset": first,
                        "lastOffset": first + MAX_RANGE - 1,
                        "deliveryState": 2,
                        "deliveryCount": 1,
                    }
                    for first in (0, MAX_RANGE)
                ],
            },
        },
    },
    separators=(",", ":"),
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no record of __share_group_state was found"),
        ("nothing of the kind", "no record of __share_group_state was found"),
        ('{"key":{"type":1}}', "at byte 0: "),
        (LARGE, "more than 1048576 offsets have a state"),
    ],
    ids=["empty", "text", "cut", "large"],
)
def test_a_bad_dump_is_one_line_and_exits_with_2(tmp_path: Path, text: str, message: str) -> None:
    done = run(LOG, "--state-topic", written(tmp_path, text))
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"sharespec: {tmp_path}")
    assert message in line


def test_a_dump_that_is_missing_or_alone_exits_with_2(tmp_path: Path) -> None:
    assert run(LOG, "--state-topic", tmp_path / "nowhere").exit_code == 2
    done = run(DUMP.parents[1] / "draft.jsonl", "--state-topic", DUMP)
    assert done.exit_code == 2
    assert "there is none" in done.stderr
