"""States that are carried from one day's files to the next."""

from itertools import pairwise
from pathlib import Path
from random import Random

import attrs
import pytest

from judge.finding import Finding, FindingKind, FindingPlace
from model.profile import KAFKA, KIP
from replay.plan import Plan
from replay.state_file import FORMER, NAME, Carried, StateError, read_states, write_states
from replay.verdict import LogKnowledge, PartitionVerdict, Replay, Verdict
from tests.lockstep.spoiled import cases
from tests.replay.samples import Row, first_of, kafka_rows, led, replayed, write_lines, write_trace
from tests.whole_states import FULL

DIVERGENCE = attrs.evolve(
    Finding(3, "spec", FindingKind.GUARD, "G", "s", "r", "e", "x", "y", 5),
    place=FindingPlace("b", "f", 4, "{}"),
)
STATES = (
    Carried("a", FULL, LogKnowledge.NOTHING, 3, 1, unfinished=True),
    Carried("b", None, divergence=DIVERGENCE),
)


def of_days(folder: Path | None, *days: Path, events: int | None = None) -> Replay:
    state = str(folder) if folder else None
    plan = Plan(invariants_every=0, segment_events=events, state_folder=state)
    return replayed(*days, plan=plan)


def rows_of_two() -> list[Row]:
    return [*kafka_rows(count=60), *kafka_rows(partition=1, count=60)]


def write(path: Path, rows: list[Row]) -> Path:
    return write_trace(path, sorted(rows, key=lambda row: (row["partition"], row["seq"])))


def split(folder: Path, rows: list[Row], *cuts: int, suffix: str = "jsonl") -> list[Path]:
    """Write a file for each day; a day ends before these seqs."""
    bounds = [0, *cuts, 1 << 40]
    return [
        write(folder / f"day-{day}.{suffix}", [row for row in rows if low <= row["seq"] < high])
        for day, (low, high) in enumerate(pairwise(bounds))
    ]


def shown(verdict: PartitionVerdict) -> object:
    """Return a verdict without what counts the events of a day, or says in which file they are."""
    found = verdict.divergence and attrs.evolve(
        verdict.divergence, place=FindingPlace(verdict.partition)
    )
    return verdict.partition, verdict.verdict, found, verdict.log


def test_what_was_left_is_read_again(tmp_path: Path) -> None:
    assert read_states(tmp_path / "none", KAFKA) == {}
    write_states(tmp_path / "new", KAFKA, STATES)
    assert tuple(read_states(tmp_path / "new", KAFKA).values()) == STATES
    assert [path.name for path in (tmp_path / "new").iterdir()] == [NAME]


def test_of_equal_states_in_any_order_the_file_is_the_same(tmp_path: Path) -> None:
    for name, states in (("one", STATES), ("other", STATES[::-1])):
        write_states(tmp_path / name, KAFKA, states, {"n": 1})
    one, other = ((tmp_path / name / NAME).read_bytes() for name in ("one", "other"))
    assert one == other
    assert STATES[0].line is STATES[0].line, "made once"


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    write_states(tmp_path, KAFKA, STATES)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes().replace(b'"version": 7', b'"version": 6'))
    with pytest.raises(StateError, match=rf"{NAME} is of version 6; allowed: 7$"):
        read_states(tmp_path, KAFKA)
    (tmp_path / FORMER).touch()
    with pytest.raises(StateError, match=rf"{FORMER} is of an earlier version; allowed: 7$"):
        read_states(tmp_path, KAFKA)


def test_a_file_of_other_rules_is_refused(tmp_path: Path) -> None:
    write_states(tmp_path, KAFKA, STATES)
    for rules in (KIP, attrs.evolve(KAFKA, sweep_ms=1)):
        with pytest.raises(StateError, match="is of other rules"):
            read_states(tmp_path, rules)


@pytest.mark.parametrize(
    "text", ["no state", *(f"0\n{head}\n" for head in ("7", "[1]", '"ab"', "no JSON", "null"))]
)
def test_what_is_no_file_of_states_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    for folder in (tmp_path, tmp_path / NAME):
        with pytest.raises(StateError, match=r"is no file of states$"):
            read_states(folder, KAFKA)
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    with pytest.raises(StateError, match=r"is no file of states$"):
        read_states(tmp_path, KAFKA)


