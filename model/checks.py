"""Validators shared by the values of the model; errors show the value and what is allowed."""

from typing import Any

import attrs

from model.errors import InvalidValueError

optional = attrs.validators.optional
"""A validator as another, of a field that may be None."""

MAX_INT64 = 2**63 - 1
MAX_RANGE = 1 << 20
"""The most offsets that one range may span: nothing read from a file decides how much memory
is used. Kafka's largest window is 10 000 records and one log batch beyond it."""


def whole(name: str, value: object, low: int, high: int = MAX_INT64) -> int:
    """Return ``value`` if it is an int in [low, high]; raise InvalidValueError if not."""
    if type(value) is not int or not low <= value <= high:
        raise InvalidValueError(name, value, f"an integer from {low} to {high}")
    return value


def offset(_instance: object, attribute: "attrs.Attribute[Any]", value: int) -> None:
    """Validate an attrs field as an offset in a log."""
    whole(attribute.name, value, 0, MAX_INT64 - 1)


def any_number(_instance: object, attribute: "attrs.Attribute[Any]", value: int) -> None:
    """Validate an attrs field as a number of 64 bits, which may be negative."""
    whole(attribute.name, value, -MAX_INT64)


def non_negative(_instance: object, attribute: "attrs.Attribute[Any]", value: int) -> None:
    """Validate an attrs field as a number that is not negative."""
    whole(attribute.name, value, 0)


def int32(_instance: object, attribute: "attrs.Attribute[Any]", value: int) -> None:
    """Validate an attrs field as a number of 32 bits, which may be negative."""
    whole(attribute.name, value, -(2**31), 2**31 - 1)


def from_minus_one(_instance: object, attribute: "attrs.Attribute[Any]", value: int) -> None:
    """Validate an attrs field as a number that is -1 where it is not known."""
    whole(attribute.name, value, -1, MAX_INT64 - 1)


def count(_instance: object, attribute: "attrs.Attribute[Any]", value: int) -> None:
    """Validate an attrs field as a delivery count (int16 on the wire)."""
    whole(attribute.name, value, 0, 2**15 - 1)


def member_name(_instance: object, attribute: "attrs.Attribute[Any]", value: str) -> None:
    """Validate an attrs field as the id of a member or a group: a string that is not empty."""
    if type(value) is not str or not value:
        raise InvalidValueError(attribute.name, value, "a string that is not empty")
