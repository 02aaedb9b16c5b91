"""What a released broker does is recorded whole."""

from collections.abc import Iterator

import pytest

from tests.recorder.account import Trace, numbers_that_differ, problems, read
from tests.recorder.released import Broker, broker

pytestmark = [
    pytest.mark.slow,
    pytest.mark.broker,
    pytest.mark.xdist_group("recording"),  # one broker is recorded for all
]

OPS = {
    *("initialize", "acquire", "acknowledge", "release", "expire", "complete_write"),
    *("advance_log_start", "alter_config", "checkpoint"),
}
_SOON = 60
"""Rows: of 10 and what may be half done then."""
WORDS = "produce,produce,accept,mixed,mixed,renew,stall,limit,delete,alter"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Trace]]:
    """A run with members of all kinds, record deletion and altered settings."""
    with broker(tmp_path_factory.mktemp("kafka"), "records=1,checkpoint=200") as running:
        running.work_until(lambda: not missing(read(running.trace)), WORDS, 6)
        yield running, running.recorded()


def test_every_event_is_accounted_for(recorded: tuple[Broker, Trace]) -> None:
    trace = recorded[1]
    assert problems(trace) == []
    assert [trailer["dropped"] for trailer in trace.trailers] == [0]


def test_the_run_had_all_that_it_was_made_for(recorded: tuple[Broker, Trace]) -> None:
    assert missing(recorded[1]) == set()


def missing(trace: Trace) -> set[str]:
    """Return the operations that the run is made for and that did not happen."""
    return {op for op in OPS if not trace.count(op)}


def test_a_write_has_the_numbers_of_the_row_that_it_names(recorded: tuple[Broker, Trace]) -> None:
    assert numbers_that_differ(recorded[1]) == []


def test_no_lock_ends_before_it_is_due(recorded: tuple[Broker, Trace]) -> None:
    rows = [row for row in recorded[1].rows if row["op"] == "expire"]
    assert [row for row in rows if row["time_ms"] < row["due_ms"]] == []


def test_a_checkpoint_follows_soon_where_records_were_deleted(
    recorded: tuple[Broker, Trace],
) -> None:
    for rows in recorded[1].instances.values():
        ops = [row["op"] for row in rows]
        for at in (at for at, op in enumerate(ops) if op == "advance_log_start"):
            soon = ops[at + 1 : at + 1 + _SOON]
            assert {"checkpoint", "advance_log_start"} & {*soon} or len(soon) < _SOON


def test_each_file_says_what_recorded_it(recorded: tuple[Broker, Trace]) -> None:
    header = recorded[1].headers[0]
    assert (header["kafka"][:2], header["broker"]) == ("4.", "1")
    assert any(hook.startswith("lambda$maybeInitialize$") for hook in header["hooks"])


def test_the_log_has_one_line_on_it(recorded: tuple[Broker, Trace]) -> None:
    assert len(recorded[0].said) == 1
