"""What a batch leaves: whole or not, and refused where it was altered."""

import json
from pathlib import Path

import attrs
import pytest

from model.profile import KAFKA, KIP
from replay.judged import Counts, Waiting
from replay.state_file import StateError, read_states, write_states
from replay.stream_file import (
    Left,
    Summary,
    file_name,
    read_stream,
    spark_id,
    write_alarms,
    write_stream,
)
from replay.verdict import Problem
from tests.replay.samples import kafka_rows
from tests.replay.streams import arrived
from tests.replay.test_state_file import DIVERGENCE, STATES

LEFT = Left(
    "0123456789",
    {each.partition: each for each in STATES},
    {"a": Waiting(2), "b": Waiting(0, "seq 5 is missing: the next is 7")},
    arrived(kafka_rows(count=5)),
    Summary(7, Counts(1, 2, 3, 4, 5, 6), 3, 1, 2, 5, 0.5, 1.5),
    Counts(10, 20, 30, 40, 50, 60),
    4,
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    written = write_stream(tmp_path, KAFKA, LEFT)
    assert written.held_file == "held-01234567-00000007.arrow"
    assert read_stream(tmp_path, KAFKA) == written
    assert read_stream(tmp_path / "new", KAFKA) == Left()


def test_a_replay_goes_on_from_the_states_of_a_stream_and_a_stream_from_those_of_a_replay(
    tmp_path: Path,
) -> None:
    write_stream(tmp_path, KAFKA, LEFT)
    assert read_states(tmp_path, KAFKA) == LEFT.carried
    write_states(tmp_path, KAFKA, STATES)
    assert read_stream(tmp_path, KAFKA) == Left(carried=LEFT.carried)


def test_the_events_of_the_batch_before_wait_until_the_states_name_those_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_stream(tmp_path, KAFKA, LEFT)
    second = attrs.evolve(LEFT, held=LEFT.held.slice(3), last=attrs.evolve(LEFT.last, batch=8))
    with monkeypatch.context() as patch:
        patch.setattr("replay.stream_file.write_states", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            write_stream(tmp_path, KAFKA, second)
    assert read_stream(tmp_path, KAFKA) == first
    assert read_stream(tmp_path, KAFKA) != write_stream(tmp_path, KAFKA, second)
    assert [path.name for path in tmp_path.glob("held-*")] == ["held-01234567-00000008.arrow"]
    write_stream(tmp_path, KAFKA, attrs.evolve(second, held=LEFT.held.slice(0, 0)))
    assert list(tmp_path.glob("held-*")) == []


def test_what_is_altered_or_of_other_rules_is_refused_with_one_line(tmp_path: Path) -> None:
    name = write_stream(tmp_path, KAFKA, LEFT).held_file
    with pytest.raises(StateError, match="is of other rules"):
        read_stream(tmp_path, KIP)
    waits = tmp_path / name
    whole = waits.read_bytes()
    waits.write_bytes(whole[:-1] + b"x")
    with pytest.raises(StateError, match=r"states.txt was altered: \S+ has not its digest$"):
        read_stream(tmp_path, KAFKA)
    waits.unlink()
    with pytest.raises(StateError, match="was altered: "):
        read_stream(tmp_path, KAFKA)
    waits.write_bytes(whole)
    states = tmp_path / "states.txt"
    states.write_bytes(states.read_bytes().replace(b'"checked": 10', b'"checked": 11'))
    with pytest.raises(StateError, match="it has not the digest of its lines"):
        read_stream(tmp_path, KAFKA)


@pytest.mark.parametrize(
    "stream", [{"stream": "s"}, {"last": 3}, {"last": {"counts": {"no": 1}}}, {"held_file": "../x"}]
)
def test_what_no_stream_writes_is_refused(tmp_path: Path, stream: dict[str, object]) -> None:
    whole = {
        "stream": "s",
        "waiting": {},
        "held_file": "",
        "held_digest": "",
        "alarms": 0,
        "last": attrs.asdict(LEFT.last),
        "total": attrs.asdict(LEFT.total),
    }
    write_states(tmp_path, KAFKA, STATES, whole)
    assert read_stream(tmp_path, KAFKA).stream == "s"
    write_states(tmp_path, KAFKA, STATES, stream if "stream" in stream else whole | stream)
    with pytest.raises(StateError, match="was altered: "):
        read_stream(tmp_path, KAFKA)


def test_alarms_are_written_over_those_of_an_attempt_that_was_cut_off(tmp_path: Path) -> None:
    problem = Problem("f", None, "it is cut")
    name = file_name("0123456789", 7)
    write_alarms(tmp_path, name, 7, [DIVERGENCE, DIVERGENCE], [problem])
    write_alarms(tmp_path, name, 7, [DIVERGENCE], [])
    (path,) = tmp_path.iterdir()
    assert path.name == "alarms-01234567-00000007.jsonl"
    (row,) = map(json.loads, path.read_text().splitlines())
    assert (row["batch"], row["partition"], row["seq"], row["kind"]) == (7, "b", 3, "guard")


def test_spark_names_a_stream(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="spark is no folder of a stream"):
        spark_id(tmp_path)
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / "metadata").write_text('{"id": "x"}')
    assert spark_id(tmp_path) == "x"
