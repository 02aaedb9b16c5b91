import attrs

from model import operations as ops
from model.states import AcknowledgeType
from proofs.hazards.draft_consumer import Consumer, Given, mark, may_poll, poll, receive
from proofs.hazards.draft_readings import MENDED

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


def test_a_hundred_marks_wait_unless_told_otherwise() -> None:
    """The default of max.in-flight.progress.batches."""
    waiting = tuple(Given(offset, 1, 0) for offset in range(99))
    consumer = attrs.evolve(Consumer("A", explicit=True), marks=waiting)
    consumer, requests = mark(consumer, Given(99, 1, 0), QUEUES)
    assert (len(consumer.marks), requests) == (100, ())
    consumer, requests = mark(consumer, Given(100, 1, 0), QUEUES)
    assert (len(consumer.marks), len(requests)) == (0, 1)


def test_marks_are_sent_in_the_order_of_their_offsets_and_once() -> None:
    given = tuple(Given(offset, 1, 0) for offset in (9, 4, 7, 0, 4, 2))
    consumer = attrs.evolve(Consumer("A", explicit=True), marks=given)
    _, requests = poll(consumer, QUEUES)
    assert requests == (ops.MarkInProgress("A", tuple(batch(o, o) for o in (0, 2, 4, 7, 9))),)


def test_ranges_of_marks_end_at_a_gap_and_at_another_delivery() -> None:
    given = (Given(0, 1, 0), Given(1, 1, 0), Given(2, 1, 0), Given(4, 1, 0), Given(5, 2, 0))
    consumer = attrs.evolve(Consumer("A", explicit=True), marks=(*given, Given(6, 2, 0)))
    readings = attrs.evolve(QUEUES, request_is_atomic=True)
    _, requests = poll(consumer, readings)
    last = ops.ProgressBatch(5, 6, 2, 0)
    assert requests == (ops.MarkInProgress("A", (batch(0, 2), batch(4, 4), last)),)


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


def test_what_is_accepted_is_in_the_order_of_its_offsets() -> None:
    consumer = receive(Consumer("A", explicit=False), (OTHER, SECOND, FIRST))
    _, (request,) = poll(consumer, QUEUES)
    accept = (AcknowledgeType.ACCEPT,)
    batches = tuple(ops.AcknowledgementBatch(offset, offset, accept) for offset in range(3))
    assert request == ops.Acknowledge("A", batches)


def test_poll_accepts_in_implicit_mode_before_it_sends_marks() -> None:
    consumer = receive(Consumer("A", explicit=False), (FIRST,))
    consumer, _ = mark(consumer, FIRST, QUEUES)
    consumer, requests = poll(consumer, QUEUES)
    accept = ops.Acknowledge("A", (ops.AcknowledgementBatch(0, 0, (1,)),))
    assert requests == (accept, ops.MarkInProgress("A", (batch(0, 0),)))
    assert (consumer.unacknowledged, consumer.marks) == ((), ())
    assert poll(consumer, QUEUES)[1] == ()
