from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import InvalidValueError
from model.wire import Field, Message, array, decode, encode, from_json, to_json

TOPIC = UUID(bytes=bytes(range(16)))
MESSAGE = Message(
    "Sample",
    (
        Field("id", "uuid"),
        Field("text", "string"),
        Field("note", "nullable string"),
        Field("extra", "int64", since=1, default=-1),
        Field("count", "int32", tag=0, default=-1),
        array("items", Field("small", "int8"), Field("number", "int16")),
    ),
    newest=1,
)
VALUES = {
    "id": TOPIC,
    "text": "ü",
    "note": None,
    "extra": 3,
    "count": 7,
    "items": [{"small": -1, "number": 2}],
}
# The UUID's 16 bytes; "ü" is its length in bytes plus one and c3 bc; a null string is 00; the
# int64 3; an array of one is 02; ff is -1; 0002; no tagged fields in the element; then one tagged
# field: tag 0 of four bytes.
BYTES = bytes.fromhex(
    "000102030405060708090a0b0c0d0e0f 03c3bc 00 0000000000000003 02 ff 0002 00 01 00 04 00000007"
)
OLD = bytes.fromhex("000102030405060708090a0b0c0d0e0f 03c3bc 00 02 ff 0002 00 01 00 04 00000007")
PLAIN = Message(
    "Plain", (Field("text", "string"), Field("note", "nullable string")), 0, flexible=False
)
NUMBERS = Message("Numbers", (array("all", Field("n", "int8")),))


def test_a_message_is_the_bytes_that_the_protocol_guide_gives() -> None:
    assert encode(MESSAGE, VALUES, 1) == BYTES
    assert decode(MESSAGE, BYTES, 1) == VALUES


def test_a_version_leaves_out_the_fields_it_does_not_have() -> None:
    assert encode(MESSAGE, VALUES, 0) == OLD
    assert decode(MESSAGE, OLD, 0) == {**VALUES, "extra": -1}


def test_a_tagged_field_of_default_value_is_left_out() -> None:
    written = encode(MESSAGE, {**VALUES, "count": -1}, 0)
    assert written == OLD[:-7] + b"\0"
    assert decode(MESSAGE, written, 0)["count"] == -1


def test_tagged_fields_that_are_not_known_are_passed_over() -> None:
    later = OLD[:-7] + bytes.fromhex("03 00 04 00000007 05 02 aabb 8601 00")
    assert decode(MESSAGE, later, 0) == {**VALUES, "extra": -1}


def test_strings_of_a_version_that_is_not_flexible_have_a_length_of_two_bytes() -> None:
    written = encode(PLAIN, {"text": "ab", "note": None})
    assert written == bytes.fromhex("0002 6162 ffff")
    assert decode(PLAIN, written) == {"text": "ab", "note": None}


def test_a_long_array_has_a_length_of_several_bytes() -> None:
    values = {"all": [{"n": 1}] * 200}
    written = encode(NUMBERS, values)
    assert written[:2] == bytes([0xC9, 0x01])
    assert decode(NUMBERS, written) == values


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "x"}, "id is 'x'; allowed: a UUID"),
        ({"text": None}, "text is None; allowed: a string"),
        ({"text": "\ud800"}, "text is .*; allowed: a string of whole characters"),
        ({"extra": 2**63}, "extra is 9223372036854775808; allowed: an integer from"),
        ({"count": True}, "count is True; allowed: an integer from"),
        ({"items": [{"small": 0, "number": 0}, {"small": 128, "number": 0}]}, r"items\[1\].small"),
    ],
)
def test_a_value_that_does_not_fit_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        encode(MESSAGE, {**VALUES, **change}, 1)
    with pytest.raises(InvalidValueError, match="text"):
        encode(PLAIN, {"text": "a" * 2**15, "note": None})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BYTES[:-1], "count is 4; allowed: as many bytes as there are, 3"),
        (BYTES + b"\0", "Sample is .*; allowed: 40 bytes, not 41"),
        (BYTES[:16] + b"\x03\xff\xff" + BYTES[19:], "text is .*; allowed: UTF-8"),
        (BYTES[:16] + b"\x00" + BYTES[19:], "text is None; allowed: a string"),
        (BYTES[:28] + b"\xff\xff\xff\xff\x07", "items is 2147483646; allowed: an array of at"),
        (BYTES[:28] + b"\x00", "items is -1; allowed: an array"),
        (BYTES[:28] + b"\xff\xff\xff\xff\xff\x01", "items is .*; allowed: at most 2147483647"),
        (BYTES[:28] + b"\xff\xff\xff\xff\x0f", "items is .*; allowed: at most 2147483647"),
        (BYTES[:-5] + b"\x05" + BYTES[-4:] + b"\0", "count is 5; allowed: the size of its kind"),
    ],
)
def test_bytes_that_cannot_be_are_refused_where_they_cannot(data: bytes, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        decode(MESSAGE, data, 1)


@pytest.mark.parametrize("version", [-1, 2, True])
def test_a_version_that_is_not_known_is_refused(version: int) -> None:
    with pytest.raises(InvalidValueError, match=r"Sample version is .*; allowed: 0 to 1"):
        decode(MESSAGE, BYTES, version)
    with pytest.raises(InvalidValueError, match=r"Numbers version is .*; allowed: 0$"):
        encode(NUMBERS, {"all": []}, version)


@given(st.binary(max_size=60) | st.builds(lambda at, b: BYTES[:at] + b + BYTES[at + 1 :],
                                          st.integers(0, 38), st.binary(max_size=3)))  # fmt: skip
def test_any_bytes_are_a_message_or_a_typed_error(data: bytes) -> None:
    try:
        values = decode(MESSAGE, data, 1)
    except InvalidValueError:
        return
    assert decode(MESSAGE, encode(MESSAGE, values, 1), 1) == values


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
        ({"extra": "3"}, "extra is '3'; allowed: an integer"),
        ({"extra": 1.5}, "extra is 1.5; allowed: an integer"),
        ({"items": {}}, "items is {}; allowed: a JSON array"),
        ({"items": [{"small": 1}]}, r"items\[0\].number is None; allowed: a value; it is missing"),
        ({"items": [4]}, r"items\[0\] is 4; allowed: a JSON object"),
    ],
)
def test_json_that_cannot_be_is_refused_where_it_cannot(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        from_json(MESSAGE, {**to_json(MESSAGE, VALUES), **change})


def test_json_that_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"the data is \[\]; allowed: a JSON object"):
        from_json(MESSAGE, [])
