"""A replay in segments, or piece by piece, gives what a whole one gives."""

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from impl.kernel import KernelResult, replay_partition
from judge.finding import FindingKind
from model.profile import Profile
from model.trace_arrow import table_from_rows
from model.whole_state import WholeState
from replay import check
from replay.check_sorted import check_segment, joined_segments
from replay.gather import with_places
from replay.pieces import PartitionRows
from replay.plan import CheckedPartition, InputFacts, Plan
from replay.processes import open_processes
from replay.run import large_ones, replay_sources
from replay.sources import find_sources
from replay.verdict import PartitionVerdict, Problem, Verdict, merged
from tests.judge.test_written import refusing
from tests.lockstep.spoiled import cases
from tests.replay.samples import (
    TRACES,
    Row,
    check_rows,
    kafka_rows,
    lag_of,
    placed,
    present,
    replayed,
    write_lines,
)
from tests.traces import NAMES, QUICK
from tests.whole_states import altered

NAME = "core:orders:0"
PIECEWISE = QUICK, "agent-4.4.0-records-deleted", "agent-4.4.0-seven-members"
"""The traces that are also checked in pieces alone, and in segments alone."""
RECORDED = sorted((TRACES.parent / "recorded").glob("*.gz"))
CONFORM = "kafka-4.3.1-renewals", "kafka-4.4.0-dead-letters"
"""Those that conform whole, as all of the others, the traces, do."""


def plan_for(profile: Profile) -> Plan:
    fetches, sweep = profile.offered_within, profile.sweep_ms
    return Plan(profile.name, offered_within=fetches, sweep_ms=sweep)


def placed_table(table: pa.Table) -> pa.Table:
    return with_places(table, "trace.jsonl", np.arange(1, len(table) + 1))


def cut(rows: list[Row] | pa.Table, plan: Plan, every: int, folder: Path) -> CheckedPartition:
    """Return the segments of a share-partition, of which a folder gets the rows."""
    table = placed(rows) if isinstance(rows, list) else rows
    name = table.column("partition")[0].as_py()
    return check_rows(table, plan, InputFacts(large={name: every}, folder=str(folder)))


def joined_of(
    checked: CheckedPartition, parts: list[tuple[int, PartitionVerdict]]
) -> PartitionVerdict | None:
    return joined_segments(checked.verdict, len(checked.segments), dict(parts))


def in_segments(
    rows: list[Row] | pa.Table, plan: Plan, every: int, folder: Path
) -> PartitionVerdict | None:
    checked = cut(rows, plan, every, folder)
    if not checked.segments:
        return checked.verdict
    # They may come in any order.
    parts = [check_segment(segment) for segment in reversed(checked.segments)]
    return joined_of(checked, parts)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 8))]
)
def test_what_is_spoiled_anywhere_is_told_alike(seed: int, tmp_path: Path) -> None:
    verdicts = dict.fromkeys(Verdict, 0)
    for number, case in enumerate(cases(seed, stories=1, spoilings=12)):
        table, plan = placed_table(case.table), plan_for(case.profile)
        whole = check_rows(table, plan).verdict
        pieces = attrs.evolve(plan, piece_events=1 + number % 9)
        assert in_segments(table, plan, 1 + number % 9, tmp_path) == whole, case.spoiled
        assert check_rows(table, pieces).verdict == whole, case.spoiled
        verdicts[whole.verdict] += 1
    assert min(verdicts[Verdict.DIVERGES], verdicts[Verdict.UNREADABLE]) > 5


@pytest.mark.parametrize(
    "path",
    [
        *(pytest.param(p, marks=pytest.mark.slow, id=p.name) for p in RECORDED),
        *(
            pytest.param(TRACES / n, marks=[] if n == QUICK else pytest.mark.slow, id=n)
            for n in NAMES
        ),
    ],
)
def test_every_recorded_trace_is_told_alike(path: Path, tmp_path: Path) -> None:
    whole = Plan(invariants_every=20)
    pieces = attrs.evolve(whole, piece_events=37)
    plans = [whole, attrs.evolve(pieces, segment_events=23)]
    if path.name.startswith(PIECEWISE):
        plans += [pieces, attrs.evolve(whole, segment_events=61)]
    found, *others = (
        replayed(path, plan=plan, out=tmp_path / str(number)) for number, plan in enumerate(plans)
    )
    assert any(verdict.checked > 30 for verdict in found.verdicts)
    if path.parent == TRACES or path.name.startswith(CONFORM):
        assert found.counts.conforms == len(found.verdicts)
        assert found.counts.checked == found.counts.events
    lag = pq.read_table(tmp_path / "0" / "lag").sort_by("partition")
    for number, other in enumerate(others, 1):
        assert (other.verdicts, other.counts) == (found.verdicts, found.counts)
        assert pq.read_table(tmp_path / str(number) / "lag").sort_by("partition").equals(lag)