def test_an_altered_byte_is_noticed(tmp_path: Path) -> None:
    """Wherever it is: what is left of the file is refused, or tells what it told before."""
    write_states(tmp_path, KAFKA, STATES)
    good = (tmp_path / NAME).read_bytes()
    refused = 0
    for place in range(0, len(good), 97):
        bad = good[:place] + bytes([good[place] ^ 0x11]) + good[place + 1 :]
        (tmp_path / NAME).write_bytes(bad)
        try:
            assert tuple(read_states(tmp_path, KAFKA).values()) == STATES
        except StateError:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("events", [None, 7])
def test_days_answer_as_one_that_is_given_all(
    suffix: str, events: int | None, tmp_path: Path
) -> None:
    rows, states = rows_of_two(), tmp_path / "states"
    days = split(tmp_path, rows, 13, 14, 41, suffix=suffix)
    given_all = of_days(None, write(tmp_path / "all.jsonl", rows))
    checked = 0
    for day in days:
        found = of_days(states, day, events=events)
        assert [shown(v) for v in found.verdicts] == [shown(v) for v in given_all.verdicts]
        checked += found.counts.checked
    assert checked == given_all.counts.checked == 120


def test_a_divergence_is_the_one_of_a_replay_of_all(tmp_path: Path) -> None:
    rows, states = rows_of_two(), tmp_path / "states"
    first_of(rows, lambda row: row["seq"] == 30)["after"]["end_offset"] += 1
    given_all = of_days(None, write(tmp_path / "all.jsonl", rows))
    first, second, third = split(tmp_path, rows, 20, 40)
    assert of_days(states, first).counts.conforms == 2
    for day in (second, third):
        found = of_days(states, day)
        assert [shown(v) for v in found.verdicts] == [shown(v) for v in given_all.verdicts]
    assert [v.checked for v in found.verdicts] == [0, 20]
    assert found.verdicts[0].reason == "it diverged in an earlier replay"
    assert found.counts.diverged == given_all.counts.diverged == 1


def test_what_diverged_is_reported_on_days_without_a_row_of_it(tmp_path: Path) -> None:
    rows, states = rows_of_two(), tmp_path / "states"
    rows[5]["after"]["end_offset"] += 1
    first, second = split(tmp_path, rows, 20)
    write(second, [row for row in rows[60:] if row["seq"] >= 20])
    assert of_days(states, first).counts.diverged == 1
    found = of_days(states, second)
    assert [(v.verdict, v.events) for v in found.verdicts] == [
        (Verdict.DIVERGES, 0),
        (Verdict.CONFORMS, 40),
    ]


def test_a_share_partition_without_a_row_stays_as_it_was(tmp_path: Path) -> None:
    one, two = kafka_rows(count=60), kafka_rows(partition=1, count=60)
    first = write(tmp_path / "0.jsonl", [*one[:20], *two[:20]])
    second = write(tmp_path / "1.jsonl", two[20:])
    third = write(tmp_path / "2.jsonl", one[20:])
    states = tmp_path / "states"
    conforming = [of_days(states, day).counts.conforms for day in (first, second, third)]
    assert conforming == [2, 1, 1]


@pytest.mark.parametrize("plan", [Plan(piece_events=7), Plan(segment_events=7)])
def test_a_long_share_partition_that_comes_twice_changes_nothing(
    plan: Plan, tmp_path: Path
) -> None:
    day = write(tmp_path / "day.parquet", kafka_rows(count=40))
    states = tmp_path / "states"
    plan = attrs.evolve(plan, state_folder=str(states), invariants_every=0)
    assert replayed(day, plan=plan).counts.conforms == 1
    before = (states / NAME).read_bytes()
    (again,) = replayed(day, plan=plan).verdicts
    assert again.verdict is Verdict.UNREADABLE
    assert again.problem
    assert again.problem.message == "seq 0 is of an earlier replay, after which seq 40 is next"
    assert (states / NAME).read_bytes() == before


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_day_that_is_missing_or_comes_twice_changes_nothing(suffix: str, tmp_path: Path) -> None:
    states = tmp_path / "states"
    first, second, third = split(tmp_path, kafka_rows(count=60), 20, 40, suffix=suffix)
    assert of_days(states, first).counts.conforms == 1
    before = (states / NAME).read_bytes()
    for day, message in (
        (third, "seq 20 is missing: the next is 40"),
        (first, "seq 0 is of an earlier replay, after which seq 20 is next"),
    ):
        (verdict,) = of_days(states, day).verdicts
        assert verdict.verdict is Verdict.UNREADABLE
        assert verdict.problem
        assert verdict.problem.message == message
        assert (states / NAME).read_bytes() == before
    assert of_days(states, second).counts.conforms == 1
    assert of_days(states, third).counts.conforms == 1


