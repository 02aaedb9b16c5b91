"""Beyond the first divergence: every fault is reported, and none that follows from another."""

from pathlib import Path

import attrs
import pytest

from judge.finding import Finding, FindingKind
from replay.judged import Before, Patience, judge
from replay.plan import InputFacts, Plan
from replay.result_schema import LAG
from replay.state_file import of_each_kind
from replay.verdict import PartitionVerdict, Verdict
from tests.lockstep.spoiled import cases
from tests.replay.faulty import SPOILED, WRONG, broker, first_place, spoiled
from tests.replay.samples import (
    BOTH,
    IMPL,
    Row,
    check_rows,
    kafka_rows,
    lag_of,
    places,
    present,
    recorded,
    replayed,
    write_trace,
)
from tests.replay.streams import arrived
from tests.replay.test_segments import placed_table, plan_for

MOST = 100
MANY = 80


def check(rows: list[Row], against: tuple[str, ...] = BOTH, most: int = MOST) -> PartitionVerdict:
    return check_rows(rows, Plan(against=against, max_divergences=most)).verdict


@pytest.mark.parametrize("name", SPOILED)
def test_a_row_that_was_spoiled_is_all_that_is_reported(name: str) -> None:
    rows, seq = spoiled(name, kafka_rows(count=MANY))
    verdict = check(rows)
    assert places(verdict) == [(seq, name)]
    assert (verdict.checked, verdict.reason) == (MANY, "")


_PAIRS = list(zip(SPOILED, [*SPOILED][3:] + [*SPOILED][:3], strict=True))


@pytest.mark.parametrize(
    ("first", "second"),
    [_PAIRS[4], *(pytest.param(*p, marks=pytest.mark.slow) for p in _PAIRS if p != _PAIRS[4])],
)
def test_two_independent_faults_are_both_reported(first: str, second: str) -> None:
    rows, seq = spoiled(first, kafka_rows(count=450))
    rows, later = spoiled(second, rows, 150)
    assert places(check(rows)) == [(seq, first), (later, second)]


TOLD = [name for name in WRONG if name != "gives a lock away"]


@pytest.mark.parametrize(
    "name", [TOLD[0], *(pytest.param(n, marks=pytest.mark.slow) for n in TOLD[1:])]
)
def test_a_broker_that_goes_on_in_a_wrong_state_is_reported_once(name: str) -> None:
    place = first_place(WRONG[name], 100)
    rows = broker({place: WRONG[name]})
    verdict = check(rows)
    assert [seq for seq, _name in places(verdict)] == [place]
    assert verdict.checked == len(rows)


def test_two_faults_of_a_broker_are_both_reported() -> None:
    first, second = WRONG["counts a delivery twice"], WRONG["lets go of a lock"]
    place = first_place(first, 60)
    later = place + 30
    rows = broker({place: first, later: second})
    assert [seq for seq, _name in places(check(rows))] == [place, later]


def test_what_the_recording_does_not_tell_ends_a_share_partition_with_the_reason() -> None:
    place = first_place(WRONG["gives a lock away"], 100)
    rows = broker({place: WRONG["gives a lock away"]})
    verdict = check(rows)
    assert [seq for seq, _name in places(verdict)] == [place]
    assert verdict.checked == place + 1
    missed = len(rows) - place - 1
    assert verdict.reason.startswith(f"{missed} events after the last are not checked: it does not")
    assert "when the lock of offset" in verdict.reason


@pytest.mark.parametrize("against", [BOTH, IMPL])
def test_a_checkpoint_of_a_wrong_state_does_not_hide_that_it_is_wrong(
    against: tuple[str, ...],
) -> None:
    change = WRONG["gives a lock away"]
    place = first_place(change, 100)
    rows = broker({place: change}, checkpoint=30)
    verdict = check(rows, against)
    assert [seq for seq, _name in places(verdict)] == [place]
    missed = 120 - place - 1
    assert verdict.checked == len(rows) - missed
    assert verdict.reason == f"{missed} events up to the next checkpoint or leader are not checked"


def test_behind_a_checkpoint_the_next_fault_is_found() -> None:
    change = WRONG["gives a lock away"]
    place = first_place(change, 100)
    rows = broker({place: change}, checkpoint=30)
    rows[150]["after"]["end_offset"] += 1
    rows[200]["after"]["end_offset"] += 1
    assert [seq for seq, _name in places(check(rows))] == [place, 150, 200]


def test_a_checkpoint_that_is_wrong_is_one_divergence() -> None:
    rows = broker({}, checkpoint=30)
    assert rows[120]["op"] == "checkpoint"
    rows[120]["after"]["records"][0]["delivery_count"] += 1
    verdict = check(rows)
    assert (places(verdict), verdict.checked) == ([(120, "RECORDS")], len(rows))


