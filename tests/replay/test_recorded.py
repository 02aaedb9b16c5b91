"""Recordings of released brokers: what conforms, what diverges and why, and what is found."""

import copy
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from judge.engine import SpecEngine
from judge.follower import Follower
from judge.words import MAX_TEXT
from model.guards import Difference, Guard
from model.outcome import Outcome
from model.profile import KAFKA
from model.trace_codec import row_from_event
from replay.plan import Plan
from replay.verdict import PartitionVerdict, Verdict
from tests.checkpoints import checkpoint_of
from tests.replay.samples import Row, check_rows, events, kafka_rows, places, present, recorded

QUICK = "kafka-4.4.0"


def judged(rows: list[Row], *against: str) -> PartitionVerdict:
    verdict = check_rows(rows, Plan(against=against or ("spec", "impl"))).verdict
    assert verdict.problem is None
    assert verdict.divergence or verdict.verdict is Verdict.CONFORMS
    return verdict


def found_in(rows: list[Row], *against: str) -> list[tuple[int, str]]:
    return places(judged(rows, *against))


def _copied(rows: list[Row]) -> list[Row]:
    return [
        {**row, "writes": [dict(w) for w in row["writes"]], "after": dict(row["after"])}
        for row in rows
    ]


def test_a_recording_of_4_4_conforms_whole_with_the_state_after_each_event() -> None:
    (rows,) = recorded(QUICK).values()
    assert found_in(rows) == []
    assert sum(row["op"] == "expire" for row in rows) == 17
    assert all(row["after"].get("records") is not None for row in rows if row["op"] != "expire")


def test_4_1_gives_an_attempt_back_where_a_member_leaves() -> None:
    (rows,) = recorded("kafka-4.1.2").values()
    divergence = present(judged(rows).divergence)
    assert (divergence.seq, divergence.name) == (286, Difference.WRITTEN_STATE.name)
    assert rows[286]["op"] == "release"
    assert (divergence.recorded, divergence.expected) == (
        "offset 918 AVAILABLE(4)",
        "offset 918 ARCHIVED(5)",
    )


@pytest.mark.slow
def test_numbers_of_a_write_that_are_read_later_are_those_of_that_moment() -> None:
    moments = 0
    for rows in map(_copied, recorded("kafka-4.4.0-dead-letters").values()):
        for row in rows:
            for write in row["writes"]:
                moments += write.get("made_after", row["seq"]) > row["seq"]
                write.pop("made_after", None)
        divergence = present(judged(rows, "impl").divergence)
        assert divergence.name == Difference.WRITTEN_DELIVERY_COMPLETE_COUNT.name
    assert moments == 27


def _late(row: Row) -> bool:
    return any(write.get("made_after", row["seq"]) > row["seq"] for write in row["writes"])


SPOILED: tuple[tuple[Callable[[Row], bool], Callable[[Row], object], str, int], ...] = (
    (
        lambda r: r["op"] == "expire",
        lambda r: r.update(time_ms=r["time_ms"] - 1),
        Guard.LOCK_LASTS_ITS_DURATION.name,
        0,
    ),
    (
        _late,
        lambda r: r["writes"][0].update(start_offset=r["writes"][0]["start_offset"] + 1),
        Difference.WRITTEN_START_OFFSET.name,
        1,
    ),
    (
        _late,
        lambda r: r["writes"][0].update(delivery_complete_count=0),
        Difference.WRITTEN_DELIVERY_COMPLETE_COUNT.name,
        1,
    ),
    (
        _late,
        lambda r: r["writes"][0].update(made_after=r["seq"] + 2),
        Guard.WRITE_IS_OUTSTANDING.name,
        2,
    ),
)


def test_a_divergence_says_when_if_the_clock_is_a_real_one() -> None:
    (rows,) = recorded(QUICK).values()
    rows = _copied(rows)
    rows[40]["after"]["end_offset"] += 1
    divergence = present(judged(rows).divergence)
    assert divergence.time_ms == rows[divergence.seq]["time_ms"]
    assert divergence.time == "1970-01-01T00:00:01.058Z"
    virtual = kafka_rows()
    virtual[30]["after"]["end_offset"] += 1
    other = present(judged(virtual).divergence)
    assert (other.time_ms, other.time) == (None, "")


@pytest.mark.parametrize(("where", "spoil", "name", "after"), SPOILED, ids=range(len(SPOILED)))
def test_what_is_spoiled_in_a_recording_is_found(
    where: Callable[[Row], bool], spoil: Callable[[Row], object], name: str, after: int
) -> None:
    (rows,) = recorded(QUICK).values()
    rows = _copied(rows)
    row = next(row for row in rows if where(row))
    spoil(row)
    assert found_in(rows) == [(row["seq"] + after, name)]


CHECKPOINT = 3
"""The seq at which the agent told the whole state of a leader: three locks are held."""


def _of_the_agent() -> list[Row]:
    """Return a copy of rows of a leader of which the agent tells the whole state early."""
    (rows,) = recorded("agent-4.4.0-seven-members").values()
    assert rows[CHECKPOINT]["op"] == "checkpoint"
    assert len(rows[CHECKPOINT]["deadlines"]) == 3
    return copy.deepcopy(rows[:100])


def test_a_recording_may_begin_with_a_checkpoint() -> None:
    rows = _of_the_agent()[CHECKPOINT:]
    assert found_in(rows) == []
    rows[0]["after"]["end_offset"] += 5
    assert found_in(rows[:1]) == [], "a window that ends after its last record is taken over"


