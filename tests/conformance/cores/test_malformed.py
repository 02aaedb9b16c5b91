"""What has not the form of an answer is told in one line, and what is impossible is not."""

from conformance.cores.malformed import error_text, sent
from model.errors import InvalidValueError
from model.ranges import OffsetRange


def test_what_was_sent_is_short_and_plain() -> None:
    text = sent({"a": "\x1b[2J\ud800" + "x" * 5000})
    assert text.isprintable()
    assert len(text) < 400


def test_what_is_too_deep_is_told_so() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert sent({"a": deep}) == "an object too deep to be shown"
    assert error_text({"error": deep}) == "a list too deep to be shown"
    assert error_text({"error": "it fails"}) == "it fails"
    assert error_text({"error": {"a": 1}}) == "{'a': 1}"


def test_an_error_names_no_class() -> None:
    assert str(InvalidValueError("ranges", OffsetRange(2, 3), "none")) == (
        "ranges is [2, 3]; allowed: none"
    )
