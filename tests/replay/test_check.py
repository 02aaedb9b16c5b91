from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import replay.check
from impl.kernel import KernelDivergence, KernelResult, replay_partition
from judge.finding import Finding, FindingKind
from model.errors import ErrorCode
from model.guards import Difference, Guard
from model.operations import CompleteWrite
from model.profile import KIP
from model.snapshot import DurableState
from replay.plan import Plan, is_sampled
from replay.verdict import LogKnowledge, PartitionVerdict, Problem, Verdict
from tests.judge.test_written import Story, wrote
from tests.replay.samples import (
    BOTH,
    IMPL,
    Row,
    aborted_rows,
    check_rows,
    draft_rows,
    first_of,
    kafka_rows,
    places,
    present,
    replayed,
    write_parquet,
)


def check(
    rows: list[Row],
    against: tuple[str, ...] = BOTH,
    profile: str = "kafka",
    state: str | None = None,
) -> PartitionVerdict:
    return check_rows(rows, Plan(profile, against, state_folder=state)).verdict


def spoiled() -> tuple[list[Row], int]:
    rows = kafka_rows()
    row = first_of(rows, lambda r: r["op"] == "acknowledge" and r["writes"])
    row["after"]["delivery_complete_count"] += 1
    return rows, row["seq"]


@pytest.mark.parametrize("against", [IMPL, BOTH])
def test_a_conforming_share_partition_is_checked_whole(against: tuple[str, ...]) -> None:
    verdict = check(kafka_rows(), against)
    assert (verdict.verdict, verdict.events, verdict.checked) == (Verdict.CONFORMS, 60, 60)


@pytest.mark.parametrize("against", [IMPL, BOTH])
def test_records_in_progress_are_checked(against: tuple[str, ...]) -> None:
    verdict = check(draft_rows(), against, profile="draft_resolved")
    assert (verdict.verdict, verdict.checked) == (Verdict.CONFORMS, 9)
    rows = draft_rows()
    rows[2]["result"]["marked"][1] = "NONE"
    found = check(rows, against, profile="draft_resolved")
    assert places(found) == [(2, Difference.MARKED.name)]


@pytest.mark.parametrize("against", [IMPL, BOTH])
def test_withheld_records_of_aborted_transactions_are_checked(against: tuple[str, ...]) -> None:
    verdict = check(aborted_rows(), against)
    assert (verdict.verdict, verdict.checked) == (Verdict.CONFORMS, 15)
    rows = aborted_rows()
    rows[0]["config"]["isolation_level"] = "read_uncommitted"
    assert places(check(rows, against)) == [(2, Guard.ONLY_COMMITTED_IS_ASKED_FOR.name)]


@pytest.mark.parametrize("against", [IMPL, BOTH])
def test_the_first_divergence_has_its_place_name_and_surroundings(against: tuple[str, ...]) -> None:
    rows, seq = spoiled()
    verdict = check(rows, against)
    assert (verdict.verdict, verdict.events, verdict.checked) == (Verdict.DIVERGES, 60, seq + 1)
    found = present(verdict.divergence)
    assert (found.place.source, found.place.line, found.seq) == ("trace.jsonl", seq + 1, seq)
    assert (found.kind, found.name) == (
        FindingKind.DIFFERENCE,
        Difference.DELIVERY_COMPLETE_COUNT.name,
    )
    assert found.engine == ", ".join(against)
    assert f'"seq":{seq}' in found.place.event
    assert found.before
    assert found.after


@pytest.mark.parametrize("against", [IMPL, BOTH])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(op="conquer"), "op is 'conquer'"),
        (lambda r: r.update(time_ms=r["time_ms"] + 1), "time_ms is "),
        (lambda r: r["after"].update(start_offset=-5), "start_offset is -5"),
        (lambda r: r["result"].update(status="FINE"), "FINE"),
    ],
)
def test_a_row_that_holds_no_event_is_unreadable_and_those_before_are_checked(
    change: Callable[[Row], None], message: str, against: tuple[str, ...]
) -> None:
    rows = kafka_rows()
    change(rows[40])
    verdict = check(rows, against)
    assert (verdict.verdict, verdict.events, verdict.checked) == (Verdict.UNREADABLE, 60, 40)
    problem = present(verdict.problem)
    assert (problem.source, problem.line) == ("trace.jsonl", 41)
    assert message in problem.message


@pytest.mark.parametrize("against", [IMPL, BOTH])
def test_a_divergence_before_an_unreadable_row_is_still_found(against: tuple[str, ...]) -> None:
    rows, seq = spoiled()
    rows[50]["op"] = "conquer"
    assert present(check(rows, against).divergence).seq == seq


@pytest.mark.parametrize("leader", [{}, {"leader_epoch": 3, "instance": 0}])
def test_what_a_trace_claims_of_overtaken_answers_is_not_believed(leader: dict[str, int]) -> None:
    story = Story()
    story.fetch(0, 9)
    story.acknowledge(0, 1, 2, wrote(0, 0, [0, 1, 0, 1], status=ErrorCode.PENDING))
    story.do(CompleteWrite(7, ErrorCode.NONE, overtaken=True))
    story.lead(DurableState(0, 0))
    assert story.verdict() is None
    rows = [{**row, **leader} for row in story.rows()]
    divergence = present(check_rows(rows, Plan("kip")).verdict.divergence)
    assert divergence.name == Difference.PERSISTED.name