def test_a_gap_in_a_recording_hides_what_happened_in_it_and_nothing_else() -> None:
    rows = _of_the_agent()
    rows[CHECKPOINT - 1].update(op="gap", lost=29)
    assert found_in(rows) == []
    rows[60]["after"]["end_offset"] += 1
    assert found_in(rows) == [(60, Difference.END_OFFSET.name)]


@pytest.mark.parametrize(
    ("path", "by", "kind"),
    [
        (("records", 0, "delivery_count"), 1, Difference.RECORDS.name),
        (("records", 0, "member"), "another", Difference.RECORDS.name),
        (("start_offset",), 1, Guard.START_STOPS_AT_UNFINISHED.name),
        (("delivery_complete_count",), 1, Difference.DELIVERY_COMPLETE_COUNT.name),
    ],
)
def test_a_checkpoint_with_one_field_altered_is_found(
    path: tuple[str | int, ...], by: int | str, kind: str
) -> None:
    rows = _of_the_agent()[: CHECKPOINT + 1]
    *above, last = path
    place: Any = rows[CHECKPOINT]["after"]
    for step in above:
        place = place[step]
    place[last] += by
    assert found_in(rows) == [(CHECKPOINT, kind)]


@pytest.mark.parametrize(
    "result",
    [
        {"status": "UNKNOWN_SERVER_ERROR", "exception": "IllegalStateException: no"},
        {"status": "IllegalStateException: no"},
        {"status": "IllegalStateException", "exception": "no"},
    ],
    ids=["beside the status", "as the status", "the name as the status"],
)
def test_an_exception_diverges_with_its_text(result: Row) -> None:
    (rows,) = recorded(QUICK).values()
    rows = _copied(rows)
    row = next(row for row in rows if row["op"] == "acquire")
    row["result"] = result
    divergence = present(judged(rows).divergence)
    assert (divergence.seq, divergence.name) == (row["seq"], Difference.EXCEPTION.name)
    assert divergence.recorded == "UNKNOWN_SERVER_ERROR: IllegalStateException: no"
    row["result"] = {**result, "exception": "no" * 100_000}
    divergence = present(judged(rows).divergence)
    assert len(divergence.recorded) == MAX_TEXT


def test_what_the_agent_recorded_of_seven_members_conforms() -> None:
    (rows,) = recorded("agent-4.4.0-seven-members").values()
    assert sum(row["op"] == "acquire" for row in rows) == 91
    assert found_in(rows) == []


def test_an_answer_to_a_write_throws_after_records_were_deleted() -> None:
    (rows,) = recorded("agent-4.4.0-records-deleted").values()
    divergence = present(judged(rows).divergence)
    assert (divergence.seq, divergence.name) == (36, Difference.EXCEPTION.name)
    assert "hasOngoingStateTransition" in divergence.recorded


CALL, RESUMED, ANSWER, LATER = 9, 11, 13, 121
"""The seq of an acknowledgement, of a checkpoint in the place of an event before its answer, of
that answer, and of one to a write that is made later."""


def _resumed(*, told: bool = False) -> list[Row]:
    """Return the rows with a gap and a checkpoint; only if ``told`` it has its writes' calls."""
    (rows,) = recorded(QUICK).values()
    rows = copy.deepcopy(rows)
    engine = SpecEngine(KAFKA)
    follower, last = Follower("spec", engine), events(rows)[RESUMED]
    assert [follower.step(event) for event in events(rows)[: RESUMED + 1]] == [None] * 12
    checkpoint = checkpoint_of(engine.partition)
    assert [write.seq for write in checkpoint.outstanding] == [CALL, CALL + 1]
    if not told:
        writes = tuple(attrs.evolve(each, seq=None) for each in checkpoint.outstanding)
        checkpoint = attrs.evolve(checkpoint, outstanding=writes)
    state = checkpoint.state
    event = attrs.evolve(last, operation=checkpoint, outcome=Outcome(), after=state)
    rows[RESUMED - 1].update(op="gap", lost=1, writes=[], completed=[])
    rows[RESUMED] = row_from_event(event)
    return rows


def test_an_answer_completes_a_call_from_before_the_checkpoint_that_told_its_write() -> None:
    for rows in _resumed(told=True), _resumed():
        assert rows[ANSWER]["completed"] == [{"seq": CALL, "status": "NONE"}]
        assert found_in(rows) == []
        assert found_in(rows, "impl") == []


@pytest.mark.parametrize("completed", [[], [CALL - 1], [CALL, CALL]], ids=str)
def test_which_call_an_answer_completes_is_believed_where_no_checkpoint_told_it(
    completed: list[int],
) -> None:
    for told in False, True:
        rows = _resumed(told=told)
        rows[ANSWER]["completed"] = [{"seq": c, "status": "NONE"} for c in completed]
        wrong = told and set(completed) != {CALL}
        assert found_in(rows) == ([(ANSWER, Difference.COMPLETED.name)] if wrong else [])


@pytest.mark.parametrize(
    ("at", "completed"),
    [
        (ANSWER, [(RESUMED, "NONE")]),
        (ANSWER, [(RESUMED + 1, "NONE")]),
        (ANSWER, [(CALL, "FENCED_STATE_EPOCH")]),
        (ANSWER, [(CALL, "NONE"), (CALL - 1, "NONE")]),
        (LATER, []),
        (LATER, [(CALL, "NONE")]),
    ],
    ids=["the checkpoint", "one seen", "another status", "two", "none of one seen", "another"],
)
def test_an_answer_behind_a_checkpoint_completes_no_other_call(
    at: int, completed: list[tuple[int, str]]
) -> None:
    rows = _resumed()
    row = rows[at]
    row["completed"] = [{"seq": seq, "status": status} for seq, status in completed]
    for engines in (), ("impl",):
        assert found_in(rows, *engines) == [(at, Difference.COMPLETED.name)]
