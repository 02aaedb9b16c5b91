import pytest

from model.errors import InvalidValueError
from operations.naming import SharePartitionName, parsed_name


def test_a_group_may_hold_colons() -> None:
    assert parsed_name("a:b:orders:12") == SharePartitionName("a:b", "orders", 12)


@pytest.mark.parametrize(
    "text", ["p", "orders:1", ":orders:1", "g::1", "g:orders:", "g:t:x", "g:t:-1"]
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="allowed: group:topic:partition"):
        parsed_name(text)


def test_names_order_by_the_number_of_the_partition() -> None:
    names = [parsed_name(f"g:t:{n}") for n in (10, 9)]
    assert sorted(names) == names[::-1]