def test_of_a_trace_without_a_leader_nothing_is_known() -> None:
    rows = [{**row, "seq": i} for i, row in enumerate(kafka_rows()[1:])]
    verdict = check(rows)
    assert (verdict.verdict, verdict.checked) == (Verdict.UNKNOWN, 0)
    assert "first event is not initialize" in verdict.reason


def disagreement(rows: list[Row], seq: int, against: tuple[str, ...] = BOTH) -> Finding:
    """Return what is found at an event where the kernel and the engines differ."""
    found = present(check(rows, against, state="states").divergence)
    assert (found.kind, found.seq) == (FindingKind.DISAGREEMENT, seq)
    return found


@pytest.mark.parametrize("against", [IMPL, BOTH])
@pytest.mark.parametrize(
    "divergence",
    [
        KernelDivergence(7, Guard.CAN_ACQUIRE, None),
        KernelDivergence(50, Difference.DELIVERY_COMPLETE_COUNT, None),
    ],
)
def test_a_kernel_that_differs_from_the_engines_is_a_disagreement(
    monkeypatch: pytest.MonkeyPatch, divergence: KernelDivergence, against: tuple[str, ...]
) -> None:
    def differs(table: pa.Table, *more: Any) -> KernelResult:  # noqa: ANN401 - passed on
        result, row = replay_partition(table, *more), divergence.row
        if table.num_rows <= row:
            return result
        return attrs.evolve(result, events=row, divergence=divergence)

    monkeypatch.setattr(replay.check, "replay_partition", differs)
    told = f"kernel: {divergence.kind.name} at event {divergence.row}"
    assert told in disagreement(kafka_rows(), divergence.row, against).expected


@pytest.mark.parametrize("field", ["lag", "start_offsets", "end_offsets"])
def test_a_window_or_lag_of_the_kernel_that_is_not_the_specifications_is_shown(
    monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    def altered(*arguments: Any) -> KernelResult:  # noqa: ANN401 - as the kernel takes them
        result = replay_partition(*arguments)
        getattr(result, field)[20] += 1
        return result

    monkeypatch.setattr(replay.check, "replay_partition", altered)
    assert "kernel: [" in disagreement(kafka_rows(), 20).expected


def test_the_sample_is_the_same_every_time_and_of_about_the_size_asked_for() -> None:
    names = [f"group:topic:{i}" for i in range(1000)]
    sample = {name for name in names if is_sampled(name, 0.25)}
    assert 200 < len(sample) < 300
    assert sample == {name for name in names if is_sampled(name, 0.25)}
    assert all(is_sampled(name, 0.5) for name in sample)
    assert all(is_sampled(name, 1.0) for name in names)


def damage(path: Path) -> None:
    """Damage the second row group, in a column that does not tell whether the file is in order."""
    with pq.ParquetFile(path) as file:
        column = file.metadata.row_group(1).column(file.schema_arrow.names.index("time_ms"))
        start = column.dictionary_page_offset or column.data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)


@pytest.mark.parametrize("plan", [Plan(), Plan(piece_events=7)])
def test_a_damaged_place_in_a_file_loses_only_what_lies_there(tmp_path: Path, plan: Plan) -> None:
    rows = [row for p in range(3) for row in kafka_rows(partition=p, count=20)]
    path = write_parquet(tmp_path / "t.parquet", rows, 20)
    damage(path)
    found = replayed(path, plan=plan).verdicts
    assert [each.verdict for each in found] == [
        Verdict.CONFORMS,
        Verdict.UNREADABLE,
        Verdict.CONFORMS,
    ]
    assert [each.events for each in found] == [20, 20, 20]
    problem = present(found[1].problem)
    assert problem.message.startswith("cannot be read: ")
    assert attrs.evolve(problem, message="") == Problem(str(path), None, "", "core:orders:1")


@pytest.mark.parametrize(
    ("changes", "log"),
    [
        ({}, LogKnowledge.ALL),
        ({"log_known": False}, LogKnowledge.NOTHING),
        ({"log_start_offset": 0, "log_end_offset": 5}, LogKnowledge.FROM_FIRST_EVENT),
    ],
)
def test_what_a_trace_tells_of_its_log_is_part_of_the_verdict(
    changes: Row, log: LogKnowledge
) -> None:
    rows = kafka_rows()[:1]
    rows[0].update(changes)
    rows[0]["config"]["auto_offset_reset"] = "earliest"
    assert check(rows, IMPL).log is log


def test_a_plan_may_have_a_bound_of_its_own() -> None:
    assert Plan("kip").rules == KIP
    assert Plan("kip", offered_within=3).rules == attrs.evolve(KIP, offered_within=3)
    assert Plan("kip", sweep_ms=7).rules == attrs.evolve(KIP, sweep_ms=7)


def test_events_behind_damage_are_counted_and_those_before_are_checked(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", kafka_rows(count=60), 20)
    damage(path)
    plan = Plan(piece_events=15)
    (found,) = replayed(path, plan=plan).verdicts
    assert (found.verdict, found.events, found.checked) == (Verdict.UNREADABLE, 60, 20)
