import pytest

from model.profile import KAFKA
from model.ranges import RecordRange
from model.states import RecordState
from operations.frames import frames
from operations.view import drawing as module
from operations.view.columns import NOTHING, Piece, applied
from operations.view.drawing import DIVERGES, LEADER, UNCHECKED, VALUES, Drawing, Kinds, as_json
from tests.replay.samples import Row, events, kafka_rows, present
from tests.replay.samples import recorded as recorded_rows


def drawn(rows: list[Row], around: int | None = None) -> Drawing:
    shown = frames(events(rows), KAFKA)
    return module.drawing_of("g:t:0", shown, around)


def known(drawing: Drawing, pieces: list[Piece]) -> dict[int, tuple[int, int, int, int]]:
    return {o: drawing.kinds[k] for first, last, k in pieces for o in range(first, last + 1)}


def recorded(row: Row, drawing: Drawing) -> dict[int, tuple[int, int, int, int]]:
    after = row["after"]
    return {
        offset: (
            RecordState[r["state"]],
            r["delivery_count"],
            NOTHING if r["member"] is None else drawing.members.index(r["member"]),
            int(r["pending"]),
        )
        for r in after["records"]
        for offset in range(r["first"], r["last"] + 1)
        if after["start_offset"] <= offset < after["end_offset"]
    }


def test_the_columns_lead_to_what_was_recorded_after_each_event() -> None:
    rows = kafka_rows("write-faults", count=60)
    drawing = drawn(rows)
    state: list[Piece] = []
    for row, (column, text) in zip(rows, drawing.detail, strict=True):
        state = applied(state, column.pieces)
        assert known(drawing, state) == recorded(row, drawing)
        assert column.start_offset == row["after"]["start_offset"]
        assert text.name == row["op"]
    assert drawing.detail[0][0].flags == LEADER


def test_a_divergence_is_marked_and_what_follows_is_not_checked() -> None:
    rows = kafka_rows(count=30)
    rows[12]["after"]["end_offset"] += 1
    drawing = drawn(rows)
    flags = [column.flags for column, _ in drawing.detail]
    assert flags == [LEADER, *[0] * 11, DIVERGES, *[UNCHECKED] * 17]
    assert drawing.focus == 12
    wrong = present(drawing.divergence)
    assert (wrong.event, wrong.rule.name) == (12, "END_OFFSET")
    assert wrong.rule.source == "KIP-932, In-flight records"
    assert int(wrong.finding.recorded) == int(wrong.finding.expected) + 1


def test_the_numbers_of_a_column_are_those_of_the_state() -> None:
    drawing = drawn(kafka_rows(count=46))
    column = drawing.detail[45][0]
    values = dict(zip(VALUES, column.values, strict=True))
    records = kafka_rows(count=46)[45]["after"]["records"]
    held = sum(r["last"] - r["first"] + 1 for r in records if r["state"] == "ACQUIRED")
    assert values["held"] == held
    assert (values["lag"], values["reported"], values["log_start"]) == (51, 51, 0)
    assert (values["median"], values["most"]) == (1, 3)


def test_without_recorded_records_nothing_is_drawn_of_them() -> None:
    [rows] = recorded_rows("kafka-4.1.2").values()
    drawing = drawn(rows[:320])
    wrong = present(drawing.divergence)
    behind = [column for column, _ in drawing.detail if column.first >= wrong.event]
    assert all(column.flags & module.UNKNOWN for column in behind)
    pieces: list[Piece] = []
    for column, _text in drawing.detail:
        pieces = applied(pieces, column.pieces)
    assert pieces == []


def test_the_events_around_one_are_kept_and_the_rest_in_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = kafka_rows(count=150)
    whole = drawn(rows)
    monkeypatch.setattr(module, "MAX_EVENTS", 40)
    monkeypatch.setattr(module, "EVENTS_AFTER", 10)
    drawing = drawn(rows, around=100)
    numbers = [column.first for column, _ in drawing.detail]
    assert numbers == list(range(71, 111))
    assert drawing.focus == 100
    before: list[Piece] = []
    for column, _text in whole.detail[:71]:
        before = applied(before, column.pieces)
    assert known(drawing, drawing.base) == known(whole, before)


def test_a_smaller_drawing_keeps_the_focus_and_the_states() -> None:
    rows = kafka_rows(count=60)
    rows[50]["after"]["end_offset"] += 1
    drawing, smaller = drawn(rows), drawn(rows)
    smaller.smaller()
    assert len(smaller.overview) == 30
    numbers = [column.first for column, _ in smaller.detail]
    assert len(numbers) == 30
    assert 50 in numbers
    state: list[Piece] = []
    for column, _text in drawing.detail[: numbers[0]]:
        state = applied(state, column.pieces)
    assert known(smaller, smaller.base) == known(drawing, state)


def test_rows_nearest_to_the_focus_come_first_and_the_whole_is_not_repeated() -> None:
    drawing = drawn(kafka_rows(count=30))
    drawing.row = lambda number: f"{number:>50}"
    shown = as_json(drawing, 1_000)
    assert sorted(shown["rows"]) == list(range(20, 30))
    assert shown["overview"] is None
    drawing.detail.pop()
    assert as_json(drawing, 0)["overview"] is not None
    assert as_json(drawing, 0)["rows"] == {}


def test_neither_kinds_nor_members_grow_without_end() -> None:
    kinds = Kinds()
    for number in range(module.MAX_KINDS + 500):
        kinds.number(RecordRange(0, 0, RecordState.ACQUIRED, number + 2, f"m{number}"))
    assert len(kinds.known) == module.MAX_KINDS + 1
    assert len(kinds.members) == module.MAX_MEMBERS + 1
    assert kinds.number(None) == NOTHING
