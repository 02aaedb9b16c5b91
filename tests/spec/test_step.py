"""``apply`` as a function; what each operation does, ``tests/rules`` says of both sides."""

import pytest

from model.errors import ErrorCode, InvalidValueError
from model.operations import CompleteWrite, Gap
from model.outcome import Answer
from spec.step import apply
from tests.spec.worlds import acknowledgement, fetch, run, started


def test_seq_is_0_unless_given() -> None:
    pending = [Answer(ErrorCode.PENDING)]
    held = run(started(), fetch("c1", (0, 0)))
    waiting = apply(held, acknowledgement("c1", (0, 0, 1)), answers=pending).partition
    step = apply(waiting, CompleteWrite(0, ErrorCode.NONE))
    assert [done.seq for done in step.outcome.completed] == [0]


def test_what_only_a_recording_has_is_no_operation_of_a_leader() -> None:
    with pytest.raises(InvalidValueError, match="operation is 'Gap'; allowed: one of a leader"):
        apply(started(), Gap())
