"""The configuration of the broker and of groups, as text from clients and the command line."""

import re
from collections.abc import Mapping

from model.config_table import Scope, Value, effective_values
from model.configuration import check_group_values
from model.errors import InvalidValueError
from model.profile import Profile

_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?"
    r"(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
_SECONDS = {"days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}
_DIGITS = 18


def value_of(text: str) -> Value:
    """Return a setting as the type that its text has: a number, true or false, or text."""
    if text in ("true", "false"):
        return text == "true"
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS:
        return int(text)
    return text


def group_values(
    broker: Mapping[str, Value], group: Mapping[str, str], profile: Profile
) -> dict[str, Value]:
    """Return the settings of a group as values. Raises InvalidValueError for what is not allowed.

    A dead-letter queue is refused: this broker does not write one.
    """
    values = {name: value_of(text) for name, text in group.items()}
    check_group_values(broker, values, profile)
    if values.get("errors.deadletterqueue.topic.name"):
        given = values["errors.deadletterqueue.topic.name"]
        raise InvalidValueError("errors.deadletterqueue.topic.name", given, "nothing: none is kept")
    return values


def number(
    broker: Mapping[str, Value], group: Mapping[str, Value], name: str, profile: Profile
) -> int:
    """Return ``share.NAME`` of a group, or else ``group.share.NAME`` of the broker."""
    values = effective_values(broker, profile)
    return int(group.get(f"share.{name}", values[f"group.share.{name}"]))


def described(
    broker: Mapping[str, Value], group: Mapping[str, Value], profile: Profile, scope: Scope
) -> dict[str, Value]:
    """Return every setting of the broker, or of a group, with its value."""
    values = effective_values(broker, profile)
    if scope is Scope.BROKER:
        return values
    own = effective_values(group, profile, Scope.GROUP)
    inherited = {
        f"share.{name.removeprefix('group.share.')}": value
        for name, value in values.items()
        if name.startswith("group.share.")
    }
    known = {name: inherited[name] for name in _INHERITED if name in inherited}
    return {**known, **own}


_INHERITED = tuple(
    f"share.{name}"
    for name in (
        "record.lock.duration.ms",
        "delivery.count.limit",
        "partition.max.record.locks",
        "session.timeout.ms",
        "heartbeat.interval.ms",
    )
)


def reset_duration_ms(group: Mapping[str, Value]) -> int | None:
    """Return how long ago by_duration resets to, in ms; None for another strategy."""
    reset, _, duration = str(group.get("share.auto.offset.reset", "")).partition(":")
    match = _DURATION.fullmatch(duration)
    if reset != "by_duration" or match is None:
        return None
    parts = match.groupdict(default="0")
    return int(sum(float(parts[name]) * seconds for name, seconds in _SECONDS.items()) * 1000)
