import io
import json
from xml.etree import ElementTree as ET

import attrs
import pytest
from rich.console import Console

from judge.finding import Finding, FindingKind, FindingPlace
from replay.plan import CheckedPartition
from replay.report import Stages, document, finding_text, json_line, junit_document
from replay.verdict import (
    LogKnowledge,
    PartitionVerdict,
    Problem,
    Recording,
    Replay,
    Verdict,
    weighed,
)
from report.markdown import markdown_text
from report.terminal import show_document

EVIL = "\x1b[2J[bold]evil[/bold]\n\u202e"


def divergence(partition: str, kind: FindingKind = FindingKind.GUARD) -> Finding:
    found = Finding(
        7, "spec, impl", kind, "CAN_ACQUIRE", "a sentence", f"recorded {EVIL}", "expected",
        "before", "after",
    )  # fmt: skip
    return attrs.evolve(found, place=FindingPlace(partition, f"/{EVIL}.jsonl", 8, f"event {EVIL}"))


def sample(count: int = 1, *, interrupted: bool = False) -> Replay:
    problem = Problem(f"{EVIL}.gz", 3, f"bad {EVIL}", "u")
    verdicts = [
        PartitionVerdict("c", Verdict.CONFORMS, 10, 10, log=LogKnowledge.NOTHING),
        PartitionVerdict("u", Verdict.UNREADABLE, 10, 4, problem=problem),
        weighed(PartitionVerdict("w", Verdict.CONFORMS, 10, 8)),
        PartitionVerdict("n", Verdict.UNCHECKED, 1000, 0, "not in the sample"),
        *(
            PartitionVerdict(f"{EVIL}{i}", Verdict.DIVERGES, 10, 8, divergence=divergence(EVIL))
            for i in range(count)
        ),
    ]
    problems = [Problem("file", None, "holds no events")]
    return Replay(
        tuple(verdicts), tuple(problems), 2.0, ("README.md",), generated=True,
        interrupted=interrupted,
    )  # fmt: skip


def printed(replay: Replay, width: int = 180, *, with_json: bool = False) -> str:
    output = io.StringIO()
    shown = document(replay, with_json=with_json)
    show_document(shown, Console(file=output, width=width, highlight=False))
    return output.getvalue()


def test_the_totals_are_one_line_of_json() -> None:
    line = json_line(sample())
    assert "\n" not in line
    told = json.loads(line)
    assert {name: value for name, value in told.items() if value} == {
        "events": 30,
        "partitions": 5,
        "diverged": 1,
        "unreadable": 2,
        "unchecked": 1,
        "unknown": 1,
        "skipped_files": 1,
        "log_unknown": 1,
        "seconds": 2.0,
        "events_per_second": 15.0,
    }
    assert [name for name, value in told.items() if not value] == [
        *("log_partly", "gaps", "lost", "latest_ms", "recordings", "unfinished", "cut"),
        *("dropped", "faults", "sampled", "runner"),
    ]


def test_the_report_has_every_count_and_problem() -> None:
    text = printed(sample(interrupted=True))
    for part in (
        "1 conform   1 diverge   2 unreadable   1 unknown   1 not checked   of 5 share-partitions",
        "30 events checked, 1,010 not checked",
        "8 of 10 events were judged, at least 90% must be: record from the beginning",
        "Nothing is told of the log of 1 share-partition:",
        "CAN_ACQUIRE: a sentence",
        "not in the sample",
        "file: holds no events",
        "1 file skipped",
        "proves nothing",
        "Stopped before the end",
    ):
        assert part in text


@pytest.mark.parametrize("width", [60, 180])
def test_text_from_files_is_escaped(width: int) -> None:
    text = printed(sample(), width)
    assert not {"\x1b", "\u202e", "\r"} & set(text)
    assert "[bold]" in printed(sample())
    assert r"\x1b[2J[bold]evil[/bold]\n\u202e" in printed(sample(), 2000)


def test_long_lists_are_shortened_but_counted() -> None:
    text = printed(sample(100))
    assert "… and 64 more" in text
    assert "the first of 100 alike" in text
    assert text.count("Divergence: ") == 1


