import attrs

from model import operations as ops
from spec.draft.consumer import Consumer, Given, mark, may_poll, poll, receive
from spec.draft.readings import MENDED

FIRST, SECOND, OTHER = Given(0, 1, 0), Given(1, 1, 0), Given(2, 1, 1)
QUEUES = attrs.evolve(MENDED, marks_wait_for_poll=True)


def batch(first: int, last: int, acquisition: int = 0) -> ops.ProgressBatch:
    return ops.ProgressBatch(first, last, 1, acquisition)


def test_a_mark_is_sent_at_once() -> None:
    consumer, requests = mark(Consumer("A", explicit=True), FIRST, MENDED)
    assert requests == (ops.MarkInProgress("A", (batch(0, 0),)),)
    assert consumer.marks == ()


def test_a_mark_waits_until_there_are_too_many() -> None:
    consumer = Consumer("A", explicit=True, most_waiting=1)
    consumer, requests = mark(consumer, SECOND, QUEUES)
    assert (consumer.marks, requests) == ((SECOND,), ())
    consumer, requests = mark(consumer, FIRST, QUEUES)
    assert consumer.marks == ()
    assert requests == (ops.MarkInProgress("A", (batch(0, 0), batch(1, 1))),)


def test_marks_that_are_judged_together_are_sent_as_ranges() -> None:
    consumer = attrs.evolve(Consumer("A", explicit=True), marks=(OTHER, SECOND, FIRST))
    readings = attrs.evolve(QUEUES, request_is_atomic=True)
    _, requests = poll(consumer, readings)
    assert requests == (ops.MarkInProgress("A", (batch(0, 1), batch(2, 2, 1))),)


def test_poll_throws_in_explicit_mode_while_something_is_unacknowledged() -> None:
    consumer = Consumer("A", explicit=True)
    assert may_poll(consumer)
    assert not may_poll(receive(consumer, (FIRST,)))
    assert may_poll(receive(Consumer("A", explicit=False), (FIRST,)))


def test_poll_accepts_in_implicit_mode_before_it_sends_marks() -> None:
    consumer = receive(Consumer("A", explicit=False), (FIRST,))
    consumer, _ = mark(consumer, FIRST, QUEUES)
    consumer, requests = poll(consumer, QUEUES)
    accept = ops.Acknowledge("A", (ops.AcknowledgementBatch(0, 0, (1,)),))
    assert requests == (accept, ops.MarkInProgress("A", (batch(0, 0),)))
    assert (consumer.unacknowledged, consumer.marks) == ((), ())
    assert poll(consumer, QUEUES)[1] == ()
