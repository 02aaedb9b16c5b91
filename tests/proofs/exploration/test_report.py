"""What is reported of an exploration, with runs that are made again by the specification."""

import attrs
import pytest

from proofs.exploration.end_to_end import PROPERTIES
from proofs.exploration.liveness import PROMISES, graph_of, unkept
from proofs.exploration.report import listed, verdicts_of
from proofs.exploration.run_table import lasso_rows, rows_of
from proofs.exploration.search import path_to
from proofs.exploration.world import SmallWorld
from spec import writes
from spec.record import commit
from tests.proofs.explored import TINY, explored


@pytest.mark.slow
def test_everything_is_judged_once_where_all_was_visited() -> None:
    world = SmallWorld(offsets=2, members=1, late=0, gaps=False, log_start=0)
    verdicts = verdicts_of(*explored(world), PROMISES)
    known = {p.name for p in (*PROPERTIES, *PROMISES)} | {"available_is_acquirable"}
    assert sorted(verdict.name for verdict in verdicts) == sorted(known)
    failed = {verdict.name for verdict in verdicts if not verdict.holds}
    assert failed == {p.name for p in PROPERTIES if p.why_not}
    assert [bool(verdict.run) for verdict in verdicts] == [True] * len(failed) + [False] * 8
    assert not any(verdict.is_wrong for verdict in verdicts)


def test_an_unfinished_exploration_is_not_judged() -> None:
    verdicts = verdicts_of(*explored(TINY, depth=1), PROMISES)
    assert [verdict.holds for verdict in verdicts] == [None] * len(PROPERTIES)
    assert not any(verdict.is_wrong for verdict in verdicts)


def test_a_fault_comes_first_with_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "roll_back", lambda record, *_: commit(record))
    first, *others = verdicts_of(*explored(TINY), PROMISES)
    assert first.is_wrong
    assert (first.name, first.run[-1].event) == ("step", "acknowledge by m1: 0 accept")
    assert first.sentence.startswith("the implementation's window is")
    assert [verdict.name for verdict in others if verdict.holds] == []


def test_a_record_that_nobody_can_take_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "proofs.exploration.report.available_untakeable", lambda graph: list(graph.takes)[2:3]
    )
    verdicts = verdicts_of(*explored(TINY), PROMISES)
    (wrong,) = (verdict for verdict in verdicts if verdict.is_wrong)
    assert wrong.name == "available_is_acquirable"
    assert wrong.run


def test_a_property_in_one_line() -> None:
    assert listed(PROMISES[0]).startswith("available_is_terminal_in_the_end (14): Every record")
    assert "Expected to fail: " in listed(PROPERTIES[-1])
    lag = next(p for p in PROPERTIES if p.name == "lag_never_too_low")
    assert "Expected to fail, but under a profile with coordinator_counts_complete: " in listed(lag)


def test_a_run_shows_what_the_leader_and_the_coordinator_have() -> None:
    only = tuple(p for p in PROPERTIES if p.name == "available_is_not_durably_terminal")
    _, watch, found = explored(TINY, properties=only)
    rows = rows_of(TINY, *path_to(found.came_from, watch.expected[only[0].name]))
    assert rows[0].event.startswith("initialize, delivery limit 2, window limit 2, lock 1 ms, ")
    assert rows[0].event.endswith("persisted start -1, delivery complete count -1, no batches")
    assert [row.event.split(":")[0] for row in rows[1:]] == [
        "produce 0, log end 1",
        "acquire by m1, batch_optimized, at most 1, read at 0",
        "acknowledge by m1",
        "acknowledge by m1",
        "a late write arrives",
    ]
    assert rows[3].answer.endswith("may still arrive")
    assert rows[-1].records == "0 AVAILABLE(1)"
    assert rows[-1].durable == "start 0, delivery complete count 1, 0 ACKNOWLEDGED(1)"


def test_every_kind_of_step_can_be_shown() -> None:
    """The ends of all shortest runs: rows say what the search says of each."""
    _, _, found = explored(TINY)
    events = set()
    for state in found.came_from:
        rows = rows_of(TINY, *path_to(found.came_from, state))
        events |= {" ".join(row.event.split(" ")[:2]).rstrip(",") for row in rows}
        assert rows[-1].window.startswith(str(state.leader.facts.start))
    assert {"log start", "time passes", "a new", "an awaited", "a late"} <= events


def test_a_wrong_move_is_shown_last() -> None:
    explorer, _, found = explored(TINY, depth=0)
    first = next(iter(found.came_from))
    move = attrs.evolve(explorer.leaders.edges(first.leader)[0], wrong="it is wrong")
    rows = rows_of(TINY, [move], [first, first._replace(wrong=move.wrong)])
    assert (rows[-1].event, rows[-1].answer) == ("produce 0, log end 1", "it is wrong")


def test_a_run_for_ever_ends_where_it_begins_again() -> None:
    explorer, _, found = explored(TINY)
    lasso = unkept(graph_of(explorer.leaders), PROMISES[0], "fetching")
    assert lasso is not None
    state = next(state for state in found.came_from if state.leader is lasso.leader)
    steps, states = path_to(found.came_from, state)
    rows = lasso_rows(TINY, steps, states, lasso)
    again, last = rows[len(steps)], rows[-1]
    assert (again.records, again.window) == (last.records, last.window)
    assert len(rows) == len(steps) + len(lasso.round) + 1