def test_a_segment_that_does_not_close_is_a_disagreement(tmp_path: Path) -> None:
    """Whatever the kernel hands out otherwise, the engines notice at the end of the segment."""
    plan = Plan(invariants_every=0)
    segmented = cut(kafka_rows(count=40), plan, 20, tmp_path)
    first, last = segmented.segments
    seen = set()
    for path, other in altered(first.after):
        if "[" in path:
            continue
        part = check_segment(attrs.evolve(first, after=other))
        verdict = present(joined_of(segmented, [part, check_segment(last)]))
        assert (verdict.verdict, verdict.checked) == (Verdict.DIVERGES, 20)
        divergence = present(verdict.divergence)
        assert divergence.kind is FindingKind.DISAGREEMENT
        assert (divergence.seq, divergence.engine) == (19, "impl kernel, spec")
        assert f"state{path} " in divergence.expected
        seen.add(".".join(path.split(".")[:3]))
    fields = {f".state.{field.name}" for field in attrs.fields(WholeState)}
    assert seen >= {".seq", ".time_ms", *fields} - {".state.waiting", ".state.stuck"}


def test_a_segment_that_begins_elsewhere_does_not_close(tmp_path: Path) -> None:
    """What stands before a segment is used: from another state it ends in another."""
    plan = Plan(invariants_every=0)
    segmented = cut(kafka_rows(count=40), plan, 20, tmp_path)
    last = segmented.segments[-1]
    before = present(last.before)
    other = attrs.evolve(before, state=attrs.evolve(before.state, next_write=99))
    _, part = check_segment(attrs.evolve(last, before=other))
    assert "state.state.next_write" in present(part.divergence).expected


