import copy
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replay.processes import SessionError
from replay.verdict import PartitionVerdict, Problem, Replay, Verdict
from tests.replay.conftest import spark
from tests.replay.samples import kafka_rows, recorded, write_lines
from tests.sharespec.running import diverging, runner

__all__ = ["spark"]

pytestmark = pytest.mark.xdist_group("spark")

run = runner()


@pytest.mark.usefixtures("spark")
def test_a_trace_that_conforms(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", kafka_rows())
    done = run("replay", path, "--against", "impl", "--json", "--out", tmp_path / "out")
    assert done.exit_code == 0
    partition, totals = map(json.loads, done.stdout.splitlines())
    assert (partition["partition"], partition["verdict"]) == ("core:orders:0", "conforms")
    assert (totals["events"], totals["diverged"]) == (60, 0)
    assert (tmp_path / "out" / "divergences.parquet").exists()
    assert "1 conform" in run("replay", path, "--against", "impl").output


@pytest.mark.usefixtures("spark")
def test_a_divergence_and_an_unreadable_share_partition_exit_with_1(tmp_path: Path) -> None:
    rows = kafka_rows()
    rows[30]["after"]["end_offset"] += 1
    done = run("replay", write_lines(tmp_path / "a.jsonl", rows), "--against", "impl")
    assert done.exit_code == 1
    assert f"{tmp_path}/a.jsonl:31" in done.output
    del rows[20]
    done = run("replay", write_lines(tmp_path / "a.jsonl", rows), "--against", "impl")
    assert done.exit_code == 1
    assert "seq 20 is missing" in done.output


def test_what_follows_a_divergence_is_checked_up_to_so_many(tmp_path: Path) -> None:
    path = diverging(tmp_path / "a.jsonl", 30, 40)
    for options, divergences, checked in (([], 2, 60), (["--divergences", 1], 1, 31)):
        done = run("replay", path, "--against", "impl", "--json", *options)
        partition, totals = map(json.loads, done.stdout.splitlines())
        assert (done.exit_code, len(partition["divergences"])) == (1, divergences)
        assert (partition["checked"], totals["events"]) == (checked, checked)
    assert partition["divergences"][0]["seq"] == 30
    assert "and 1 more" in run("replay", path, "--against", "impl").output


def test_a_divergence_that_a_file_names_is_known_and_reports_are_written(tmp_path: Path) -> None:
    rows = kafka_rows()
    rows[30]["after"]["end_offset"] += 1
    path, known = write_lines(tmp_path / "a.jsonl", rows), tmp_path / "known.toml"
    entry = '[[deviation]]\nname = "{}"\nreason = "Seen."\nsignature = ["{}", "{}"]\n'
    known.write_text(entry.format("seen", "END_OFFSET", rows[30]["op"]))
    reports = ("--junit", tmp_path / "r.xml", "--markdown", tmp_path / "r.md")
    done = run("replay", path, "--against", "impl", "--known", known, *reports)
    assert done.exit_code == 0, done.output
    assert "Known divergence: core:orders:0" in done.output
    assert "0 new divergences, 1 known" in done.output
    assert "known: seen" in (tmp_path / "r.xml").read_text()
    assert "- Known: seen: seen" in (tmp_path / "r.md").read_text()
    known.write_text(entry.format("other", "END_OFFSET", "compact"))
    done = run("replay", path, "--against", "impl", "--known", known, "--json")
    partition, totals = map(json.loads, done.stdout.splitlines())
    assert done.exit_code == 1
    assert (totals["known"], totals["new"], totals["gone"]) == (0, 1, ["other"])
    assert partition["divergences"][0]["known"] is None
    known.write_text("[[")
    done = run("replay", path, "--known", known)
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)


