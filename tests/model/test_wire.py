from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import InvalidValueError
from model.wire import Field, Message, Reader, array, decode, from_json, to_json

TOPIC = UUID(bytes=bytes(range(16)))
MESSAGE = Message(
    "Sample",
    (
        Field("id", "uuid"),
        Field("text", "string"),
        Field("extra", "int64"),
        Field("count", "int32", tag=0, default=-1),
        array("items", Field("small", "int8"), Field("number", "int16")),
    ),
)
VALUES = {
    "id": TOPIC,
    "text": "ü",
    "extra": 3,
    "count": 7,
    "items": [{"small": -1, "number": 2}],
}
# The UUID's 16 bytes; "ü" is its length in bytes plus one and c3 bc; the int64 3; an array of one
# is 02; ff is -1; 0002; no tagged fields in the element; one tagged field: tag 0 of four bytes.
BYTES = bytes.fromhex(
    "000102030405060708090a0b0c0d0e0f 03c3bc 0000000000000003 02 ff 0002 00 01 00 04 00000007"
)
PLAIN = Message("Plain", (Field("text", "string"),), flexible=False)
NUMBERS = Message("Numbers", (array("all", Field("n", "int8")),))
READ_ONLY = (
    Field("data", "bytes", nullable=True),
    Field("flags", "bool", is_array=True, nullable=True),
    Field("part", (Field("n", "float64"),), nullable=True),
)


def test_a_message_is_the_bytes_that_the_protocol_guide_gives() -> None:
    assert decode(MESSAGE, BYTES) == VALUES


def test_a_tagged_field_of_default_value_is_left_out() -> None:
    assert decode(MESSAGE, BYTES[:-7] + b"\0") == {**VALUES, "count": -1}


def test_tagged_fields_that_are_not_known_are_passed_over() -> None:
    later = BYTES[:-7] + bytes.fromhex("03 00 04 00000007 05 02 aabb 8601 00")
    assert decode(MESSAGE, later) == VALUES


def test_strings_of_a_version_that_is_not_flexible_have_a_length_of_two_bytes() -> None:
    assert decode(PLAIN, bytes.fromhex("0002 6162")) == {"text": "ab"}


@pytest.mark.parametrize(
    ("flexible", "data", "values"),
    [
        (True, "00 00 ff 00", (None, None, None)),
        (True, "02 ab 02 01 01 4000000000000000 00 00", (b"\xab", [True], {"n": 2.0})),
        (False, "ffffffff ffffffff ff", (None, None, None)),
        (
            False,
            "00000001 ab 00000002 01 00 01 4000000000000000",
            (b"\xab", [True, False], {"n": 2.0}),
        ),
    ],
)
def test_bytes_arrays_and_structures_may_be_null(
    *, flexible: bool, data: str, values: tuple[object, ...]
) -> None:
    message = Message("Read", READ_ONLY, flexible=flexible)
    expected = dict(zip(("data", "flags", "part"), values, strict=True))
    assert decode(message, bytes.fromhex(data)) == expected


def test_a_varlong_is_a_signed_number_of_at_most_ten_bytes() -> None:
    reader = Reader(bytes.fromhex("00 01 02 ac02 feffffffffffffffff01"))
    assert [reader.varlong("n") for _ in range(5)] == [0, -1, 1, 150, 2**63 - 1]
    assert reader.remaining == 0
    with pytest.raises(InvalidValueError, match=r"n is .*; allowed: a number of at most 10"):
        Reader(b"\xff" * 11).varlong("n")


def test_elements_are_limited_in_all() -> None:
    reader = Reader(b"\x04" * 8, most_elements=5)
    assert reader.count("first", flexible=True) == 3
    with pytest.raises(InvalidValueError, match="second is 3; allowed: an array of at most 2"):
        reader.count("second", flexible=True)


def test_a_long_array_has_a_length_of_several_bytes() -> None:
    written = bytes([0xC9, 0x01]) + 200 * b"\1\0" + b"\0"
    assert decode(NUMBERS, written) == {"all": [{"n": 1}] * 200}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BYTES[:-1], "count is 4; allowed: at most the 3 bytes that are left"),
        (BYTES + b"\0", "Sample is .*; allowed: 39 bytes, not 40"),
        (BYTES[:16] + b"\x03\xff\xff" + BYTES[19:], "text is .*; allowed: UTF-8"),
        (BYTES[:16] + b"\x00" + BYTES[19:], "text is None; allowed: a value, not null"),
        (BYTES[:27] + b"\xff\xff\xff\xff\x07", "items is 2147483646; allowed: an array of at"),
        (BYTES[:27] + b"\x00", "items is None; allowed: a value, not null"),
        (BYTES[:27] + b"\xff\xff\xff\xff\xff\x01", "items is .*; allowed: a number of at most 5"),
        (BYTES[:27] + b"\xff\xff\xff\xff\x0f", "items is .*; allowed: at most 2147483647"),
        (BYTES[:-5] + b"\x05" + BYTES[-4:] + b"\0", "count is 5; allowed: the size of its kind"),
    ],
)
def test_an_error_names_the_field_where_bytes_are_impossible(data: bytes, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        decode(MESSAGE, data)


@given(st.binary(max_size=60) | st.builds(lambda at, b: BYTES[:at] + b + BYTES[at + 1 :],
                                          st.integers(0, 38), st.binary(max_size=3)))  # fmt: skip
def test_any_bytes_are_a_message_or_a_typed_error(data: bytes) -> None:
    with suppress(InvalidValueError):
        decode(MESSAGE, data)


def test_json_has_kafkas_names_and_forms() -> None:
    shown = to_json(MESSAGE, VALUES)
    assert shown == {**VALUES, "id": "AAECAwQFBgcICQoLDA0ODw"}
    assert from_json(MESSAGE, {**shown, "unknown": 1}) == VALUES
    without = to_json(MESSAGE, {**VALUES, "count": -1})
    assert "count" not in without
    assert from_json(MESSAGE, without)["count"] == -1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "AAECAwQFBgcICQoLDA0OD!"}, "id is .*; allowed: 16 bytes in URL-safe base64"),
        ({"id": "AAEC"}, "id is 'AAEC'"),
        ({"id": 5}, "id is 5"),
        ({"text": 5}, "text is 5; allowed: a string"),
        ({"text": "\ud800"}, "text is .*; allowed: a string of whole characters"),
        ({"extra": "3"}, "extra is '3'; allowed: an integer"),
        ({"extra": 1.5}, "extra is 1.5; allowed: an integer"),
        ({"items": {}}, "items is {}; allowed: a JSON array"),
        ({"items": [{"small": 1}]}, r"items\[0\].number is None; allowed: a value; it is missing"),
        ({"items": [4]}, r"items\[0\] is 4; allowed: a JSON object"),
    ],
)
def test_an_error_names_the_field_where_json_is_impossible(
    change: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidValueError, match=said):
        from_json(MESSAGE, {**to_json(MESSAGE, VALUES), **change})


def test_json_that_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"the data is \[\]; allowed: a JSON object"):
        from_json(MESSAGE, [])
