"""Cases of slow tests that `.ci/run` leaves out, as others of the same test show nearly all."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

T_ = TypeVar("T_")


def cases(each: Iterable[T_], is_long: Callable[[T_], bool]) -> list[ParameterSet]:
    """Return the cases of a test, those marked that only `make test-all` runs."""
    return [pytest.param(case, marks=pytest.mark.long if is_long(case) else ()) for case in each]