def test_what_was_durable_does_not_keep_a_checkpoint_from_being_taken_over() -> None:
    change = WRONG["gives a lock away"]
    place = first_place(change, 100)
    rows = broker({place: change}, checkpoint=30)
    rows[120]["after"]["start_offset"] = 0
    verdict = check(rows)
    assert places(verdict) == [(place, "RECORDS"), (120, "START_NEVER_GOES_BACK")]


def test_without_a_state_after_it_a_divergence_is_the_last() -> None:
    (rows,) = recorded("kafka-4.1.2").values()
    verdict = check(rows)
    assert (len(verdict.divergences), verdict.checked) == (1, 287)
    assert "315 events after the last are not checked: it is recorded without" in verdict.reason


def test_a_new_leader_is_checked_where_nothing_else_is_known() -> None:
    change = WRONG["gives a lock away"]
    place = first_place(change, 75, "write-faults")
    rows = broker({place: change}, "write-faults")
    leader = next(row["seq"] for row in rows[place:] if row["op"] == "initialize")
    verdict = check(rows)
    assert [seq for seq, _name in places(verdict)] == [place]
    missed = leader - place - 1
    assert verdict.checked == len(rows) - missed
    assert verdict.reason == f"{missed} events up to the next checkpoint or leader are not checked"


def test_a_state_that_is_not_recorded_is_used_where_the_next_one_confirms_it() -> None:
    rows, seq = spoiled("END_OFFSET", kafka_rows(count=120))
    del rows[seq]["after"]["records"]
    assert (places(check(rows)), check(rows).checked) == ([(seq, "END_OFFSET")], 120)
    for row in rows[seq:]:
        row["after"].pop("records", None)
    assert check(rows).checked == seq + 1


def test_a_count_that_stays_wrong_is_one_divergence() -> None:
    rows, seq = spoiled("DELIVERY_COMPLETE_COUNT", kafka_rows(count=50))
    for row in rows[seq + 1 :]:
        row["after"]["delivery_complete_count"] += 1
    verdict = check(rows, IMPL)
    assert places(verdict) == [(seq, "DELIVERY_COMPLETE_COUNT")]
    assert (verdict.checked, verdict.repeats) == (50, 50 - seq - 1)
    rows[seq + 20]["after"]["delivery_complete_count"] += 1
    found = places(check(rows, IMPL))
    assert found[:2] == [(s, "DELIVERY_COMPLETE_COUNT") for s in (seq, seq + 20)]


def test_a_share_partition_that_diverges_too_often_stops() -> None:
    rows = kafka_rows(count=250)
    for row in rows[100:200:20]:
        row["after"]["end_offset"] += 1
    assert len(check(rows, IMPL).divergences) == 5
    verdict = check(rows, IMPL, most=3)
    assert (len(verdict.divergences), verdict.checked) == (3, 141)
    assert verdict.reason == "109 events after the last are not checked: it diverged 3 times"
    assert check(rows, IMPL, most=1).divergences == verdict.divergences[:1]


def test_a_disagreement_ends_a_share_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, seq = spoiled("END_OFFSET", kafka_rows(count=60))
    disagreement = Finding(0, "spec", FindingKind.DISAGREEMENT, "n", "s", "r", "e", "b", "a")
    monkeypatch.setattr("replay.onward.agreed", lambda *_: (0, disagreement))
    verdict = check(rows)
    assert [(d.kind, d.seq) for d in verdict.divergences] == [(FindingKind.DISAGREEMENT, seq)]
    assert "no fault of the recording alone" in verdict.reason


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.long) for s in (1, 2, 3))])
def test_specification_and_implementation_agree_on_all_divergences(seed: int) -> None:
    diverged = 0
    for case in cases(seed, stories=1, spoilings=8):
        table = placed_table(case.table)
        plans = [
            attrs.evolve(plan_for(case.profile), against=against, max_divergences=10)
            for against in (BOTH, IMPL)
        ]
        both, impl = (check_rows(table, plan).verdict for plan in plans)
        assert places(both) == places(impl), case.spoiled
        assert (both.checked, both.reason) == (impl.checked, impl.reason), case.spoiled
        assert FindingKind.DISAGREEMENT not in {each.kind for each in both.divergences}
        diverged += both.verdict is Verdict.DIVERGES
    assert diverged > 1


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_segments_answer_alike(name: str, tmp_path: Path) -> None:
    rows, _seq = spoiled("END_OFFSET", kafka_rows(count=120), 40)
    rows[90]["after"]["end_offset"] += 1
    rows = [*kafka_rows(partition=1, count=20), *rows]
    path = write_trace(tmp_path / name, sorted(rows, key=lambda r: (r["partition"], r["seq"])))
    whole, parts = (
        replayed(path, plan=Plan(segment_events=n, max_divergences=9)) for n in (None, 17)
    )
    assert parts.verdicts == whole.verdicts
    assert [len(each.divergences) for each in whole.verdicts] == [2, 0]


