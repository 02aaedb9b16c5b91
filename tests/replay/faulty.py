"""Traces with faults: rows that were spoiled, and brokers that went on in a state that is wrong."""

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import attrs

from judge.choices import recorded_answers, recorded_choice
from judge.engine import SpecEngine
from judge.whole_state import partition_of
from model.errors import IllegalChoiceError, InvalidValueError
from model.operations import Initialize
from model.outcome import Choice, Outcome
from model.profile import KAFKA
from model.states import RecordState
from model.trace import TraceEvent
from model.trace_codec import event_from_row, row_from_event
from model.whole_state import RecordsInFlight, WholeState
from tests.checkpoints import checkpoint_of
from tests.replay.samples import Row, kafka_rows

AVAILABLE, ACQUIRED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACQUIRED, RecordState.ARCHIVED
ACKNOWLEDGED = RecordState.ACKNOWLEDGED


def is_acquire(row: Row) -> object:
    return row["result"].get("acquired")


def _reads_one(row: Row) -> object:
    return row["result"].get("acquired") and len(row["log_batches"]) == 1


def is_written(row: Row) -> object:
    return row["op"] == "acknowledge" and row["writes"]


def _add(values: Row, name: str) -> None:
    values[name] += 1


SPOILED: dict[str, tuple[Callable[[Row], object], Callable[[Row], object]]] = {
    "ACQUIRED": (is_acquire, lambda r: r["result"]["acquired"][0].update(delivery_count=4)),
    "START_STOPS_AT_UNFINISHED": (is_acquire, lambda r: _add(r["after"], "start_offset")),
    "ONLY_READ_IS_ACQUIRED": (_reads_one, lambda r: r.update(log_batches=r["log_batches"][1:])),
    "ACKNOWLEDGEMENT_JUDGED": (
        is_written,
        lambda r: r["result"].update(status="INVALID_RECORD_STATE"),
    ),
    "WRITTEN_STATE": (
        is_written,
        lambda r: r["writes"][0]["state_batches"][0].update(delivery_count=9),
    ),
    "RECORDS": (
        lambda r: r["op"] == "release" and r["writes"],
        lambda r: r["after"]["records"].clear(),
    ),
    "LOCK_ENDS_ON_TIME": (
        lambda r: r["op"] == "advance_time" and r["writes"],
        lambda r: r["writes"].clear(),
    ),
    "END_OFFSET": (is_acquire, lambda r: _add(r["after"], "end_offset")),
    "DELIVERY_COMPLETE_COUNT": (is_written, lambda r: _add(r["after"], "delivery_complete_count")),
    "WRITTEN_DELIVERY_COMPLETE_COUNT": (
        is_written,
        lambda r: _add(r["writes"][0], "delivery_complete_count"),
    ),
    "WRITTEN_START_OFFSET": (is_written, lambda r: _add(r["writes"][0], "start_offset")),
}
"""Of each rule which rows a change spoils so that they break it, and the change."""


def spoiled(name: str, rows: list[Row], after: int = 0) -> tuple[list[Row], int]:
    """Return rows of which one breaks a rule, the first that may behind ``after``, and its seq."""
    rows = copy.deepcopy(rows)
    wanted, change = SPOILED[name]
    row = next(row for row in rows[after:] if wanted(row))
    change(row)
    return rows, row["seq"]


Change = Callable[[RecordsInFlight], RecordsInFlight | None]
"""What a broker does to some records of its window by itself; None: nothing to these."""


def _given(state: RecordState, /, **values: Any) -> Change:  # noqa: ANN401 - any field of a record
    """Return what gives records other values that are in a state and for which no write is made."""

    def change(known: RecordsInFlight) -> RecordsInFlight | None:
        is_it = known.state is state and known.delivery_count and known.write is None
        return attrs.evolve(known, **values) if is_it else None

    return change


def _counted(known: RecordsInFlight) -> RecordsInFlight | None:
    return _given(AVAILABLE, delivery_count=known.delivery_count + 1)(known)


WRONG: dict[str, Change] = {
    "counts a delivery twice": _counted,
    "loses a record": _given(AVAILABLE, state=ARCHIVED),
    "lets go of a lock": _given(ACQUIRED, state=AVAILABLE, owner=None, last_ms=None),
    "delivers again": _given(ACKNOWLEDGED, state=AVAILABLE),
    "gives a lock away": _given(ACQUIRED, owner="thief"),
}
"""What a broker may do to its window at some event, and go on from there."""


def broker(
    changes: dict[int, Change], name: str = "core", count: int = 300, checkpoint: int = 0
) -> list[Row]:
    """Return what a broker records that changes its window by itself after some events.

    It tells its whole state in place of each event at which ``checkpoint`` others were recorded.
    """
    engine = SpecEngine(KAFKA)
    rows: list[Row] = []
    for given in map(event_from_row, kafka_rows(name, count=count)):
        event = _as_read(given, engine) if rows else given
        if checkpoint and rows and len(rows) % checkpoint == 0:
            event = attrs.evolve(event, operation=checkpoint_of(engine.partition))
        outcome = _applied(engine, event, len(rows))
        if outcome is None:
            continue
        if len(rows) in changes:
            wrong = _changed(engine.whole(), changes[len(rows)])
            engine.partition = partition_of(wrong, KAFKA)
        told = attrs.evolve(event, seq=len(rows), outcome=outcome, after=engine.snapshot())
        told = attrs.evolve(told, time_ms=engine.partition.now)
        rows.append(row_from_event(told))
    return rows


def _as_read(event: TraceEvent, engine: SpecEngine) -> TraceEvent:
    """Return an event in which a new leader reads what is durable."""
    if not isinstance(event.operation, Initialize):
        return event
    operation = attrs.evolve(event.operation, persisted=engine.durable())
    return attrs.evolve(event, operation=operation)


def _applied(engine: SpecEngine, event: TraceEvent, seq: int) -> Outcome | None:
    """Apply an operation as it was chosen, or else as the rules would; None if neither may be."""
    for choice in (recorded_choice(event), Choice()):
        with contextlib.suppress(IllegalChoiceError, InvalidValueError):
            return engine.apply(event.operation, choice, recorded_answers(event), seq)
    return None


def _changed(state: WholeState, change: Change) -> WholeState:
    records = list(state.records)
    place, new = next((i, new) for i, known in enumerate(records) if (new := change(known)))
    records[place] = new
    return attrs.evolve(state, records=tuple(records))


def first_place(change: Change, after: int, name: str = "core") -> int:
    """Return the first seq behind ``after`` at which a broker has a record to change."""
    engine = SpecEngine(KAFKA)
    for row in broker({}, name):
        event = event_from_row(row)
        _applied(engine, event, event.seq)
        if event.seq > after and any(change(known) for known in engine.whole().records):
            return event.seq
    raise AssertionError(change)
