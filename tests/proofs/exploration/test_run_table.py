"""A run is made again with the specification, step by step."""

import io

from rich.console import Console

from proofs.exploration.end_to_end import PROPERTIES
from proofs.exploration.liveness import PROMISES, graph_of, unkept
from proofs.exploration.run_table import lasso_rows, rows_of, table_of
from proofs.exploration.world import SmallWorld
from tests.proofs.explored import TINY, explored


def test_a_run_shows_what_the_leader_and_the_coordinator_have() -> None:
    only = tuple(p for p in PROPERTIES if p.name == "available_is_not_durably_terminal")
    product, found = explored(SmallWorld(offsets=1, members=1, log_start=0), properties=only)
    rows = rows_of(product, found.expected[0].steps, found.expected[0].states)
    first = rows[0].event
    assert first.startswith("initialize, delivery limit 2, window limit 2, lock 1 ms, ")
    assert first.endswith(
        ", log 0 to 0, persisted start -1, delivery complete count -1, no batches"
    )
    assert [row.event.split(":")[0] for row in rows[1:]] == [
        "produce 0, log end 1",
        "acquire by m1, batch_optimized, at most 1, read at 0",
        "acknowledge by m1",
        "a late write arrives",
        "acknowledge by m1",
    ]
    assert rows[3].answer.endswith("may still arrive")
    assert rows[-1].records == "0 AVAILABLE(1)"
    assert rows[-1].durable == "start 0, delivery complete count 1, 0 ACKNOWLEDGED(1)"


def test_every_kind_of_step_can_be_shown() -> None:
    """The states at the ends of all shortest runs: rows say what the search says of each."""
    product, _ = explored(TINY)
    events = set()
    for level, _, _ in product.levels:
        for packed in level[:40].tolist():
            state = product.state(packed)
            rows = rows_of(product, *product.path_to(state.leader))
            events |= {row.event.split(" ")[0] + row.event.split(" ")[1] for row in rows}
            assert rows[-1].window.startswith(str(product.leaders.facts[state.leader].start))
    assert events >= {
        "initialize,delivery",
        "produce0,",
        "acquireby",
        "anew",
        "logstart",
        "timepasses,",
    }


def test_awaited_and_late_writes_arrive() -> None:
    product, _ = explored(SmallWorld(offsets=1, members=1, log_start=0))
    shown = set()
    for depth, (level, _, _) in enumerate(product.levels):
        for at in range(len(level)):
            rows = rows_of(product, *product.path(depth, at))
            shown |= {row.event.split(":")[0] for row in rows}
    assert {"an awaited write arrives", "a late write arrives"} <= shown


def test_a_wrong_move_is_shown_last() -> None:
    product, _ = explored(TINY)
    rows = rows_of(product, (), (product.state(product.levels[0][0][0]),), 0, "it is wrong")
    assert (rows[-1].event, rows[-1].answer) == ("produce 0, log end 1", "it is wrong")


def test_a_run_for_ever_says_where_it_begins_again() -> None:
    product, _ = explored(TINY)
    lasso = unkept(graph_of(product.leaders), PROMISES[0], "fetching")
    assert lasso is not None
    rows, again = lasso_rows(product, lasso)
    assert (rows[again].records, rows[again].window) == (rows[-1].records, rows[-1].window)
    assert len(rows) == again + len(lasso.round) + 1


def test_a_table_has_a_line_for_each_step() -> None:
    product, _ = explored(TINY)
    rows = rows_of(product, *product.path_to(3))
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table_of(rows))
    text = console.export_text()
    assert text.splitlines()[0].split() == [
        "step", "event", "answer", "window", "records", "durable", "lag",
    ]  # fmt: skip
    assert "produce 0, log end 1" in text