def test_a_kernel_that_finds_nothing_is_told_alike(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    good, rows = table_from_rows(kafka_rows(count=40)), kafka_rows(count=40)
    rows[25]["after"]["end_offset"] += 1

    def blind(table: pa.Table, *more: Any) -> KernelResult:  # noqa: ANN401 - passed on
        return replay_partition(good.slice(table.column("seq")[0].as_py(), len(table)), *more)

    monkeypatch.setattr("replay.check.replay_partition", blind)
    # With states to keep the rows of each share-partition are taken by themselves.
    whole = check_rows(rows, Plan(state_folder="states")).verdict
    assert whole.divergence
    assert whole.divergence.kind is FindingKind.DISAGREEMENT
    assert whole.divergence.expected.endswith("END_OFFSET at event 25")
    parts = in_segments(rows, Plan(piece_events=15, state_folder="states"), 7, tmp_path)
    assert parts == attrs.evolve(whole, reason="")


def test_segments_before_a_divergence_are_kept(tmp_path: Path) -> None:
    rows, plan = kafka_rows(count=60), Plan(piece_events=15)
    rows[40]["after"]["end_offset"] += 1
    assert cut(rows, plan, 7, tmp_path).segments
    assert in_segments(rows, plan, 7, tmp_path) == check_rows(rows, Plan()).verdict


def test_a_verdict_needs_all_segments_before_the_first_that_diverges(tmp_path: Path) -> None:
    segmented = cut(kafka_rows(count=40), Plan(), 10, tmp_path)
    first, second, *_ = segmented.segments
    wrong = attrs.evolve(first, after=attrs.evolve(present(first.after), time_ms=99))
    assert joined_of(segmented, [check_segment(second)]) is None
    assert joined_of(segmented, [check_segment(first)]) is None
    verdict = present(joined_of(segmented, [check_segment(wrong)]))
    assert (verdict.verdict, verdict.checked) == (Verdict.DIVERGES, 10)


def test_a_share_partition_that_begins_late_is_not_cut(tmp_path: Path) -> None:
    rows = [{**row, "seq": row["seq"] - 1} for row in kafka_rows(count=20)[1:]]
    segmented = cut(rows, Plan(), 5, tmp_path)
    assert not segmented.segments
    assert segmented.verdict.verdict is Verdict.UNKNOWN


@pytest.mark.slow
def test_segments_are_checked_by_processes(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", kafka_rows(count=300))
    whole = replayed(path)
    with open_processes(2) as runner:
        parts = replay_sources(runner, find_sources([path]), Plan(segment_events=40))
    assert parts.verdicts == whole.verdicts
    assert whole.counts.conforms == 1


def test_what_one_worker_would_do_alone_is_cut() -> None:
    events = {"hot": 800_000, "large": 50_000, "small": 300}
    cut_after = large_ones(events, Plan(), 2)
    assert set(cut_after) == {"hot"}
    assert cut_after["hot"] * 8 >= 800_000
    assert large_ones({"few": 1000}, Plan(), 2) == {}
    assert large_ones(events, Plan(), 1) == {}
    assert large_ones(events, Plan(against=("impl",)), 8) == {}
    assert large_ones(events, Plan(segment_events=300), 1) == {"hot": 300, "large": 300}


def test_a_file_of_rows_is_written_whole(tmp_path: Path) -> None:
    """A task that runs twice leaves what it leaves when it runs once."""
    rows = kafka_rows(count=40)
    first = cut(rows, Plan(), 10, tmp_path)
    assert cut(rows, Plan(), 10, tmp_path) == first
    assert not list(tmp_path.glob("*.draft"))


@pytest.mark.parametrize("against", [("impl",), ("spec", "impl")])
def test_a_refused_request_renews_all_or_none_throughout(
    against: tuple[str, ...], tmp_path: Path
) -> None:
    for keeps, verdict in (
        ((True, True), Verdict.CONFORMS),
        ((False, False), Verdict.CONFORMS),
        ((False, True), Verdict.DIVERGES),
        ((True, False), Verdict.DIVERGES),
    ):
        rows, plan = refusing(keeps), Plan(against=against)
        assert check_rows(rows, plan).verdict.verdict is verdict
        assert present(in_segments(rows, plan, 3, tmp_path)).verdict is verdict
        checked = check_rows(rows, attrs.evolve(plan, profile="kip"))
        assert (checked.verdict.verdict is Verdict.CONFORMS) == (not any(keeps))


def test_the_lag_is_that_of_what_a_leader_does() -> None:
    rows = refusing((False, False))
    tables = [lag_of(rows, Plan(against=against)) for against in (("impl",), ("spec", "impl"))]
    assert [table.num_rows for table in tables] == [len(rows)] * 2


def test_a_piece_that_does_not_close_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the kernel hands on otherwise, the engines notice at the end of the piece."""
    rows, plan = kafka_rows(count=20), Plan(invariants_every=0, state_folder="states")
    through = check.through_kernel
    left = present(check_rows(rows, plan).left)
    others = [other for path, other in altered(left.state) if "[" not in path]
    for other in others[::7]:

        def altering(*of: Any, handed: Any = other) -> Any:  # noqa: ANN401 - passed on
            whole, kernel = through(*of)
            return whole, attrs.evolve(kernel, states=((20, handed),))

        monkeypatch.setattr("replay.check_sorted.through_kernel", altering)
        found = present(check_rows(rows, plan).verdict.divergence)
        assert found.kind is FindingKind.DISAGREEMENT
    assert len(others) > 7


def test_what_follows_a_divergence_is_counted_and_not_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = kafka_rows(count=60)
    rows[25]["after"]["end_offset"] += 1
    through, sizes = check.through_kernel, []

    def noted(rows: PartitionRows, *more: Any) -> Any:  # noqa: ANN401 - passed on
        sizes.append(rows.events)
        return through(rows, *more)

    monkeypatch.setattr("replay.check_sorted.through_kernel", noted)
    checked = check_rows(rows, Plan(piece_events=10, state_folder="states"))
    verdict = checked.verdict
    assert (verdict.verdict, verdict.checked, verdict.events) == (Verdict.DIVERGES, 26, 60)
    assert checked.left is None
    assert sum(sizes) < 40


def test_the_parts_of_a_verdict() -> None:
    parts = [
        PartitionVerdict(NAME, Verdict.CONFORMS, 5, 5, gaps=1, lost=2, latest_ms=3),
        PartitionVerdict(NAME, Verdict.CONFORMS, 4, 4, gaps=0, lost=1),
    ]
    whole = merged(parts, 9)
    assert (whole.events, whole.checked, whole.gaps, whole.lost, whole.latest_ms) == (9, 9, 1, 3, 3)
    bad = merged(parts, 9, Problem("f", 1, "no event", NAME))
    assert bad.verdict is Verdict.UNREADABLE


def test_the_operations_before_a_divergence_are_those_of_all_pieces() -> None:
    rows = kafka_rows(count=60)
    rows[40]["after"]["delivery_complete_count"] += 1
    plans = (Plan(piece_events=size, max_divergences=most) for size in (1000, 8) for most in (1, 9))
    found = [check_rows(rows, plan).verdict.divergence for plan in plans]
    assert len({each.operations_before for each in found if each}) == 1
