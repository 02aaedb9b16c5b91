"""What an event may ask of a judge that knows every offset by itself."""

from collections.abc import Iterable

from model.checks import MAX_RANGE
from model.errors import InvalidValueError
from model.operations import Compact, Initialize, Operation
from model.outcome import Choice
from model.ranges import Ranged, number_of_offsets


def check_offsets(operation: Operation, choice: Choice) -> None:
    """Raise InvalidValueError if one operation is about more offsets than memory is for.

    A range spans at most MAX_RANGE offsets, but an event may have any number of ranges.
    """
    _check("acquired", choice.acquired or ())
    _check("entered", choice.entered or ())
    if isinstance(operation, Initialize):
        _check("persisted", operation.persisted.state_batches)
    if isinstance(operation, Compact):
        _check("compacted", operation.ranges)


def _check(name: str, ranges: Iterable[Ranged]) -> None:
    total = number_of_offsets(ranges)
    if total > MAX_RANGE:
        raise InvalidValueError(f"number of {name} offsets", total, f"at most {MAX_RANGE}")
