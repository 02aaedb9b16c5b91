from pathlib import Path

import pytest

from judge.finding import Finding
from model.profile import KAFKA
from operations.explain import ExplainError, partition_rows
from operations.view import drawing as module
from operations.view.drawing import UNCHECKED, as_json
from operations.view.trace import Drawn, drawn_rows
from tests.judge.test_written import refusing
from tests.replay.samples import Row, kafka_rows, present, write_lines


def of(tmp_path: Path, rows: list[Row], *, large: int = 10**6, around: int | None = None) -> Drawn:
    path = write_lines(tmp_path / "t.jsonl", rows)
    return drawn_rows(partition_rows(path, None), KAFKA, around, large)


def wrong_rows() -> list[Row]:
    rows = kafka_rows(count=120)
    rows[90]["after"]["end_offset"] += 1
    return rows


def test_a_trace_is_drawn_with_its_verdict(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", wrong_rows())
    drawn = drawn_rows(partition_rows(path, None), KAFKA)
    assert (drawn.verdict, drawn.events, drawn.checked) == ("diverges", 120, 91)
    assert '"seq":7' in present(drawn.drawing.row)(7)
    assert present(drawn.drawing.divergence).known == ""


def test_what_is_known_of_a_divergence_stands_in_the_drawing(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", wrong_rows())

    def label(finding: Finding) -> str:
        assert {"initialize", "acquire"} < set(finding.operations_before)
        return f"{finding.name}-is-late"

    drawing = drawn_rows(partition_rows(path, None), KAFKA, label=label).drawing
    wrong = as_json(drawing, 0)["divergence"]
    assert (wrong["known"], wrong["seq"]) == ("END_OFFSET-is-late", 90)
    assert "finding" not in wrong


@pytest.mark.parametrize("large", [100, 3])
def test_a_leader_that_renews_nothing_where_it_refuses_is_drawn_whole(
    tmp_path: Path, large: int
) -> None:
    keeps_one, keeps_none = (
        of(tmp_path, refusing((kept, False)), large=large) for kept in (True, False)
    )
    assert (keeps_one.verdict, keeps_none.verdict) == ("diverges", "conforms")


def test_a_large_one_is_drawn_as_a_small_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = of(tmp_path, wrong_rows())
    for room in ("drawing", "trace"):
        monkeypatch.setattr(f"operations.view.{room}.MAX_EVENTS", 40)
        monkeypatch.setattr(f"operations.view.{room}.EVENTS_AFTER", 10)
    large = of(tmp_path, wrong_rows(), large=100)
    assert large.verdict == small.verdict
    assert large.checked == small.checked
    assert large.drawing.divergence == small.drawing.divergence
    begin = large.drawing.detail[0][0].first
    assert 0 < begin <= 90 <= large.drawing.detail[-1][0].last
    for (column, text), (other, same) in zip(
        large.drawing.detail, small.drawing.detail[begin:], strict=False
    ):
        assert text == same
        assert (column.first, column.flags, column.values) == (
            other.first,
            other.flags,
            other.values,
        )
    for column, other in zip(large.drawing.overview, small.drawing.overview, strict=True):
        assert (column.start_offset, column.end_offset) == (other.start_offset, other.end_offset)
        assert column.flags & UNCHECKED == other.flags & UNCHECKED
    assert large.drawing.notes[0].startswith("Drawn as it was recorded.")


def test_a_large_one_is_shown_around_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in ("drawing", "trace"):
        monkeypatch.setattr(f"operations.view.{room}.MAX_EVENTS", 40)
        monkeypatch.setattr(f"operations.view.{room}.EVENTS_AFTER", 10)
    drawing = of(tmp_path, kafka_rows(count=120), large=100, around=60).drawing
    assert drawing.focus == 60
    assert drawing.divergence is None
    assert len(drawing.detail) <= module.MAX_EVENTS
    assert 60 in [column.first for column, _ in drawing.detail]


def test_what_cannot_be_drawn_is_one_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [{**kafka_rows(count=2)[1], "seq": 0}])
    with pytest.raises(ExplainError, match="its first event is not initialize"):
        drawn_rows(partition_rows(path, None), KAFKA)
    rows = kafka_rows(count=9)
    rows[5]["time_ms"] += 7
    drawn = of(tmp_path, rows)
    assert drawn.verdict == "unreadable"
    assert "From seq 5 on nothing is checked: time_ms is 7" in drawn.drawing.notes[0]
