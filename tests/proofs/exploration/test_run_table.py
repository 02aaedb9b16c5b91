"""A run is made again with the specification, step by step."""

import io

import attrs
from rich.console import Console

from proofs.exploration.end_to_end import PROPERTIES
from proofs.exploration.liveness import PROMISES, graph_of, unkept
from proofs.exploration.run_table import lasso_rows, rows_of, table_of
from proofs.exploration.search import path_to
from proofs.exploration.world import SmallWorld
from tests.proofs.explored import TINY, explored


def test_a_run_shows_what_the_leader_and_the_coordinator_have() -> None:
    only = tuple(p for p in PROPERTIES if p.name == "available_is_not_durably_terminal")
    world = SmallWorld(offsets=1, members=1, log_start=0)
    _, watch, found = explored(world, properties=only)
    rows = rows_of(world, *path_to(found.came_from, watch.expected[only[0].name]))
    first = rows[0].event
    assert first.startswith("initialize, delivery limit 2, window limit 2, lock 1 ms, ")
    assert first.endswith(
        ", log 0 to 0, persisted start -1, delivery complete count -1, no batches"
    )
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
    assert events >= {
        "initialize, delivery",
        "produce 0",
        "acquire by",
        "a new",
        "log start",
        "time passes",
        "an awaited",
        "a late",
    }


def test_a_wrong_move_is_shown_last() -> None:
    explorer, _, found = explored(TINY, depth=0)
    first = next(iter(found.came_from))
    move = attrs.evolve(explorer.leaders.edges(first.leader)[0], wrong="it is wrong")
    rows = rows_of(TINY, [move], [first, first._replace(wrong=move.wrong)])
    assert (rows[-1].event, rows[-1].answer) == ("produce 0, log end 1", "it is wrong")


def test_a_run_for_ever_says_where_it_begins_again() -> None:
    explorer, _, found = explored(TINY)
    lasso = unkept(graph_of(explorer.leaders), PROMISES[0], "fetching")
    assert lasso is not None
    state = next(state for state in found.came_from if state.leader is lasso.leader)
    steps, states = path_to(found.came_from, state)
    rows = lasso_rows(TINY, steps, states, lasso)
    assert (rows[len(steps)].records, rows[len(steps)].window) == (
        rows[-1].records,
        rows[-1].window,
    )
    assert len(rows) == len(steps) + len(lasso.round) + 1


def test_a_table_has_a_line_for_each_step() -> None:
    _, _, found = explored(TINY, depth=1)
    rows = rows_of(TINY, *path_to(found.came_from, list(found.came_from)[1]))
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table_of(rows))
    text = console.export_text()
    assert text.splitlines()[0].split() == [
        "step", "event", "answer", "window", "records", "durable", "lag",
    ]  # fmt: skip
    assert "produce 0, log end 1" in text
