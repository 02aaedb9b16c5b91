import pytest

from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("UNKNOWN_SERVER_ERROR", -1),
        ("NONE", 0),
        ("UNKNOWN_TOPIC_OR_PARTITION", 3),
        ("NOT_LEADER_OR_FOLLOWER", 6),
        ("COORDINATOR_LOAD_IN_PROGRESS", 14),
        ("COORDINATOR_NOT_AVAILABLE", 15),
        ("NOT_COORDINATOR", 16),
        ("UNKNOWN_MEMBER_ID", 25),
        ("INVALID_REQUEST", 42),
        ("NON_EMPTY_GROUP", 68),
        ("GROUP_ID_NOT_FOUND", 69),
        ("FENCED_LEADER_EPOCH", 74),
        ("UNKNOWN_TOPIC_ID", 100),
        ("INVALID_RECORD_STATE", 121),
        ("SHARE_SESSION_NOT_FOUND", 122),
        ("INVALID_SHARE_SESSION_EPOCH", 123),
        ("FENCED_STATE_EPOCH", 124),
        ("SHARE_SESSION_LIMIT_REACHED", 133),
        ("PENDING", "PENDING"),
    ],
)
def test_the_codes_are_those_of_kafka(name: str, code: int | str) -> None:
    assert ErrorCode[name].value == code


def test_no_two_names_share_a_code() -> None:
    assert len(ErrorCode.__members__) == len(ErrorCode) == 21


def test_an_invalid_value_error_shows_name_value_and_what_is_allowed() -> None:
    error = InvalidValueError("first", -1, "offsets from 0")
    assert str(error) == "first is -1; allowed: offsets from 0"
    assert error.name == "first"


@pytest.mark.parametrize(
    ("name", "shown"), [("event.a\nb\x1b", "event.a\\nb\\x1b is 1"), ("n" * 201, "n" * 70)]
)
def test_a_name_of_a_file_is_shown_on_one_line_and_shortened(name: str, shown: str) -> None:
    text = str(InvalidValueError(name, 1, "none"))
    assert text.startswith(shown)
    assert "\n" not in text
    assert len(text) < 110


def test_a_long_value_is_shortened_to_a_line() -> None:
    error = InvalidValueError("member", "m" * 200, "a name")
    shown = str(error).removeprefix("member is ").removesuffix("; allowed: a name")
    assert len(shown) == 80
    assert shown.endswith("mmm...")
    exact = InvalidValueError("member", "m" * 78, "a name")
    assert "..." not in str(exact)


def test_an_illegal_choice_names_its_guard() -> None:
    error = IllegalChoiceError(Guard.CAN_ACQUIRE, "3 are available")
    assert str(error) == "CAN_ACQUIRE: 3 are available"
    assert (error.guard, error.detail) == (Guard.CAN_ACQUIRE, "3 are available")


def nested(depth: int) -> list[object]:
    """A list in a list, so many deep: deeper than any JSON decoder returns it."""
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("depth", "text"), [(200, "seq is [[[[[["), (100_000, "seq is a list too deep to be shown; ")]
)
def test_a_value_of_any_depth_is_one_line(depth: int, text: str) -> None:
    error = InvalidValueError("seq", nested(depth), "a number")
    assert str(error).startswith(text)
    assert str(error).endswith("; allowed: a number")
    assert len(str(error)) < 120
