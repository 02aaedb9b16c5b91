"""A run through a world, step by step, as a table like those of the KIPs.

The search knows a step as the number of a move. Here the run is made again, from nothing, with the
specification alone: what a step shows is what ``spec`` really does.
"""

from collections.abc import Iterable, Sequence

import attrs
from rich.table import Table
from rich.text import Text

from judge.view import snapshot
from judge.words import durable_text, operation_text, outcome_text, ranges_text, record_text
from model.snapshot import DurableState
from proofs.exploration.explorer import LateArrival, NewLeader, WorldState, WorldStep
from proofs.exploration.leaders import ARRIVAL
from proofs.exploration.liveness import Lasso
from proofs.exploration.moves import Move, moves
from proofs.exploration.normal import Content, view, write_of
from proofs.exploration.world import NEVER_WRITTEN, ExploredLeader, SmallWorld, initialize
from spec.coordinator import durable_state
from spec.lag import lag
from spec.log import Log
from spec.step import apply


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
    world: SmallWorld, steps: Iterable[WorldStep], states: Sequence[WorldState]
) -> tuple[RunRow, ...]:
    """Return the run of these steps, from the first of these states through the others."""
    leader, operation = initialize(world, Log(0, 0), NEVER_WRITTEN)
    rows = [_row(operation_text(operation), "", leader, states[0])]
    for step, before, after in zip(steps, states, states[1:], strict=False):
        leader, event, answer = _after_step(world, leader, step, before)
        rows.append(_row(event, after.wrong or answer, leader, after))
    return tuple(rows)


def lasso_rows(
    world: SmallWorld, steps: Sequence[WorldStep], states: Sequence[WorldState], lasso: Lasso
) -> tuple[RunRow, ...]:
    """Return the run to the leader of a lasso, and one cycle.

    Of the round only the leader is shown as it is; the durable state stays as it was before.
    """
    stays = (states[-1],) * len(lasso.round)
    return rows_of(world, (*steps, *lasso.round), (*states, *stays))


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


def _row(event: str, answer: str, leader: ExploredLeader, state: WorldState) -> RunRow:
    shown = snapshot(leader.partition)
    return RunRow(
        event,
        answer,
        f"{shown.start_offset}–{shown.end_offset}",
        ", ".join(record_text(record) for record in shown.records or ()),
        durable_text(durable_state(state.network.durable.durable)),
        lag(leader.partition),
    )


def _after_step(
    world: SmallWorld, leader: ExploredLeader, step: WorldStep, before: WorldState
) -> tuple[ExploredLeader, str, str]:
    """Return the leader after a step, what it was, and what was answered."""
    if isinstance(step, NewLeader):
        persisted = durable_state(before.network.durable.durable)
        leader, operation = initialize(world, leader.log, persisted)
        return leader, f"a new leader takes over: {operation_text(operation)}", ""
    if isinstance(step, LateArrival):
        return leader, f"a late write arrives: {_content_text(step.content)}", "nobody waits"
    if step.move == ARRIVAL:
        event = f"an awaited write arrives: {_content_text(step.arrived[0])}"
        return leader, event, "not answered yet"
    offered = moves(world, leader, view(leader, world.names, symmetry=world.symmetry))
    move = offered[step.move]
    if step.wrong is not None:
        return leader, _text(move), step.wrong
    done = apply(leader.partition, move.operation, move.choice, move.answers)
    delayed = "; may still arrive" if step.late else ""
    after = ExploredLeader(done.partition, move.log)
    return after, _text(move), outcome_text(done.outcome) + delayed


def _content_text(what: Content) -> str:
    write = write_of(what)
    told = write.start_offset, write.delivery_complete_count, write.state_batches
    return durable_text(DurableState(*told))


def _text(move: Move) -> str:
    text = operation_text(move.operation)
    if move.choice.acquired is not None:
        text += f"; it takes {ranges_text(move.choice.acquired)}"
    return text + ("; a write for each lock" if move.choice.expired else "")
