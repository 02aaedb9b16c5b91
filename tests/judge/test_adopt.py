"""The states from which a replay may go on, with what the recording tells and what it does not."""

import copy

import attrs
import pytest

from judge.adopt import candidates, complete, forgotten
from judge.choices import recorded_answers, recorded_choice
from judge.engine import SpecEngine
from model.profile import KAFKA
from model.trace import TraceEvent
from model.trace_codec import event_from_row
from model.whole_state import ReplayState
from tests.replay.samples import Row, first_of, kafka_rows


def before(rows: list[Row], seq: int) -> ReplayState:
    """Return where the specification stands before an event."""
    engine = SpecEngine(KAFKA)
    for row in rows[:seq]:
        event = event_from_row(row)
        engine.apply(event.operation, recorded_choice(event), recorded_answers(event), event.seq)
    return ReplayState(engine.whole(), seq, rows[seq - 1]["time_ms"])


def acquired() -> tuple[list[Row], TraceEvent, ReplayState]:
    rows = copy.deepcopy(kafka_rows())
    row = first_of(rows[20:], lambda r: r["result"].get("acquired"))
    return rows, event_from_row(row), before(rows, row["seq"])


def records_of(event: TraceEvent) -> set[tuple[int, int]]:
    return {(r.first, r.last) for r in event.after.records or () if r.owner is not None}


def test_a_state_that_is_as_the_rules_have_it_is_adopted_as_it_is() -> None:
    _rows, event, state = acquired()
    (only,), untold = candidates(event, state, KAFKA)
    assert (only.adopted, untold) == (True, "")
    assert (only.state.seq, only.state.time_ms) == (event.seq + 1, event.time_ms)
    assert only.state.state.start_offset == event.after.start_offset
    assert complete(only.state.state) == event.after.delivery_complete_count


def test_the_recorded_window_comes_first_and_that_of_the_rules_second() -> None:
    _rows, event, state = acquired()
    free = next(r for r in event.after.records or () if r.owner is not None)
    told = tuple(
        attrs.evolve(r, owner=None, state=type(r.state).AVAILABLE) if r == free else r
        for r in event.after.records or ()
    )
    changed = attrs.evolve(event, after=attrs.evolve(event.after, records=told))
    first, second = candidates(changed, state, KAFKA)[0]
    assert (first.adopted, second.adopted) == (True, False)
    held = {r.first for r in first.state.state.records if r.owner is not None}
    assert free.first not in held
    assert first.state.state.waiting == ()


def test_a_lock_of_which_nothing_tells_the_end_is_not_adopted() -> None:
    rows, _event, _state = acquired()
    row = first_of(rows[20:], lambda r: r["op"] == "acknowledge" and r["writes"])
    state = before(rows, row["seq"])
    event = event_from_row(row)
    told = tuple(
        attrs.evolve(r, owner="thief") if r.owner is not None else r
        for r in event.after.records or ()
    )
    changed = attrs.evolve(event, after=attrs.evolve(event.after, records=told))
    (only,), untold = candidates(changed, state, KAFKA)
    assert not only.adopted
    assert untold.startswith("it does not tell when the lock of offset ")


@pytest.mark.parametrize("end", [1, 1000])
def test_a_window_past_the_log_or_without_records_is_not_adopted(end: int) -> None:
    _rows, event, state = acquired()
    after = attrs.evolve(event.after, end_offset=event.after.end_offset + end * 1000)
    changed = attrs.evolve(event, after=after)
    kinds = candidates(changed, state, KAFKA)
    assert kinds[1] == "its window ends after the log"
    assert not any(each.adopted for each in kinds[0])
    untold = attrs.evolve(event, after=attrs.evolve(event.after, records=None))
    assert candidates(untold, state, KAFKA)[1] == "it is recorded without the records in flight"


def test_a_start_offset_that_goes_back_leaves_gaps_where_nothing_is_recorded() -> None:
    rows = kafka_rows(count=120)
    row = first_of(rows, lambda r: r["after"]["start_offset"] > 5)
    state = before(rows, row["seq"] + 1)
    event = event_from_row(rows[row["seq"] + 1])
    gone = attrs.evolve(event, after=attrs.evolve(event.after, start_offset=2))
    first, *_rest = candidates(gone, state, KAFKA)[0]
    assert (first.adopted, first.state.state.start_offset) == (True, 2)
    recorded = {o for r in event.after.records or () for o in range(max(r.first, 2), r.last + 1)}
    holes = {o for a, b in first.state.state.log.holes for o in range(a, b + 1)}
    below = set(range(2, event.after.start_offset))
    assert below <= holes | recorded
    assert not holes & recorded


def test_what_was_written_is_durable_as_it_was_recorded() -> None:
    rows = copy.deepcopy(kafka_rows())
    row = first_of(rows, lambda r: r["op"] == "acknowledge" and r["writes"])
    batch = row["writes"][0]["state_batches"][0]
    batch["delivery_count"] += 3
    first, *_rest = candidates(event_from_row(row), before(rows, row["seq"]), KAFKA)[0]
    durable = first.state.state.durable.state_batches
    counts = {b.delivery_count for b in durable if b.first <= batch["first"] <= b.last}
    assert counts == {batch["delivery_count"]}


def test_where_nothing_is_known_only_what_was_durable_is() -> None:
    _rows, _event, state = acquired()
    known = forgotten(state, 99, KAFKA)
    assert (known.seq, known.state.ready, known.state.durable_whole) == (99, False, False)
    assert known.state.durable == state.state.durable
