"""``apply`` as a function; what each operation does, ``tests/rules`` says of both sides."""

import pytest

from model.errors import InvalidValueError
from model.operations import Gap
from spec.step import apply
from tests.spec.worlds import started


def test_what_only_a_recording_has_is_no_operation_of_a_leader() -> None:
    with pytest.raises(InvalidValueError, match="operation is 'Gap'; allowed: one of a leader"):
        apply(started(), Gap())
