"""A replay as JUnit XML and as Markdown; text from files is escaped in both."""

from xml.etree import ElementTree as ET

from replay.report import unlabelled
from replay.written import as_junit, as_markdown
from tests.replay.test_report import EVIL, divergence, sample


def test_junit_has_a_case_for_each_share_partition_and_file() -> None:
    (suite,) = ET.fromstring(as_junit(sample(2)))  # noqa: S314 - our own document
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "7",
        "failures": "2",
        "errors": "3",
        "skipped": "1",
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "CAN_ACQUIRE at seq 7" in (failure.get("message") or "")
    assert "\x1b" not in as_junit(sample(2))


def test_markdown_has_the_totals_a_table_and_each_kind() -> None:
    text = as_markdown(sample(2), lambda _: f"known-one: {EVIL}")
    assert "1 of 6 share-partitions conform, 2 diverge, 2 are unreadable, 1 unknown" in text
    assert text.count("\n## ") == 1
    assert "- Known: known-one: " in text
    assert "2 times in 1 share-partitions" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert "[bold]" not in text.replace(r"\[bold\]", "")


def test_nothing_is_known_where_nobody_says_so() -> None:
    assert unlabelled(divergence("p")) == ""
    assert "Known" not in as_markdown(sample())
