import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from impl.cache import DISABLED
from replay import place
from replay.place import (
    CHILD_BYTES,
    INTERPRETED_BYTES,
    SMALL_BYTES,
    UNCOMPILED_BYTES,
    get_ready_for,
    open_runner,
)


@pytest.mark.parametrize(
    ("text", "processors", "ran"),
    [
        (0, 8, "in this process"),
        (2 * CHILD_BYTES - 1, 8, "in this process"),
        (2 * CHILD_BYTES, 8, "in this process and 2 children"),
        (2 * CHILD_BYTES, 1, "in this process"),
        (SMALL_BYTES, 3, "in this process and 3 children"),
        (SMALL_BYTES + 1, 1, "Spark local[*]"),
    ],
)
def test_small_inputs_stay_in_this_process_and_its_children(
    monkeypatch: pytest.MonkeyPatch, text: int, processors: int, ran: str
) -> None:
    monkeypatch.setattr(place, "processors", lambda: processors)
    monkeypatch.setattr("replay.processes.ProcessRunner._started", lambda _: None)
    monkeypatch.setattr("replay.processes.ProcessRunner.close", lambda _: None)
    monkeypatch.setattr("replay.session.open_session", nullcontext)
    monkeypatch.setattr("replay.session.SparkRunner", _Spark)
    with open_runner(text) as runner:
        assert runner.place == ran


def test_a_master_that_is_given_and_spark_submit_are_always_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = []

    @contextmanager
    def session(master: str) -> Iterator[str]:
        yield master
        closed.append(master)

    monkeypatch.setattr("replay.session.open_session", session)
    monkeypatch.setattr("replay.session.SparkRunner", _Spark)
    for text in (0, SMALL_BYTES + 1):
        with open_runner(text, "local[2]") as runner:
            assert runner.place == "Spark local[2]"
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with open_runner(0) as runner:
        assert runner.place == "Spark local[*]"
    assert closed == ["local[2]", "local[2]", "local[*]"]


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return which modules children were asked to have ready."""
    asked: list[list[str]] = []
    monkeypatch.setattr(place, "get_ready", lambda modules: asked.append(list(modules)))
    monkeypatch.setattr(place, "processors", lambda: 2)
    monkeypatch.setattr(place, "make_lean", lambda: asked.append(["hidden"]))
    monkeypatch.setattr(place, "is_compiled", lambda: False)
    monkeypatch.setenv(DISABLED, "")
    monkeypatch.delenv(DISABLED)
    return asked


def trace(path: Path, size: int) -> str:
    with path.open("wb") as file:
        file.truncate(size)
    return str(path)


@pytest.mark.parametrize(
    ("size", "is_compiled", "interpreted"),
    [
        (INTERPRETED_BYTES, True, True),
        (INTERPRETED_BYTES + 1, True, False),
        (INTERPRETED_BYTES + 1, False, True),
        (UNCOMPILED_BYTES, False, True),
        (UNCOMPILED_BYTES + 1, False, False),
    ],
)
@pytest.mark.usefixtures("prepared")
def test_what_would_take_longer_to_compile_is_interpreted(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    size: int,
    is_compiled: bool,  # noqa: FBT001 - a parameter of the test
    interpreted: bool,  # noqa: FBT001 - as above
) -> None:
    monkeypatch.setattr(place, "is_compiled", lambda: is_compiled)
    path = trace(tmp_path / "a.jsonl", size)
    get_ready_for([path], ["m"], alone=False)
    assert DISABLED not in os.environ
    get_ready_for([path], ["m"], alone=True)
    assert os.environ.get(DISABLED) == ("1" if interpreted else None)


@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize("begins", [b"\x1f\x8b", b'{"partition": "p"'])
def test_a_trace_of_any_name_is_known_by_how_it_begins(tmp_path: Path, begins: bytes) -> None:
    (tmp_path / "k.gz").write_bytes(begins)
    get_ready_for([str(tmp_path / "k.gz")], ["m"], alone=True)
    assert os.environ.get(DISABLED) == "1"


@pytest.mark.usefixtures("prepared")
def test_who_has_chosen_what_is_compiled_keeps_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(DISABLED, "0")
    get_ready_for([trace(tmp_path / "a.jsonl", 1)], ["m"], alone=True)
    assert os.environ[DISABLED] == "0"


def test_children_get_ready_that_will_be_needed(tmp_path: Path, prepared: list[list[str]]) -> None:
    for name, size in (("a.jsonl", CHILD_BYTES), ("b.jsonl", CHILD_BYTES), ("c.jsonl", 1)):
        trace(tmp_path / name, size)
    trace(tmp_path / "README.md", SMALL_BYTES)
    one = str(tmp_path / "a.jsonl")
    get_ready_for([one], ["m"], alone=True)
    assert prepared == []
    get_ready_for([str(tmp_path)], ["m"], alone=True)
    get_ready_for([one, str(tmp_path / "b.jsonl")], ["m"], alone=True)
    assert prepared == [["m"], ["m"]]


@pytest.mark.parametrize("name", ["broker.log", "large.jsonl", "nowhere.jsonl", "hdfs://h/a.jsonl"])
def test_nothing_gets_ready_for_what_is_no_small_trace(
    tmp_path: Path, prepared: list[list[str]], name: str
) -> None:
    trace(tmp_path / "broker.log", 2 * CHILD_BYTES)
    trace(tmp_path / "large.jsonl", SMALL_BYTES + 1)
    get_ready_for([name if ":" in name else str(tmp_path / name)], ["m"], alone=True)
    assert (prepared, DISABLED in os.environ) == ([], False)


def test_a_folder_of_very_many_files_is_not_looked_through_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prepared: list[list[str]]
) -> None:
    for nth in range(3):
        trace(tmp_path / f"{nth}.jsonl", CHILD_BYTES)
    monkeypatch.setattr(place, "_MOST_FILES", 3)
    get_ready_for([str(tmp_path)], ["m"], alone=True)
    assert (prepared, DISABLED in os.environ) == ([], False)
    monkeypatch.setattr(place, "_MOST_FILES", 4)
    get_ready_for([str(tmp_path)], ["m"], alone=True)
    assert prepared == [["m"]]


def test_what_nothing_uses_is_hidden_from_a_process_that_is_alone(
    prepared: list[list[str]],
) -> None:
    with open_runner(0):
        assert prepared == []
    with open_runner(0, alone=True):
        assert prepared == [["hidden"]]


class _Spark:
    def __init__(self, master: str) -> None:
        self.place = f"Spark {master}"
