import gzip
import json
from pathlib import Path
from uuid import UUID

import attrs
import pytest

from model.ranges import StateBatch
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord
from model.states import RecordState
from sharespec.commands.state_topic import MAX_PROBLEMS
from tests.operations.test_state_topic_file import console, dump_log
from tests.sharespec.running import runner

KEY = SharePartitionKey("gs1", UUID(bytes=bytes(range(16))), 3)
BATCH = StateBatch(5, 6, RecordState.ACKNOWLEDGED, 1)
SNAPSHOT = StateRecord(KEY, ShareSnapshot(4, DurableState(5, 3, (BATCH,), 2, 7)))
UPDATE = StateRecord(KEY, ShareUpdate(4, 7, 6, 4, ()))
LOWER = StateRecord(KEY, ShareUpdate(4, 7, 5, 9, ()))
GOOD = console(SNAPSHOT) + console(UPDATE)


run = runner("state-topic")


def written(folder: Path, text: str) -> Path:
    file = folder / "topic.txt"
    file.write_text(text, "utf-8")
    return file


@pytest.mark.parametrize("form", [console, dump_log])
def test_the_state_of_each_share_partition_is_shown(tmp_path: Path, form: object) -> None:
    assert callable(form)
    result = run(written(tmp_path, form(SNAPSHOT) + form(UPDATE)))
    assert result.exit_code == 0
    assert "gs1:AAECAwQFBgcICQoLDA0ODw:3" in result.output
    assert "start 6, delivery complete count 4, 6 ACKNOWLEDGED(1)" in result.output
    assert "2 records, 1 share-partition, 0 problems" in result.output


def test_records_that_break_a_rule_are_shown_with_their_place(tmp_path: Path) -> None:
    bad = '{"key":{"type":\x1b}}'
    result = run(written(tmp_path, GOOD + bad + console(LOWER)))
    assert result.exit_code == 1
    at = len(GOOD)
    assert f"at byte {at}: not JSON in UTF-8" in result.output
    place = f"at byte {at + len(bad)}: gs1:AAECAwQFBgcICQoLDA0ODw:3: "
    assert f"{place}the start offset goes back from 6 to 5" in result.output
    assert "3 records, 1 share-partition, 2 problems" in result.output
    assert "\x1b" not in result.output


def test_json_has_one_object_to_a_line(tmp_path: Path) -> None:
    result = run(written(tmp_path, GOOD + console(LOWER)), "--json")
    assert result.exit_code == 1
    problem, state = map(json.loads, result.output.splitlines())
    assert problem["byte"] == len(GOOD)
    assert state == {
        "groupId": "gs1",
        "topicId": "AAECAwQFBgcICQoLDA0ODw",
        "partition": 3,
        "stateEpoch": 2,
        "leaderEpoch": 7,
        "snapshotEpoch": 4,
        "updates": 2,
        "startOffset": 6,
        "deliveryCompleteCount": 4,
        "stateBatches": [
            {"firstOffset": 6, "lastOffset": 6, "deliveryState": 2, "deliveryCount": 1}
        ],
    }


def test_problems_beyond_a_limit_are_only_counted(tmp_path: Path) -> None:
    result = run(written(tmp_path, GOOD + console(LOWER) * (MAX_PROBLEMS + 3)))
    assert result.output.count("goes back") == MAX_PROBLEMS
    assert "… and 3 more problems" in result.output


def test_a_file_may_be_compressed_or_the_standard_input(tmp_path: Path) -> None:
    packed = tmp_path / "topic.txt.gz"
    packed.write_bytes(gzip.compress(GOOD.encode()))
    assert run(packed).exit_code == 0
    assert run("-", input=GOOD).output == run(packed).output


def test_a_deleted_share_partition_is_not_shown(tmp_path: Path) -> None:
    result = run(written(tmp_path, GOOD + console(attrs.evolve(SNAPSHOT, value=None))))
    assert result.exit_code == 0
    assert "gs1" not in result.output
    assert "3 records, 0 share-partitions, 0 problems" in result.output


@pytest.mark.parametrize("kind", ["absent", "damaged", "empty"])
def test_a_file_without_records_exits_with_2(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "topic.gz"
    if kind == "damaged":
        file.write_bytes(gzip.compress(GOOD.encode())[:-9])
    elif kind == "empty":
        file.write_bytes(gzip.compress(b""))
    result = run(file)
    assert result.exit_code == 2
    assert "sharespec: " in result.output
    assert "Traceback" not in result.output
