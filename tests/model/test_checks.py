import attrs
import pytest

from model.checks import MAX_INT64, count, from_minus_one, member_name, non_negative, offset, whole
from model.errors import InvalidValueError


@attrs.frozen
class Checked:
    offset: int = attrs.field(default=0, validator=offset)
    number: int = attrs.field(default=0, validator=non_negative)
    count: int = attrs.field(default=0, validator=count)
    known: int = attrs.field(default=0, validator=from_minus_one)
    member: str = attrs.field(default="m", validator=member_name)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("offset", 0),
        ("offset", MAX_INT64 - 1),
        ("number", 0),
        ("number", MAX_INT64),
        ("count", 0),
        ("count", 32_767),
        ("known", -1),
        ("known", MAX_INT64 - 1),
        ("member", "c1"),
    ],
)
def test_the_edges_are_allowed(field: str, value: object) -> None:
    assert getattr(Checked(**{field: value}), field) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("offset", -1),
        ("offset", MAX_INT64),
        ("offset", None),
        ("known", -2),
        ("known", MAX_INT64),
        ("number", -1),
        ("number", MAX_INT64 + 1),
        ("number", 1.0),
        ("number", True),
        ("count", -1),
        ("count", 32_768),
        ("member", ""),
        ("member", None),
        ("member", 7),
    ],
)
def test_an_error_names_the_value_that_is_out_of_range(field: str, value: object) -> None:
    with pytest.raises(InvalidValueError, match=f"^{field} is {value!r}; allowed: "):
        Checked(**{field: value})  # type: ignore[arg-type]


def test_whole_returns_the_value_and_says_what_is_allowed() -> None:
    assert whole("size", 3, 1, 4) == 3
    with pytest.raises(InvalidValueError, match=r"size is 5; allowed: an integer from 1 to 4"):
        whole("size", 5, 1, 4)
