"""Kafka's error codes, and the exceptions which this project raises for bad values."""

import re
from enum import Enum

_THROWN = re.compile(r"[\w.$]*(Exception|Error)(:.*)?", re.ASCII | re.DOTALL)


def is_thrown(status: str) -> bool:
    """Return whether a status is what an exception says of itself: its name, perhaps a text."""
    return _THROWN.fullmatch(status) is not None


class ErrorCode(Enum):
    """The result of an operation, named after ``org.apache.kafka.common.protocol.Errors``.

    ``PENDING`` is the one member that Kafka does not have: the answer has not been given yet
    because a write to the share coordinator is outstanding.
    """

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    UNKNOWN_MEMBER_ID = 25
    INVALID_REQUEST = 42
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FENCED_LEADER_EPOCH = 74
    GROUP_MAX_SIZE_REACHED = 81
    UNKNOWN_TOPIC_ID = 100
    FENCED_MEMBER_EPOCH = 110
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    SHARE_SESSION_LIMIT_REACHED = 133
    PENDING = "PENDING"


_MAX_SHOWN = 80
"""How many characters of a value an error shows."""

_LONGEST_NAME = 200
"""How long a name may be that an error shows whole."""


def _plain(given: object) -> object:
    """Return a range as its two offsets: a reader of data need not know the class."""
    ends = getattr(given, "first", None), getattr(given, "last", None)
    return given if None in ends else list(ends)


def value_text(given: object) -> str:
    """Return a value as one line of an error: shortened, and never too deep to be shown."""
    try:
        shown = repr(_plain(given))
    except RecursionError:
        return f"a {type(given).__name__} too deep to be shown"
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[: _MAX_SHOWN - 3]}..."


class InvalidValueError(ValueError):
    """A value that the model does not allow: its name, the value and what is allowed."""

    def __init__(self, name: str, given: object, allowed: str) -> None:
        """Take the name of the value, the value, which is shown shortened, and what is allowed.

        A name may be of a file, such as that of a field: it is shown on one line, and shortened.
        """
        plain = name.isprintable() and len(name) <= _LONGEST_NAME
        shown = name if plain else value_text(name).strip("'\"")
        super().__init__(f"{shown} is {value_text(given)}; allowed: {allowed}")
        self.name = name


class IllegalChoiceError(Exception):
    """An implementation made a choice that no rule allows; ``guard`` refused it."""

    def __init__(self, guard: Enum, detail: str) -> None:
        """Take a member of ``model.guards.Guard`` and the detail that violated it."""
        super().__init__(f"{guard.name}: {detail}")
        self.guard = guard
        self.detail = detail
