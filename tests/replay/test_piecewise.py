"""What a replay in pieces holds, and where it ends; ``test_segments`` has what it says."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from judge.finding import FindingKind
from replay import check
from replay.pieces import PartitionRows
from replay.plan import Plan
from replay.verdict import PartitionVerdict, Problem, Verdict, merged
from tests.replay.samples import check_rows, kafka_rows, replayed, write_lines
from tests.whole_states import altered

NAME = "core:orders:0"


def test_a_piece_that_does_not_close_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the kernel hands on otherwise, the engines notice at the end of the piece."""
    rows, plan = kafka_rows(count=20), Plan(invariants_every=0, state_folder="states")
    through = check.through_kernel
    left = check_rows(rows, plan).left
    assert left
    others = [other for path, other in altered(left.state) if "[" not in path]
    for other in others[::7]:

        def altering(*of: Any, handed: Any = other) -> Any:  # noqa: ANN401 - passed on
            whole, kernel = through(*of)
            return whole, attrs.evolve(kernel, states=((20, handed),))

        monkeypatch.setattr("replay.check_sorted.through_kernel", altering)
        found = check_rows(rows, plan).verdict.divergence
        assert found
        assert found.kind is FindingKind.DISAGREEMENT
    assert len(others) > 7


def test_what_follows_a_divergence_is_counted_and_not_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = kafka_rows(count=60)
    rows[25]["after"]["end_offset"] += 1
    through, sizes = check.through_kernel, []

    def noted(rows: PartitionRows, *more: Any) -> Any:  # noqa: ANN401 - passed on
        sizes.append(rows.events)
        return through(rows, *more)

    monkeypatch.setattr("replay.check_sorted.through_kernel", noted)
    checked = check_rows(rows, Plan(piece_events=10, state_folder="states"))
    verdict = checked.verdict
    assert (verdict.verdict, verdict.checked, verdict.events) == (Verdict.DIVERGES, 26, 60)
    assert checked.left is None
    assert sum(sizes) < 40


def test_a_line_that_could_not_be_read_stands_in_the_verdict(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "t.jsonl", kafka_rows(count=40)).read_text("utf-8")
    bad = '{"partition": "core:orders:0", "seq": 40}\n'
    (tmp_path / "t.jsonl").write_text(lines + bad, "utf-8")
    whole, pieces = (replayed(tmp_path, plan=Plan(piece_events=size)) for size in (1000, 10))
    assert pieces.verdicts == whole.verdicts
    assert whole.verdicts[0].verdict is Verdict.UNREADABLE


def test_the_parts_of_a_verdict() -> None:
    parts = [
        PartitionVerdict(NAME, Verdict.CONFORMS, 5, 5, gaps=1, lost=2, latest_ms=3),
        PartitionVerdict(NAME, Verdict.CONFORMS, 4, 4, gaps=0, lost=1),
    ]
    whole = merged(parts, 9)
    assert (whole.events, whole.checked, whole.gaps, whole.lost, whole.latest_ms) == (9, 9, 1, 3, 3)
    bad = merged(parts, 9, Problem("f", 1, "no event", NAME))
    assert bad.verdict is Verdict.UNREADABLE


def test_the_operations_before_a_divergence_are_those_of_all_pieces() -> None:
    rows = kafka_rows(count=60)
    rows[40]["after"]["delivery_complete_count"] += 1
    plans = (Plan(piece_events=size, max_divergences=most) for size in (1000, 8) for most in (1, 9))
    found = [check_rows(rows, plan).verdict.divergence for plan in plans]
    assert len({each.operations_before for each in found if each}) == 1
