"""A run through a world, step by step, as a table like those of the KIPs.

The search knows a step as the number of a move. Here the run is made again, from nothing, with the
specification alone: what a step shows is what ``spec`` really does.
"""

from collections.abc import Iterable

import attrs
from rich.table import Table
from rich.text import Text

from judge.words import durable_text, operation_text, outcome_text, ranges_text, record_text
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from proofs.exploration.liveness import Lasso
from proofs.exploration.moves import Move, moves
from proofs.exploration.network import NetworkAct
from proofs.exploration.normal import Content, view
from proofs.exploration.product import ARRIVE_LATE, FAILOVER, Product, State
from proofs.exploration.world import NEVER_WRITTEN, ExploredLeader, SmallWorld, initialize
from spec.coordinator import durable_state
from spec.lag import lag
from spec.log import Log
from spec.step import apply
from spec.view import snapshot


@attrs.frozen
class RunRow:
    """One step: the operation, the answers, and the state after it."""

    event: str
    answer: str
    window: str
    records: str
    durable: str
    lag: int


def rows_of(
    product: Product,
    steps: Iterable[int],
    states: Iterable[State],
    wrong: int | None = None,
    sentence: str = "",
) -> list[RunRow]:
    """Return the run of these steps through these states, and the wrong move at its end."""
    leader, rows = _run(product, tuple(steps), tuple(states))
    if wrong is not None:
        move = _offered(product.world, leader)[wrong]
        rows.append(attrs.evolve(rows[-1], event=_text(move), answer=sentence))
    return rows


def lasso_rows(product: Product, lasso: Lasso) -> tuple[list[RunRow], int]:
    """Return a run that never ends, with one cycle, and the step at which the cycle starts.

    Of the round only the leader is shown as it is; the durable state stays as it was before.
    """
    steps, states = product.path_to(lasso.leader)
    stays = (states[-1],) * len(lasso.round)
    _, rows = _run(product, (*steps, *lasso.round), (*states, *stays))
    return rows, len(steps)


def _run(
    product: Product, steps: tuple[int, ...], states: tuple[State, ...]
) -> tuple[ExploredLeader, list[RunRow]]:
    leader, operation = initialize(product.world, Log(0, 0), NEVER_WRITTEN)
    rows = [_row(product, operation_text(operation), "", leader, states[0])]
    for step, before, after in zip(steps, states, states[1:], strict=False):
        leader, event, answer = _after_step(product, leader, step, before)
        rows.append(_row(product, event, answer, leader, after))
    return leader, rows


def table_of(rows: Iterable[RunRow]) -> Table:
    """Return the rows as a table."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("step", justify="right", no_wrap=True)
    for name, ratio in (("event", 4), ("answer", 4)):
        table.add_column(name, overflow="fold", ratio=ratio)
    table.add_column("window", no_wrap=True)
    table.add_column("records", overflow="fold", ratio=3)
    table.add_column("durable", overflow="fold", ratio=3)
    table.add_column("lag", justify="right", no_wrap=True)
    for number, row in enumerate(rows):
        cells = (str(number), *attrs.astuple(row)[:-1], str(row.lag))
        table.add_row(*(Text(cell or "–") for cell in cells))
    return table


def _row(product: Product, event: str, answer: str, leader: ExploredLeader, state: State) -> RunRow:
    shown = snapshot(leader.partition)
    return RunRow(
        event,
        answer,
        f"{shown.start_offset}–{shown.end_offset}",
        ", ".join(record_text(record) for record in shown.records or ()),
        durable_text(durable_state(product.coordinator.states[state.durable])),
        lag(leader.partition),
    )


def _offered(world: SmallWorld, leader: ExploredLeader) -> list[Move]:
    return moves(world, leader, view(leader, world.names, symmetry=world.symmetry))


def _after_step(
    product: Product, leader: ExploredLeader, step: int, before: State
) -> tuple[ExploredLeader, str, str]:
    """Return the leader after a step, what it was, and what was answered."""
    if step == FAILOVER:
        persisted = durable_state(product.coordinator.states[before.durable])
        leader, operation = initialize(product.world, leader.log, persisted)
        return leader, f"a new leader takes over: {operation_text(operation)}", ""
    late = product.network.states[before.network]
    if step < 0:
        return (
            leader,
            f"a late write arrives: {_content_text(late[ARRIVE_LATE - step])}",
            "nobody waits",
        )
    edge = {name: int(product.leaders.edge(name)[step]) for name in ("move", "event")}
    actions = product.network.events[edge["event"]]
    if edge["move"] < 0:
        return (
            leader,
            f"an awaited write arrives: {_content_text(actions[0][1])}",
            "not answered yet",
        )
    move = _offered(product.world, leader)[edge["move"]]
    done = apply(leader.partition, move.operation, move.choice, move.answers)
    delayed = "; may still arrive" if any(act == NetworkAct.DELAY for act, _ in actions) else ""
    return (
        ExploredLeader(done.partition, move.log),
        _text(move),
        outcome_text(done.outcome) + delayed,
    )


def _content_text(what: Content | int) -> str:
    assert not isinstance(what, int)  # noqa: S101 - this event is about a write
    start, count, batches = what
    return durable_text(
        DurableState(
            start,
            count,
            tuple(
                StateBatch(first, last, RecordState(state), n) for first, last, state, n in batches
            ),
        )
    )


def _text(move: Move) -> str:
    text = operation_text(move.operation)
    if move.choice.acquired is not None:
        text += f"; it takes {ranges_text(move.choice.acquired)}"
    return text + ("; a write for each lock" if move.choice.expired else "")
