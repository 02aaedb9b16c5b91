import json
from pathlib import Path

from tests.judge.test_written import refusing
from tests.replay.samples import kafka_rows, write_lines
from tests.sharespec.running import diverging, runner

run = runner("explain")


def test_a_generated_trace_is_explained(tmp_path: Path) -> None:
    out = tmp_path / "g"
    options = [str(out), "--partitions", "2", "--events", "40", "--seed", "3"]
    done = runner("generate")(*options)
    assert done.exit_code == 0
    assert "40 events of 2 share-partitions in 1 file" in done.stdout
    done = run(out, "--partition", "generated-3:topic-0:1", "--to", 9)
    assert done.exit_code == 0
    assert "SPSO" in done.stdout
    assert "initialize" in done.stdout


def test_a_divergence_is_shown_and_exits_with_1(tmp_path: Path) -> None:
    path = diverging(tmp_path / "a.jsonl", 30)
    done = run(path, "--from", "28")
    assert done.exit_code == 1
    assert "Divergence at seq 30" in done.stdout
    assert run(path, "--from", "5", "--to", "29").exit_code == 0


def test_a_divergence_that_is_known_says_so() -> None:
    recorded = Path("tests/data/recorded/agent-4.4.0-records-deleted.jsonl.gz")
    name = "write-completion-after-records-deleted-past-the-window"
    for profile, is_known in ("kafka", True), ("kip", False):
        done = run(recorded, "--last", "1", "--profile", profile)
        assert (name in done.stdout, "Known divergence at seq" in done.stdout) == (is_known,) * 2
        assert done.exit_code == 1
        (step,) = run(recorded, "--last", "1", "--profile", profile, "--json").stdout.splitlines()
        assert (name in (json.loads(step)["divergence"]["known"] or "")) == is_known


def test_a_leader_may_renew_nothing_where_it_refuses(tmp_path: Path) -> None:
    codes = [
        run(write_lines(tmp_path / f"{kept}.jsonl", refusing((kept, False)))).exit_code
        for kept in (True, False)
    ]
    assert codes == [1, 0]


def test_steps_around_an_event_and_the_last_ones_are_shown(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", kafka_rows())
    done = run(path, "--around", "20")
    seqs = [int(line.split()[1].rstrip(",")) for line in done.stdout.splitlines() if "ms:" in line]
    assert seqs == list(range(15, 26))
    assert "before    SPSO" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert run(path, "--last", "2").stdout.count("answer") == 2
    assert "before" not in run(path, "--full", "--around", "20").stdout


def test_a_divergence_is_an_object_too(tmp_path: Path) -> None:
    path = diverging(tmp_path / "a.jsonl", 30)
    done = run(path, "--last", "2", "--json")
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["seq"] for each in objects] == [29, 30]
    assert objects[1]["divergence"]["name"] == "END_OFFSET"
    assert done.exit_code == 1


def test_the_life_of_a_record_is_told(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", kafka_rows())
    done = run(path, "--offset", "5")
    assert done.exit_code == 0
    assert "seq 4, 0 ms: acquire by m1" in done.stdout
    assert "now   ACQUIRED(1) m1, locked until 30000 ms" in done.stdout
    assert "rule  spec.record.acquire: Give the record to a member (KIP-932" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    objects = [json.loads(line) for line in run(path, "--offset", 5, "--json").stdout.splitlines()]
    assert [each["seq"] for each in objects] == [1, 4, 10, 10, 12]


def test_a_divergence_ends_the_checked_part_of_a_life(tmp_path: Path) -> None:
    done = run(diverging(tmp_path / "a.jsonl", 2), "--offset", "5")
    assert "recorded after the divergence, not checked" in " ".join(done.stdout.split())
    assert done.exit_code == 1


def test_a_divergence_concerns_no_offset_that_the_trace_does_not_reach(tmp_path: Path) -> None:
    path = diverging(tmp_path / "a.jsonl", 2)
    done = run(path, "--offset", "9999")
    assert done.exit_code == 2
    assert "no event concerns offset 9999" in done.output
    assert run(path, "--offset", "0").exit_code == 1