def test_a_leader_goes_on_the_next_day(tmp_path: Path) -> None:
    rows, states = led(kafka_rows(count=60), 4), tmp_path / "states"
    first, second = split(tmp_path, rows, 25)
    assert of_days(states, first).counts.conforms == 1
    found = of_days(states, second)
    assert (found.counts.conforms, found.counts.gaps) == (1, 0)


def test_events_that_a_leader_lost_overnight_are_a_gap(tmp_path: Path) -> None:
    """No row behind it tells the state, so none is used until the next leader begins."""
    rows, states = led(kafka_rows(count=60), 4), tmp_path / "states"
    first, lost, third, fourth = split(tmp_path, rows, 25, 30, 45)
    fifth = write(tmp_path / "5.jsonl", led(kafka_rows(partition=0, count=20), 6))
    assert of_days(states, first).counts.conforms == 1
    lost.unlink()
    for day in (third, fourth):
        (verdict,) = of_days(states, day).verdicts
        assert (verdict.verdict, verdict.gaps, verdict.checked) == (Verdict.UNKNOWN, 1, 0)
    (verdict,) = of_days(states, fifth).verdicts
    # One leader is missing, and what this one reads is not what was written before.
    assert (verdict.gaps, verdict.divergence and verdict.divergence.name) == (1, "PERSISTED")


def test_rows_of_a_leader_before_the_last_come_too_late(tmp_path: Path) -> None:
    states = tmp_path / "states"
    later = write(tmp_path / "later.jsonl", led(kafka_rows(count=30), 5))
    assert of_days(states, later).counts.conforms == 1
    early = write(tmp_path / "early.jsonl", led(kafka_rows(count=30), 4))
    (verdict,) = of_days(states, early).verdicts
    assert verdict.problem
    assert "is of an earlier replay" in verdict.problem.message
    plain = write(tmp_path / "plain.jsonl", [{**r, "seq": r["seq"] + 30} for r in kafka_rows()])
    (verdict,) = of_days(states, plain).verdicts
    assert verdict.problem
    assert "with and without a leader_epoch" in verdict.problem.message


def test_an_interrupted_replay_leaves_the_states_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = tmp_path / "states"
    first, second = split(tmp_path, kafka_rows(count=60), 20)
    assert of_days(states, first).counts.conforms == 1
    before = (states / NAME).read_bytes()

    def interrupts(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("replay.run._check", interrupts)
        assert of_days(states, second).interrupted
    assert (states / NAME).read_bytes() == before
    assert of_days(states, second).counts.conforms == 1


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))]
)
def test_whatever_is_spoiled_the_last_day_answers_as_one_given_all(
    seed: int, tmp_path: Path
) -> None:
    """Days that end anywhere: behind a gap, with writes outstanding, after a leader that failed.

    A day of which nothing is judged says so.
    """
    random, verdicts = Random(seed), dict.fromkeys(Verdict, 0)  # noqa: S311 - a test, no secret
    for number, case in enumerate(cases(seed, stories=1, spoilings=3)):
        rows, rules = case.table.to_pylist(), case.profile
        if not rows:
            continue
        plan = Plan(
            rules.name,
            invariants_every=0,
            offered_within=rules.offered_within,
            sweep_ms=rules.sweep_ms,
        )
        cut = random.randrange(1, len(rows)) if len(rows) > 1 else 1
        folder = tmp_path / str(number)
        folder.mkdir()
        files = [
            write_lines(folder / f"{day}.jsonl", part)
            for day, part in enumerate((rows, rows[:cut], rows[cut:]))
        ]
        (expected,) = replayed(files[0], plan=plan).verdicts
        plan = attrs.evolve(plan, state_folder=str(folder), segment_events=random.choice((None, 5)))
        for day in files[1:]:
            found = replayed(day, plan=plan).verdicts
        if expected.verdict is Verdict.UNREADABLE:
            assert [each.verdict for each in found] == [Verdict.UNREADABLE], case.spoiled
        elif cut < len(rows):
            operations = [row["op"] for row in rows[cut - 1 :]]
            is_judged = any("gap" not in pair for pair in pairwise(operations))
            if expected.verdict is Verdict.CONFORMS and not is_judged:
                expected = attrs.evolve(expected, verdict=Verdict.UNKNOWN)
            assert [shown(each) for each in found] == [shown(expected)], case.spoiled
        verdicts[expected.verdict] += 1
    assert min(verdicts[kind] for kind in (Verdict.CONFORMS, Verdict.DIVERGES)) > 0
