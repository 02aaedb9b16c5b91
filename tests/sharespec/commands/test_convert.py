import gzip
import json
from pathlib import Path

from replay.plan import Plan
from tests.replay.observed.real import LOG, lines
from tests.replay.samples import RECORDED, kafka_rows, replayed, write_lines
from tests.sharespec.running import runner

run = runner()
IMPL = Plan(against=("impl",))
KNOWN = ("--delivery-limit", "5", "--max-record-locks", "2000", "--not-compacted")


def test_a_request_log_is_converted_and_judged_as_before(tmp_path: Path) -> None:
    out = tmp_path / "observed.jsonl.gz"
    converted = run("convert", LOG, "--out", out)
    assert converted.exit_code == 0, converted.output
    text = gzip.decompress(out.read_bytes()).decode()
    assert "127.0.0.1:19692-" not in text
    assert "consumer-g1" not in text
    results = [run("replay", path, "--json", *KNOWN) for path in (LOG, out)]
    assert [result.exit_code for result in results] == [0, 0]
    first, second = (json.loads(result.output.splitlines()[-1]) for result in results)
    for name in ("partitions", "conforms", "diverged", "undetermined", "judged", "gaps"):
        assert first[name] == second[name]
    assert (first["conforms"], first["judged"]) == (1, 238)


def test_what_holds_neither_is_not_converted(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("nothing\n")
    result = run("convert", other, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "other.txt:1: line is" in result.output
    assert "TRACES hold no event" in result.output
    assert not (tmp_path / "out").exists()
    mixed = run("convert", LOG, other, "--out", tmp_path / "out")
    assert mixed.exit_code == 2
    assert "is not a request log" in mixed.output


def test_lines_that_could_not_be_used_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "kafka-request.log"
    nth = next(n for n, line in enumerate(lines()) if '"SHARE_FETCH"' in line)
    log.write_text("".join([*lines()[:nth], lines()[nth][:400] + "\n", *lines()[nth + 1 :]]))
    result = run("convert", log, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "1 line could not be used" in result.output


def test_a_report_names_the_rule_and_the_requests(tmp_path: Path) -> None:
    log = tmp_path / "kafka-request.log"
    log.write_text(
        "".join(lines()).replace(
            '"lastOffset":37,"deliveryCount":1', '"lastOffset":37,"deliveryCount":3'
        )
    )
    result = run("replay", log, *KNOWN)
    assert result.exit_code == 1
    assert "Divergence: g1:orders:0" in result.output
    assert "kafka-request.log:199" in result.output


def convert(*arguments: object) -> tuple[int, str]:
    result = run("convert", *arguments)
    return result.exit_code, result.output


def test_events_are_converted_and_judged_as_before(tmp_path: Path) -> None:
    path = RECORDED / "kafka-4.3.1-renewals.jsonl.gz"
    out = tmp_path / "t.parquet"
    assert convert(path, "--out", out) == (0, "1,928 events; 0 lines without one\n")
    verdicts = [replayed(each, plan=IMPL).verdicts for each in (path, out)]
    plain = [[(v.partition, v.verdict, v.events, v.checked) for v in each] for each in verdicts]
    assert plain[0] == plain[1]
    assert sum(events for _, _, events, _ in plain[0]) == 1928


def test_lines_that_hold_no_event_are_shown(tmp_path: Path) -> None:
    trace = write_lines(tmp_path / "t.jsonl", kafka_rows(count=5))
    trace.write_bytes(trace.read_bytes() + b"nothing\n" * 30)
    status, output = convert(trace, "--out", tmp_path / "out.parquet")
    assert status == 1
    assert "5 events; 30 lines without one" in output
    assert output.count("t.jsonl:") == 10


def test_a_file_that_cannot_be_read_has_no_line(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_text("nothing\n")
    status, output = convert(tmp_path / "t.parquet", "--out", tmp_path / "out")
    assert status == 2
    assert "t.parquet: cannot be read: it is not Parquet" in output


def test_a_trace_is_not_written_over_itself(tmp_path: Path) -> None:
    trace = write_lines(tmp_path / "t.jsonl", kafka_rows(count=5))
    before = trace.read_bytes()
    status, output = convert(trace, "--out", tmp_path / "." / "t.jsonl")
    assert (status, "is one of TRACES" in output) == (2, True)
    assert trace.read_bytes() == before


def test_observations_are_not_written_as_parquet(tmp_path: Path) -> None:
    status, output = convert(LOG, "--out", tmp_path / "out.parquet")
    assert (status, "observations are JSON lines" in output) == (2, True)