def test_a_page_or_result_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, full = write_lines(tmp_path / "a.jsonl", kafka_rows()), OSError(28, "No space left")
    page, out = tmp_path / "page.html", tmp_path / "out"
    assert run("replay", path, "--out", out, "--html", page).exit_code == 0
    before = {each: each.read_bytes() for each in (page, *out.glob("*.parquet"))}
    assert len(before) == 3
    write_text, write_table, tables = Path.write_text, pq.write_table, iter(range(9))

    def cut_text(file: Path, text: str, encoding: str) -> None:
        write_text(file, text[:8192], encoding)
        raise full

    def cut_table(table: pa.Table, file: Path) -> None:
        write_table(table, file)
        if next(tables):
            file.write_bytes(file.read_bytes()[:100])
            raise full

    monkeypatch.setattr(Path, "write_text", cut_text)
    done = run("replay", path, "--html", page)
    assert (done.exit_code, "page.html: No space left" in done.stderr) == (2, True)
    monkeypatch.setattr("replay.run.pq.write_table", cut_table)
    assert run("replay", path, "--out", out).exit_code == 2
    left = {each for each in tmp_path.rglob("*") if each.is_file()}
    assert {each for each in left if "lag" not in each.parts} == {path, *before}
    assert {each: each.read_bytes() for each in before} == before


def test_times_are_told_where_a_real_clock_tells_them(tmp_path: Path) -> None:
    (rows,) = copy.deepcopy(recorded("kafka-4.4.0")).values()
    rows[40]["after"]["end_offset"] += 1
    path = write_lines(tmp_path / "a.jsonl", rows)
    done = run("replay", path, "--against", "impl", "--json")
    divergence = json.loads(done.stdout.splitlines()[0])["divergences"][0]
    seq = divergence["seq"]
    assert divergence["time_ms"] == rows[seq]["time_ms"] == 1058
    assert divergence["time"] == "1970-01-01T00:00:01.058Z"
    assert f"time           {divergence['time']}" in run("replay", path, "--against", "impl").output
    steps = run("explain", path, "--from", seq, "--to", seq).output
    assert f"seq {seq}, {divergence['time']}: " in steps


def test_what_is_written_as_known_is_no_news_and_the_next_fault_is(tmp_path: Path) -> None:
    rows, known = kafka_rows(), tmp_path / "known.toml"
    rows[30]["after"]["end_offset"] += 1
    path = write_lines(tmp_path / "a.jsonl", rows)
    first = run("replay", path, "--against", "impl", "--write-known", known)
    again = run("replay", path, "--against", "impl", "--known", known)
    assert (first.exit_code, again.exit_code) == (1, 0)
    rows[40]["after"]["start_offset"] += 1
    options = ("--against", "impl", "--known", known, "--write-known", known)
    written = [run("replay", write_lines(path, rows), *options).exit_code for _ in range(2)]
    assert written == [1, 0]


@pytest.mark.usefixtures("spark")
def test_a_run_that_checked_nothing_exits_with_2(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    done = run("replay", tmp_path)
    assert done.exit_code == 2
    assert "a.jsonl: holds no events" in done.stderr
    assert "sharespec: nothing was checked" in done.stderr


@pytest.mark.usefixtures("spark")
def test_a_report_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", kafka_rows(count=20))
    page = tmp_path / "page.md"
    options = ["--against", "impl", "--junit", "/dev/full", "--markdown", page]
    done = run("replay", path, *options)
    assert done.exit_code == 2
    assert "sharespec: /dev/full: No space left on device\n" in done.stderr
    assert "1 conform" in done.stdout
    assert page.exists()
    early = run("replay", path, "--html", "/proc/none")
    assert (early.exit_code, early.stdout) == (2, "")
    assert "/proc/none: No such file or directory" in " ".join(early.stderr.split())


def _result(*, interrupted: bool = False, problems: int = 0) -> Replay:
    verdicts = (PartitionVerdict("p", Verdict.UNCHECKED, 3, 0, "stopped before it was"),)
    found = [Problem("f", None, "x")] * problems
    return Replay(verdicts, tuple(found), 1.0, interrupted=interrupted)


def test_an_interrupted_replay_reports_its_findings_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "t.jsonl", kafka_rows(count=1))
    monkeypatch.setattr("sharespec.replaying._replayed", lambda *_: _result(interrupted=True))
    done = run("replay", path)
    assert done.exit_code == 130
    assert "Stopped before the end" in done.output

    def stop(*_: object) -> Replay:
        raise KeyboardInterrupt

    monkeypatch.setattr("sharespec.replaying._replayed", stop)
    assert run("replay", path).exit_code == 130


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SessionError("Spark gave up"), "sharespec: Spark gave up"),
        (OSError(28, "No space left on device", "/out"), "sharespec: /out: No space left"),
    ],
)
def test_an_error_of_spark_or_the_disk_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail(*_: object) -> Replay:
        raise error

    monkeypatch.setattr("sharespec.replaying._replayed", fail)
    done = run("replay", tmp_path)
    assert done.exit_code == 2
    assert done.stderr.startswith(message)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_table_is_replayed_as_a_file_is(tmp_path: Path) -> None:
    address = f"file:{diverging(tmp_path / 'events.parquet', 30)}"
    done = run("replay", "--table", address, "--against", "impl", "--out", f"{tmp_path}/out")
    assert done.exit_code == 1
    assert f"{address}:31" in done.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "divergences",
        "lag",
        "verdicts",
    ]