def test_lag_goes_on_with_a_row_for_each_event() -> None:
    place = first_place(WRONG["loses a record"], 100)
    rows = broker({place: WRONG["loses a record"]})
    plan = Plan(max_divergences=MOST)
    first, *others = (lag_of(rows, attrs.evolve(plan, against=a)) for a in (BOTH, IMPL))
    assert first.schema.equals(LAG)
    assert first.column("seq").to_pylist() == list(range(len(rows)))
    assert others == [first]


def thief(faults: tuple[int, ...] = (155, 200)) -> list[Row]:
    """Return what a broker records that gives a lock away, and tells wrong windows later on."""
    change = WRONG["gives a lock away"]
    rows = broker({first_place(change, 100): change}, checkpoint=30)
    for seq in faults:
        rows[seq]["after"]["end_offset"] += 1
    return rows


@pytest.mark.parametrize(
    ("name", "size"), [("thief", 7), ("thief", 110), ("thief", 130), ("END_OFFSET", 15)]
)
def test_pieces_answer_alike(name: str, size: int) -> None:
    rows = thief() if name == "thief" else kafka_rows(count=MANY)
    rows = spoiled(name, rows, 20)[0] if name in SPOILED else rows
    whole = check(rows)
    assert whole.divergence
    assert check_rows(rows, Plan(max_divergences=MOST, piece_events=size)).verdict == whole


@pytest.mark.parametrize("name", ["thief", "leader"])
def test_days_answer_as_one_replay_with_states(name: str) -> None:
    """Nothing is adopted then: a checkpoint, or the next leader, is what the check goes on at."""
    if name == "leader":
        change = WRONG["gives a lock away"]
        rows = broker({first_place(change, 75, "write-faults"): change}, "write-faults")
    else:
        rows = thief()
    plan = Plan(max_divergences=MOST, state_folder="states")
    whole = check_rows(rows, plan)
    first = places(whole.verdict)[0]
    assert first == places(check(rows))[0]
    end = present(whole.left)
    assert end.state
    for day in (first[0], first[0] + 1, first[0] + 2, 110, 121, 151, 155, 156, len(rows) - 1):
        one = check_rows(rows[:day], plan)
        assert one.left
        if first[0] + 1 < day <= 110:
            assert one.verdict.reason.endswith("checkpoint or leader is still to come")
        carried = {one.verdict.partition: one.left}
        two = check_rows(rows[day:], plan, InputFacts(carried=carried))
        found = {*places(one.verdict), *places(two.verdict)}
        assert found == {*places(whole.verdict)}
        assert one.verdict.checked + two.verdict.checked == whole.verdict.checked
        assert present(two.left).state == end.state


def test_a_stream_tells_each_divergence_once_and_goes_on() -> None:
    rows, plan = thief(), Plan(max_divergences=MOST, state_folder="states")
    whole = check_rows(rows, plan).verdict
    before, alarms, checked = Before(), [], 0
    for start in range(0, len(rows), 45):
        judged = judge(whole.partition, arrived(rows[start : start + 45]), before, plan, Patience())
        before = Before(judged.left, judged.waiting)
        alarms += [(alarm.seq, alarm.name) for alarm in judged.alarms]
        checked += judged.counts.checked
    assert (alarms, checked) == (places(whole), whole.checked)
    assert len(alarms) == 3


def test_behind_a_divergence_that_ends_it_a_stream_checks_nothing() -> None:
    rows, plan = thief(), Plan(state_folder="states")
    judged = judge(rows[0]["partition"], arrived(rows[:200]), Before(), plan, Patience())
    assert (len(judged.alarms), judged.left and judged.left.state) == (1, None)
    later = judge(rows[0]["partition"], arrived(rows[200:]), Before(judged.left), plan, Patience())
    assert (later.alarms, later.counts.checked, later.counts.passed) == ((), 0, len(rows) - 200)


def test_of_what_diverged_before_the_first_of_each_kind_is_repeated() -> None:
    rows, plan = thief(), Plan(max_divergences=MOST, state_folder="states")
    left = present(check_rows(rows, plan).left)
    first, second, third = left.divergences
    assert of_each_kind((first, second, attrs.evolve(first, seq=300), third)) == left.divergences
