from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest

from replay import place
from replay.place import CHILD_BYTES, SMALL_BYTES, open_runner


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


@pytest.mark.parametrize("text", [0, SMALL_BYTES + 1])
def test_a_master_that_is_given_is_always_used(monkeypatch: pytest.MonkeyPatch, text: int) -> None:
    closed = []

    @contextmanager
    def session(master: str) -> Iterator[str]:
        yield master
        closed.append(master)

    monkeypatch.setattr("replay.session.open_session", session)
    monkeypatch.setattr("replay.session.SparkRunner", _Spark)
    with open_runner(text, "local[2]") as runner:
        assert runner.place == "Spark local[2]"
    assert closed == ["local[2]"]


def test_spark_submit_has_chosen_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setattr("replay.session.open_session", nullcontext)
    monkeypatch.setattr("replay.session.SparkRunner", _Spark)
    with open_runner(0) as runner:
        assert runner.place == "Spark local[*]"


class _Spark:
    def __init__(self, master: str) -> None:
        self.place = f"Spark {master}"