@pytest.mark.usefixtures("spark")
def test_a_table_that_is_not_there_is_one_line() -> None:
    done = run("replay", "--table", "no_such_table")
    assert done.exit_code == 2
    assert done.stderr.startswith("sharespec: no_such_table: [TABLE_OR_VIEW_NOT_FOUND] ")
    assert len(done.stderr.splitlines()) == 1


def test_a_replay_goes_on_where_the_one_before_left_off(tmp_path: Path) -> None:
    rows, states = kafka_rows(), tmp_path / "states"
    first = write_lines(tmp_path / "1.jsonl", rows[:25])
    second = write_lines(tmp_path / "2.jsonl", rows[25:])
    assert run("replay", second).exit_code == 2
    for path, events in ((first, 25), (second, 35)):
        done = run("replay", path, "--state", states, "--json")
        assert (done.exit_code, json.loads(done.stdout.splitlines()[-1])["events"]) == (0, events)
    done = run("replay", second, "--state", states)
    assert done.exit_code == 2
    (states / "states.txt").write_bytes(b"altered")
    done = run("replay", second, "--state", states)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"sharespec: {states}/states.txt is no file of states\n"


def test_a_page_shows_the_verdicts_and_what_diverges(tmp_path: Path) -> None:
    rows = [*kafka_rows(count=20), *kafka_rows(partition=1, count=20)]
    rows[12]["after"]["end_offset"] += 1
    path, file = write_lines(tmp_path / "a.jsonl", rows), tmp_path / "p.html"
    assert run("replay", path, "--against", "impl", "--html", file).exit_code == 1
    text = file.read_text()
    for part in ("core:orders:0", "core:orders:1", "END_OFFSET at seq 12", "1 new divergence"):
        assert part in text


def test_a_path_may_be_written_as_an_address(tmp_path: Path) -> None:
    path, out = write_lines(tmp_path / "t.jsonl", kafka_rows()), tmp_path / "out"
    done = run("replay", f"file:{path}", "--against", "impl", "--json", "--out", f"file://{out}")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[-1])["runner"] == "in this process"
    assert (out / "verdicts.parquet").exists()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("place", ["trace", "out"])
def test_an_address_that_cannot_be_opened_is_one_line(tmp_path: Path, place: str) -> None:
    path = write_lines(tmp_path / "t.jsonl", kafka_rows())
    arguments = ["hdfs://127.0.0.1:1/x"] if place == "trace" else [path, "--out", "s3a://b/x"]
    done = run("replay", *arguments)
    (line,) = done.stderr.splitlines()
    assert (done.exit_code, done.stdout) == (2, "")
    assert line.startswith("sharespec: ")
    assert " cannot be opened: " in line


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("option", ["--out", "--state"])
def test_a_cluster_has_no_folder_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str
) -> None:
    monkeypatch.setattr("replay.session.is_local", lambda _: False)
    path = write_lines(tmp_path / "t.jsonl", kafka_rows(count=2))
    done = run("replay", path, "--master", "local[2]", option, tmp_path / "there")
    assert done.exit_code == 2
    assert "on a cluster --out is an address, as hdfs://host/out, or file:/out" in done.stderr
