"""Files at addresses get the verdicts that the same files get as files, with the same places."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import attrs
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from model.trace_json import line_from_row
from replay.distant import replay_distant
from replay.plan import Plan
from replay.processes import SessionError
from replay.sources import NoSuchTraceError
from replay.verdict import Recording, Replay, Verdict
from tests.replay.samples import (
    FAST,
    RECORDED,
    TRACES,
    present,
    replayed,
    rows_of,
    write_lines,
    write_parquet,
)

pytestmark = pytest.mark.xdist_group("spark")

SPLIT = "spark.sql.files.maxPartitionBytes"


@pytest.fixture
def split(spark: SparkSession) -> Iterator[None]:
    """Let Spark read files in parts of a few lines."""
    before = spark.conf.get(SPLIT)
    spark.conf.set(SPLIT, "20000b")
    yield
    spark.conf.set(SPLIT, before or "128m")


def comparable(replay: Replay) -> Replay:
    """A replay without what says where and how fast it ran."""
    problems = tuple(sorted(replay.problems, key=repr))
    recordings = tuple(sorted(replay.recordings, key=repr))
    return attrs.evolve(
        replay,
        seconds=0,
        runner="",
        problems=problems,
        recordings=recordings,
        passed_over=tuple(sorted(replay.passed_over)),
    )


def same(spark: SparkSession, *paths: Path, plan: Plan = FAST) -> Replay:
    """Replay files here and by their addresses, and return the replay that both are."""
    here = replayed(*paths, plan=plan)
    far = replay_distant(spark, [f"file:{path}" for path in paths], plan)
    assert comparable(far) == comparable(here)
    assert far.runner.startswith("Spark local[")
    return far


@pytest.mark.slow
@pytest.mark.usefixtures("split")
def test_what_released_brokers_recorded_gets_the_same_verdicts(spark: SparkSession) -> None:
    found = same(spark, TRACES, plan=Plan(against=("impl",)))
    assert (found.counts.conforms, found.counts.checked) == (24, 10_440)
    recorded = same(spark, RECORDED, plan=FAST)
    assert recorded.recordings


@pytest.mark.slow
@pytest.mark.usefixtures("split")
def test_all_forms_and_odd_names_get_the_same_places(spark: SparkSession, tmp_path: Path) -> None:
    rows = rows_of(0, 1, 2)
    rows[60]["after"]["delivery_complete_count"] += 1
    folder = tmp_path / "a b%20[1]{x}"
    folder.mkdir()
    for path, line in (
        (write_lines(folder / "lines*.jsonl", rows), 61),
        (write_lines(folder / "packed ü.jsonl.gz", rows), 61),
        (write_parquet(folder / "c?.parquet", rows, 30), 61),
        (write_parquet(folder / "d.parquet", rows[::-1], 30), len(rows) - 60),
    ):
        found = same(spark, path, plan=Plan(against=("spec", "impl")))
        place = present(found.verdicts[1].divergence).place
        assert (place.source, place.line) == (str(path), line)


LINES = [line_from_row(row) for row in rows_of(0)]
LATER = line_from_row({**rows_of(0)[20], "time_ms": rows_of(0)[20]["time_ms"] + 1})
OTHER = b"".join(line_from_row(row) for row in rows_of(1))
HEADER, TRAILER = b'{"recorder": {}}\n', b'{"trailer": {"dropped": 2, "faults": 1}}\n'


def whole(*lines: bytes) -> bytes:
    return b"".join(lines) + OTHER


SPOILED = {
    "utf-8": whole(*LINES[:20], b'{"partition":"core:orders:0","m":"\xff"}\n', *LINES[21:]),
    "name": whole(*LINES[:20], LINES[20].replace(b'"time_ms"', b'"time"'), *LINES[21:]),
    "nameless": whole(*LINES[:20], b"{\n", b"\r\n", b"\n", *LINES[20:]),
    "again": whole(*LINES[:21], LINES[20], *LINES[21:]),
    "twice": whole(*LINES[:21], LATER, *LINES[21:]),
    "missing": whole(*LINES[:20], *LINES[21:]),
    "null": whole(*LINES[:20], LINES[20].replace(b'"end_offset"', b'"end"'), *LINES[21:]),
    "both": whole(*LINES[:10], *LINES[11:20], b'{"partition":"core:orders:0"\n', *LINES[21:]),
    "late": whole(*LINES[1:]),
    "all bad": b'{"partition":"core:orders:9"\n' + OTHER,
    "cut": b"".join([OTHER, *LINES[:20], LINES[20][:-9]]),
    "cut recording": b"".join([HEADER, OTHER, *LINES[:20], LINES[20][:-9]]),
    "bad recording": b"".join([HEADER, OTHER, *LINES[:20], LINES[20][:-9], b"\n"]),
    "closed recording": b"".join([HEADER, OTHER, *LINES, TRAILER]),
    "no line feed": whole(*LINES)[:-1],
}


@pytest.mark.slow
@pytest.mark.usefixtures("split")
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_what_is_bad_is_bad_in_the_same_words(
    spark: SparkSession, tmp_path: Path, *, packed: bool
) -> None:
    paths = [tmp_path / f"{nth}.jsonl{'.gz' if packed else ''}" for nth in range(len(SPOILED))]
    for nth, (path, data) in enumerate(zip(paths, SPOILED.values(), strict=True)):
        own = data.replace(b"core:orders", b"core%d:orders" % nth)
        path.write_bytes(gzip.compress(own) if packed else own)
        if not packed:
            assert spark.read.text(str(path)).rdd.getNumPartitions() > 1
    found = same(spark, tmp_path)
    wrong = {each.source for each in found.problems}
    for nth, (path, name) in enumerate(zip(paths, SPOILED, strict=True)):
        told = {v.verdict for v in found.verdicts if v.partition.startswith(f"core{nth}:")}
        assert (name, Verdict.CONFORMS in told) == (name, True)
        if "recording" not in name and name not in ("again", "no line feed"):
            assert str(path) in wrong or Verdict.UNREADABLE in told, name
    closed = Recording(headers=1, trailers=1, dropped=2, faults=1)
    recorded = {Recording(headers=1, cut=1), Recording(headers=1), closed}
    assert (set(found.recordings), len(found.recordings)) == (recorded, 3)


@pytest.mark.slow
def test_files_as_wholes_are_judged_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    write_lines(tmp_path / "good.jsonl", rows_of(0))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "blank.jsonl.gz").write_bytes(gzip.compress(b"\n\n"))
    (tmp_path / "no.jsonl.gz").write_bytes(b"no gzip")
    packed = gzip.compress(b"".join(line_from_row(row) for row in rows_of(2, count=400)))
    (tmp_path / "torn.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "notes.txt").write_text("no trace")
    (tmp_path / "_hidden").mkdir()
    write_lines(tmp_path / "_hidden" / "bad.jsonl", rows_of(0))
    found = same(spark, tmp_path)
    assert len(found.problems) == 4
    assert [Path(name).name for name in found.passed_over] == ["notes.txt"]


@pytest.mark.slow
def test_several_files_samples_and_pieces(spark: SparkSession, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", rows_of(0, 1))
    write_lines(tmp_path / "b.jsonl", rows_of(1, 2)[::-1])
    found = same(spark, tmp_path, plan=attrs.evolve(FAST, sample=0.6))
    assert {v.verdict for v in found.verdicts} >= {Verdict.UNREADABLE, Verdict.UNCHECKED}
    rows = rows_of(0, count=400)
    rows[350]["after"]["start_offset"] += 1
    path = write_lines(tmp_path / "c.jsonl", rows)
    for plan in (Plan(piece_events=64), attrs.evolve(FAST, max_divergences=5)):
        found = same(spark, path, plan=plan)
        assert found.counts.diverged == 1


@pytest.mark.slow
def test_results_go_to_an_address_over_older_ones(spark: SparkSession, tmp_path: Path) -> None:
    rows = rows_of(0, 1)
    rows[60]["after"]["delivery_complete_count"] += 1
    path, out = write_lines(tmp_path / "t.jsonl", rows), tmp_path / "out"
    for _ in range(2):
        found = replay_distant(spark, [f"file:{path}"], Plan(), f"file:{out}")
    here = tmp_path / "here"
    replayed(path, out=here)
    assert sorted(each.name for each in out.iterdir()) == ["divergences", "lag", "verdicts"]
    for name, file in (("verdicts", "verdicts.parquet"), ("divergences", "divergences.parquet")):
        far = pq.read_table(out / name)
        assert far.to_pylist() == pq.read_table(here / file).to_pylist()
    keys = ["partition", "seq"]
    orders = [(key, "ascending") for key in keys]
    lag = pq.read_table(out / "lag").sort_by(orders).to_pylist()
    assert lag == pq.read_table(here / "lag").sort_by(orders).to_pylist()
    assert (len(lag), found.counts.checked) == (60, 61), "nothing tells the state of the last"


@pytest.mark.slow
def test_a_file_that_is_no_parquet_is_one_line(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"no Parquet at all")
    with pytest.raises(SessionError, match=r"^Spark gave up: [^\n]*x\.parquet") as caught:
        replay_distant(spark, [f"file:{tmp_path}"], FAST)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_results_that_the_implementation_computed_are_known(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = pq.read_table(write_parquet(tmp_path / "t.parquet", rows_of(0)))
    assert not replay_distant(spark, [f"file:{tmp_path}"], FAST).generated
    table = table.replace_schema_metadata({b"sharespec.generated": b"true"})
    pq.write_table(table, tmp_path / "t.parquet")
    assert replay_distant(spark, [f"file:{tmp_path}"], FAST).generated


def test_an_out_that_cannot_be_opened_is_one_line_before_anything_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "t.jsonl", rows_of(0))
    with pytest.raises(NoSuchTraceError, match=r"^nothing://at/all cannot be opened: [^\n]+$"):
        replay_distant(spark, [f"file:{path}"], FAST, "nothing://at/all")