def test_a_disagreement_is_loud_and_comes_first() -> None:
    other = attrs.evolve(divergence("b", FindingKind.DISAGREEMENT), name="OTHER")
    found = {"a": divergence("a"), "b": other}
    verdicts = [PartitionVerdict(n, Verdict.DIVERGES, 9, 8, divergence=d) for n, d in found.items()]
    text = printed(Replay(tuple(verdicts), (), 1.0))
    loud = text.index("SPECIFICATION AND IMPLEMENTATION DISAGREE: b")
    assert loud < text.index("Divergence: a")


def test_the_offending_value_comes_first_and_json_only_when_asked_for() -> None:
    told = attrs.evolve(
        divergence("p"), headline="start offset 144 → 78", event_text="time passes, 5 ms",
        recorded_after="start 78", changed=f"71 {EVIL}",
        place=FindingPlace("p", "f", 8, '{"seq": 7}'),
    )  # fmt: skip
    verdicts = [PartitionVerdict("p", Verdict.DIVERGES, 9, 8, divergence=told)]
    result = Replay(tuple(verdicts), (), 1.0)
    lines = printed(result).splitlines()
    title = next(i for i, line in enumerate(lines) if line.startswith("Divergence: p, seq 7, "))
    assert lines[title + 1] == "  start offset 144 → 78"
    text = printed(result)
    for part in ("event          time passes, 5 ms", "recorded after start 78"):
        assert part in text
    assert r"71 \x1b" in text
    assert '{"seq": 7}' not in text
    assert 'json           {"seq": 7}' in printed(result, with_json=True)


def test_a_single_finding_is_shown() -> None:
    finding = Finding(3, "spec", FindingKind.INVARIANT, "n", "s", EVIL, "e", "b", "a")
    text = finding_text(finding).plain
    assert "Divergence at seq 3" in text
    assert "\x1b" not in text


def test_junit_has_a_case_for_each_share_partition_and_file() -> None:
    (suite,) = ET.fromstring(junit_document(sample(2)))  # noqa: S314 - our own document
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "7",
        "failures": "2",
        "errors": "3",
        "skipped": "1",
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "CAN_ACQUIRE at seq 7" in (failure.get("message") or "")
    assert "\x1b" not in junit_document(sample(2))


def test_markdown_has_the_totals_a_table_and_each_kind() -> None:
    known = ("0 new, 2 known",)
    text = markdown_text(document(sample(2), lambda _: f"known-one: {EVIL}", known))
    assert "1 conform   2 diverge   2 unreadable   1 unknown" in text
    assert "0 new, 2 known" in text
    assert text.count("\n## Known divergence: ") == 1
    assert "- Known: known-one: " in text
    assert "the first of 2 alike" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert "[bold]" not in text.replace(r"\[bold\]", "")


def test_the_stages_of_a_replay_are_told() -> None:
    said: list[str] = []
    stages = Stages(said.append)
    stages("check", 0, 2, [])
    for number, verdict in ((1, Verdict.CONFORMS), (2, Verdict.DIVERGES)):
        stages("check", number, 2, [CheckedPartition(PartitionVerdict("c", verdict, 10, 10))])
    stages("segments", 0, 1, [])
    assert said == [
        "check 0/2",
        "check 1/2: 10 events, 0 diverging",
        "check 2/2: 20 events, 1 diverging",
        "segments 0/1",
    ]


def test_gaps_and_what_a_recorder_says_of_its_files_are_told() -> None:
    told = PartitionVerdict("p", Verdict.CONFORMS, 9, 9, gaps=2, lost=31, latest_ms=207)
    files = (Recording(1, 1, dropped=4, faults=1), Recording(headers=1, cut=1))
    text = printed(Replay((told,), (), 1.0, recordings=files))
    for part in (
        "conforms, 2 gaps",
        "2 gaps, in which 31 events or more are lost",
        "up to 207 ms after they were due",
        "1 of 2 recorded files have no trailer",
        "1 end within a line",
        "counts 4 events dropped, 1 fault",
    ):
        assert part in text
