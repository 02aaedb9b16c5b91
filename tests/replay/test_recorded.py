"""Recordings of released brokers: what conforms, what diverges and why, and what is found."""

import copy
from collections.abc import Callable

import attrs
import pytest

from judge.engine import SpecEngine
from judge.follower import Follower
from judge.words import MAX_TEXT
from model.guards import Difference, Guard
from model.outcome import Outcome
from model.profile import KAFKA
from model.trace import TraceEvent
from model.trace_codec import event_from_row, row_from_event
from replay.plan import Plan
from replay.verdict import PartitionVerdict, Verdict
from tests.checkpoints import checkpoint_of
from tests.replay.samples import Row, check_rows, kafka_rows, places, present, recorded

QUICK = "kafka-4.4.0"
CONFORM = ("kafka-4.3.1-renewals", "kafka-4.4.0-dead-letters")


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


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFORM)
def test_recordings_of_other_runs_conform_whole(name: str) -> None:
    assert [found_in(rows) for rows in recorded(name).values()] == [[], []]


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


def _told(rows: list[Row], place: int) -> list[Row]:
    """Return the rows with a checkpoint in place of one, of the state before it."""
    engine = SpecEngine(KAFKA)
    follower = Follower("spec", engine)
    for each in rows[:place]:
        assert follower.step(event_from_row(each)) is None
    operation = attrs.evolve(checkpoint_of(engine.partition), time_ms=rows[place - 1]["time_ms"])
    event = TraceEvent(
        rows[0]["partition"], place, operation.time_ms, operation, Outcome(), operation.state
    )
    return [*rows[:place], row_from_event(event), *rows[place:]]


def _numbered(rows: list[Row], first: int, by: int) -> list[Row]:
    """Return rows of which those from ``first`` on have moved by so many places."""
    moved = _copied(rows)

    def place(seq: int) -> int:
        return seq + by if seq >= first else seq

    for number, row in enumerate(moved):
        row["seq"] = number
        row["completed"] = [{**each, "seq": place(each["seq"])} for each in row["completed"]]
        for write in row["writes"]:
            if write.get("made_after") is not None:
                write["made_after"] = place(write["made_after"])
        for write in row.get("outstanding") or ():
            write["seq"] = None if write["seq"] is None else place(write["seq"])
    return moved


PLACE = 150


def _with_checkpoint() -> list[Row]:
    (rows,) = recorded(QUICK).values()
    return _numbered(_told(rows, PLACE), PLACE, 1)


def test_a_checkpoint_in_the_middle_of_a_recording_is_compared() -> None:
    rows = _with_checkpoint()
    assert rows[PLACE]["op"] == "checkpoint"
    assert found_in(rows) == []


def _from_the_middle() -> list[Row]:
    """Return a recording that begins with a checkpoint."""
    rows = _with_checkpoint()[PLACE:]
    for row in rows:
        row["completed"] = [each for each in row["completed"] if each["seq"] >= PLACE]
    told = [
        {**row, "outstanding": [{**w, "seq": None} for w in row.get("outstanding") or ()]}
        if row["op"] == "checkpoint"
        else row
        for row in rows
    ]
    return _numbered(told, PLACE, -PLACE)


def test_a_recording_that_begins_in_the_middle_conforms() -> None:
    rows = _from_the_middle()
    assert rows[0]["deadlines"]
    assert found_in(rows) == []


def test_a_window_that_ends_after_its_last_record_is_taken_over() -> None:
    told, *_rest = _from_the_middle()
    told["after"]["end_offset"] += 5
    assert found_in([told]) == []


def test_a_gap_in_a_recording_hides_what_happened_in_it_and_nothing_else() -> None:
    rows = _with_checkpoint()
    gap = {
        **{name: rows[0][name] for name in ("partition", "completed", "writes", "result")},
        "op": "gap",
        "lost": 29,
        "seq": PLACE - 30,
        "time_ms": rows[PLACE - 30]["time_ms"],
        "after": rows[0]["after"],
    }
    lossy = [*rows[: PLACE - 30], gap, *rows[PLACE:]]
    lossy = _numbered(lossy, PLACE, -29)
    assert found_in(lossy) == []
    later = next(row for row in lossy[PLACE - 28 :] if row["op"] == "expire")
    later["time_ms"] -= 1
    later["due_ms"] = None
    assert found_in(lossy) == [(later["seq"], Guard.LOCK_LASTS_ITS_DURATION.name)]


def _spoil_checkpoint(name: str, row: Row) -> None:
    records = row["after"]["records"]
    match name:
        case "record":
            records[0]["delivery_count"] += 1
        case "owner":
            next(r for r in records if r["member"])["member"] = "another"
        case "start":
            row["after"]["start_offset"] += 1
        case "count":
            row["after"]["delivery_complete_count"] += 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("record", Difference.RECORDS.name),
        ("owner", Difference.RECORDS.name),
        ("start", Guard.START_STOPS_AT_UNFINISHED.name),
        ("count", Difference.DELIVERY_COMPLETE_COUNT.name),
    ],
)
def test_a_checkpoint_with_one_field_altered_is_found(name: str, kind: str) -> None:
    rows = copy.deepcopy(_with_checkpoint())
    _spoil_checkpoint(name, rows[PLACE])
    assert found_in(rows) == [(PLACE, kind)]


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
