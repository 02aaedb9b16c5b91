"""Answers that have not the form of one: no rule can judge them, and the run stops."""

import json

from conformance.cores.target import Reply
from conformance.target import TargetError
from judge.words import printable
from model.errors import InvalidValueError, value_text

_MAX_TEXT = 300
_MISSING = "it is missing"


def is_form(error: InvalidValueError) -> bool:
    """Return whether an answer lacks a field, or has another type or word in it than it may.

    Otherwise it has a value that is impossible, such as a negative offset: that is a deviation.
    """
    return "." in error.name


def malformed(operation: str, error: InvalidValueError, reply: Reply) -> TargetError:
    """Return one line: which operation, which field, what is allowed, and what the driver sent."""
    field = error.name.removeprefix("event.")
    allowed = str(error).partition("; allowed: ")[2]
    wrong = f"it has no {field}" if allowed.endswith(_MISSING) else f"{field} must be {allowed}"
    text = printable(wrong, _MAX_TEXT)
    return TargetError(f"its answer to {operation} cannot be read: {text}; it sent {sent(reply)}")


def sent(reply: Reply) -> str:
    """Return what a driver sent, as JSON and not too long."""
    try:
        text = json.dumps(reply, ensure_ascii=False)
    except RecursionError:
        text = "an object too deep to be shown"
    return printable(text, _MAX_TEXT)


def error_text(reply: Reply) -> str:
    """Return the error of an answer that has one, whatever it is."""
    error = reply["error"]
    return error if isinstance(error, str) else value_text(error)
