"""A share-partition of a batch: what a stream says of it is what a replay says."""

from pathlib import Path

import attrs
import pytest

from judge.finding import FindingPlace
from replay.judged import Before, Counts, Judged, Patience, judge, judge_nameless
from replay.plan import Plan
from tests.replay.samples import Row, kafka_rows, led, present, renamed, replayed, write_lines
from tests.replay.streams import arrived, wrong

PLAN = Plan(invariants_every=0, state_folder="states")
PATIENCE = Patience(batches=1, events=100_000)
ROWS = kafka_rows(count=30)
NAME = ROWS[0]["partition"]


def stepped(*batches: list[Row], name: str = NAME) -> list[Judged]:
    """Judge batches one after another, each with what waits."""
    results: list[Judged] = []
    before, held = Before(), arrived([])
    for rows in batches:
        table = arrived([*rows, *held.to_pylist()])
        result = judge(name, table, before, PLAN, PATIENCE)
        before = Before(result.left or before.carried, result.waiting)
        held = result.held
        results.append(result)
    return results


def test_batches_that_conform_are_checked_once_each() -> None:
    first, second = stepped(ROWS[:12], ROWS[10:])
    assert first.counts == Counts(checked=12)
    assert second.counts == Counts(checked=18, late=2)
    assert present(present(second.left).state).seq == 30


def test_a_divergence_is_left_once_and_what_follows_is_passed() -> None:
    rows = [*ROWS[:20], wrong(ROWS[20]), *ROWS[21:]]
    first, second, third = stepped(rows[:12], rows[12:25], rows[25:])
    assert (first.left and first.left.divergence) is None
    divergence = present(present(second.left).divergence)
    assert (divergence.seq, second.counts) == (20, Counts(checked=9, passed=4))
    assert (third.left, third.counts) == (None, Counts(passed=5))


def test_a_row_that_holds_no_event_is_told_and_can_be_mended() -> None:
    rows = [*ROWS[:20], {**ROWS[20], "op": "conquer"}, *ROWS[21:25]]
    first, second = stepped(rows, [*ROWS[25:], ROWS[20]])
    assert first.counts == Counts(checked=20, unreadable=1)
    assert first.held.num_rows == 4
    (problem,) = first.problems
    assert problem.message.startswith("op is 'conquer'; allowed: ")
    assert (second.counts, second.problems) == (Counts(checked=10), ())


def test_what_never_comes_stops_a_share_partition_and_is_told_once() -> None:
    results = stepped(ROWS[:8], ROWS[10:15], ROWS[15:20], ROWS[20:25])
    assert [each.counts.passed for each in results] == [0, 0, 10, 5]
    assert [p.message for each in results for p in each.problems] == [
        "seq 8 is missing: the next is 10"
    ]


def test_what_begins_in_the_middle_is_told_once() -> None:
    late = [{**row, "seq": row["seq"] - 3} for row in ROWS[3:10]]
    first, second = stepped(late, ROWS[10:12])
    assert first.counts == Counts(passed=7)
    assert first.left is None
    assert [p.message[:18] for p in first.problems] == ["its first event is"]
    assert (second.counts, second.problems) == (Counts(passed=2), ())


def test_what_is_not_in_the_sample_is_passed_and_the_nameless_unreadable() -> None:
    plan = attrs.evolve(PLAN, sample=1e-9)
    result = judge(NAME, arrived(ROWS), Before(), plan, PATIENCE)
    assert (result.counts, result.left) == (Counts(passed=30), None)
    nameless = judge_nameless(arrived([{**ROWS[0], "partition": None}]))
    assert nameless.counts == Counts(unreadable=1)
    assert [p.message for p in nameless.problems] == ["partition is None; allowed: a value"]


def test_a_change_of_leader_is_a_gap_as_more_may_come_of_the_one_before() -> None:
    start = renamed(ROWS, NAME)[0]
    later = [{**start, "persisted": start["persisted"]}]
    results = stepped(led(ROWS[:1], 4), led(later, 5), led(ROWS[1:3], 4))
    assert [each.counts for each in results] == [
        Counts(checked=1),
        Counts(checked=1, gaps=1, believed=1),
        Counts(late=2),
    ]
    assert all(each.left is None or each.left.divergence is None for each in results)


def test_events_of_a_leader_that_never_come_are_a_gap_behind_which_nothing_is_known() -> None:
    rows = led(ROWS, 4)
    results = stepped(rows[:8], rows[10:15], rows[15:20], rows[20:25])
    assert [each.counts.checked for each in results] == [8, 0, 0, 0]
    assert sum(each.counts.passed for each in results) == 15
    assert sum(each.counts.gaps for each in results) >= 1
    assert [p for each in results for p in each.problems] == []


@pytest.mark.parametrize("cuts", [1, 3, 7])
def test_the_divergence_is_that_of_a_replay(tmp_path: Path, cuts: int) -> None:
    rows = renamed([*ROWS[:20], wrong(ROWS[20]), *ROWS[21:]], "p")
    path, plan = write_lines(tmp_path / "t.jsonl", rows), attrs.evolve(PLAN, state_folder=None)
    (verdict,) = replayed(path, plan=plan).verdicts
    results = stepped(*(rows[i : i + 30 // cuts] for i in range(0, 30, 30 // cuts)), name="p")
    (found,) = (each.left.divergence for each in results if each.left and each.left.divergence)
    nowhere, whole = FindingPlace("p"), present(verdict.divergence)
    assert attrs.evolve(found, place=nowhere) == attrs.evolve(whole, place=nowhere)
