"""A run of a cluster as a table: who led, what was done to it, and the life of one record."""

import attrs
import pytest

from conformance.cluster import run_picture as module
from conformance.cluster.rules import judge_history
from conformance.cluster.run_picture import run_picture
from judge.finding import FindingPlace
from report.document import Document, Grid, text_of
from report.html import html_text
from tests.conformance.cluster.written import ACCEPT, ACKNOWLEDGED, AVAILABLE, Written
from tests.report.samples import EVIL

FENCED = "FENCED_LEADER_EPOCH"


def told() -> Written:
    """A history in which node 1 leads after node 0, and gives out again what is done."""
    history = Written().add("reads", id=9).add("read", id=9).acquired([0, 4, 1])
    history.add("acknowledges", batches=[[0, 4, ACCEPT]]).write(2, [0, 4, ACKNOWLEDGED, 1])
    history.committed([0, 4, ACKNOWLEDGED, 1]).written(2).add("acknowledged")
    history.add("fault", number=0, text="leader of 0 moves", for_ms=25).write(
        3, [5, 5, AVAILABLE, 1]
    )
    history.add("reads", id=8, node=1, leader_epoch=1).add("read", id=8).resigned(0)
    history.written(3, FENCED)
    return history.add("acquired", node=1, leader_epoch=1, ranges=[[3, 3, 1]], member="m2")


def drawn(history: Written, *done: tuple[int, str]) -> Grid:
    events = history.events()
    return run_picture(events, next(judge_history(events)), done)


def lane(grid: Grid, name: str) -> list[str]:
    return [text_of(row[grid.columns.index(name)]) for row in grid.rows]


LIFE = [
    "acquired by m1 at node 0, epoch 0, count 1",
    "m1 acknowledges to node 0: ACCEPT",
    "node 0 writes ACKNOWLEDGED (1), epoch 0",
    "update of epoch 0 is durable: ACKNOWLEDGED (1)",
    "write of epoch 0 is answered NONE",
    "m1 is answered NONE",
    "acquired by m2 at node 1, epoch 1, count 1; ✗ DONE_STAYS_DONE: acquired again; expected done",
]


def test_a_lane_tells_the_life_of_the_record_up_to_what_is_wrong() -> None:
    later = told().acquired([3, 3, 2], epoch=2)
    assert [text for text in lane(drawn(later), "record 3 of 0") if text] == LIFE
    other = attrs.evolve(next(judge_history(later.events())), offset=7)
    (*before, wrong) = lane(run_picture(later.events(), other), "record 7 of 0")
    assert set(before) == {""}
    assert wrong.startswith("✗ DONE_STAYS_DONE")


def test_nodes_have_lanes_with_their_leaderships_and_failed_writes() -> None:
    grid = drawn(told())
    assert grid.columns == ("s", "faults", "node 0", "node 1", "clients", "record 3 of 0")
    node_0, node_1 = lane(grid, "node 0"), lane(grid, "node 1")
    assert node_0[:3] == ["leads, epoch 0: reads the state", "epoch 0: state NONE", "│"]
    assert node_0[-4:] == ["", "leads no longer", f"a write of epoch 0 is answered {FENCED}", ""]
    assert [text for text in node_1 if text] == [
        "leads, epoch 1: reads the state",
        "epoch 1: state NONE",
        *"│││",
    ]


def test_a_fault_has_a_span_and_one_that_is_over_none() -> None:
    faults = [text for text in lane(drawn(told()), "faults") if text]
    assert faults == ["leader of 0 moves", "│"]


def test_what_clients_do_stands_beside_it_until_what_is_wrong() -> None:
    history = told()
    done = [(30, "m1 fetches"), (30, "m1 fetches"), (history.ms + 1, "m1 fetches later")]
    assert [text for text in lane(drawn(history, *done), "clients") if text] == ["2 × m1 fetches"]


def test_of_too_many_moments_those_of_clients_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    done = [(ms, "m1 fetches") for ms in range(1, 10)]
    whole = drawn(told())
    monkeypatch.setattr(module, "MAX_ROWS", len(whole.rows))
    grid = drawn(told(), *done)
    assert grid.rows == whole.rows
    assert grid.caption.endswith(" 9 other moments are left out.")
    monkeypatch.setattr(module, "MAX_ROWS", 2)
    assert drawn(told()).rows == whole.rows[-2:]


def test_of_a_trace_the_share_partition_tells_the_partition() -> None:
    found = next(judge_history(told().events()))
    place = FindingPlace(partition="s1:t:0", event="{}")
    grid = run_picture(told().events(), attrs.evolve(found, engine="spec", place=place))
    assert [text for text in lane(grid, "record 3 of 0") if text] == LIFE
    nowhere = attrs.evolve(found, place=FindingPlace())
    assert "record 3 of -1" in run_picture(told().events(), nowhere).columns


def test_what_a_history_says_marks_nothing_on_a_page() -> None:
    history = Written().add("fault", number=0, text=EVIL).acquired([0, 4, 1], member=EVIL)
    history.left(EVIL).acquired([4, 4, 1], member="m2")
    grid = drawn(history, (30, EVIL))
    page = html_text(Document("sharespec simulate", sections=((grid,),)))
    assert page.count("<script") == 1
    assert "<img" not in page
    assert "&lt;img" in page
    assert "\x1b" not in page


def test_a_finding_without_a_record_has_the_lanes_of_the_cluster() -> None:
    found = attrs.evolve(next(judge_history(told().events())), offset=None)
    assert [text for text in lane(run_picture(told().events(), found), "node 1") if text]


def test_the_lives_of_a_group_are_shown() -> None:
    history = Written().add("begins", state_epoch=2, start_offset=-1)
    history.add("administers", deletes=True, offsets=[]).add("begins", partition=1, state_epoch=-1)
    history.add("begins", state_epoch=-1, start_offset=-1).add("administered")
    nowhere = {"leader_epoch": -1, "start_offset": -1, "end_offset": -1}
    grid = drawn(history.after(60_000).add("rest", delivery_complete_count=0, **nowhere))
    shown = [text for name in grid.columns for text in lane(grid, name) if text]
    assert "its state begins, epoch 2, start offset -1" in shown
    assert shown.count("its state is deleted") == 1
    assert "an administrator is answered NONE" in shown
