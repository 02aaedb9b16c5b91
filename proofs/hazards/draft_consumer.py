"""The draft's "Client side": marks that wait in the consumer until they are sent."""

import attrs

from model import operations as ops
from model.states import AcknowledgeType
from proofs.hazards.draft_readings import Readings

MOST_WAITING = 100
"""Default of max.in-flight.progress.batches."""

Request = ops.MarkInProgress | ops.Acknowledge


@attrs.frozen(order=True)
class Given:
    """A record that a consumer was given, with the token of its delivery.

    ``leader_epoch`` and ``acquisition`` are the token, which a mark carries. ``delivery`` counts
    the deliveries of the offset from 0, whatever their tokens: no request carries it.
    """

    offset: int
    leader_epoch: int
    acquisition: int
    delivery: int = 0


@attrs.frozen
class Consumer:
    """A share consumer.

    ``explicit``: share.acknowledgement.mode. ``unacknowledged``: what it was given by the last
    poll and has not acknowledged. ``marks``: what it called markInProgress for and has not sent; if
    they become more than ``most_waiting``, they are sent without a poll.
    """

    member: str
    explicit: bool
    unacknowledged: tuple[Given, ...] = ()
    marks: tuple[Given, ...] = ()
    most_waiting: int = MOST_WAITING


def receive(consumer: Consumer, given: tuple[Given, ...]) -> Consumer:
    """Return the consumer after records came."""
    return attrs.evolve(consumer, unacknowledged=consumer.unacknowledged + given)


def mark(
    consumer: Consumer, given: Given, readings: Readings
) -> tuple[Consumer, tuple[Request, ...]]:
    """Mark a record: return the requests that this sends, if any ("Client side").

    Guard: none in the draft.
    Effect: the mark waits for poll(), or all are sent if too many wait, or it is sent now.
    Delivery count: not the client's.
    Persistence: none in the client.
    """
    consumer = attrs.evolve(consumer, marks=(*consumer.marks, given))
    if readings.marks_wait_for_poll and len(consumer.marks) <= consumer.most_waiting:
        return consumer, ()
    return attrs.evolve(consumer, marks=()), _requests(consumer)


def may_poll(consumer: Consumer) -> bool:
    """Whether poll() does not throw: in explicit mode all must have been acknowledged (KIP-932)."""
    return not (consumer.explicit and consumer.unacknowledged)


def poll(consumer: Consumer) -> tuple[Consumer, tuple[Request, ...]]:
    """Poll: return the requests that this sends before it fetches ("Client side"; KIP-932).

    Guard: ``may_poll``.
    Effect: in implicit mode all that was given is accepted; then the marks are sent.
    Delivery count: not the client's.
    Persistence: none in the client.
    """
    accepted = tuple(
        ops.AcknowledgementBatch(given.offset, given.offset, (AcknowledgeType.ACCEPT,))
        for given in sorted(consumer.unacknowledged)
    )
    requests: tuple[Request, ...] = _requests(consumer)
    if accepted:
        requests = (ops.Acknowledge(consumer.member, accepted), *requests)
    return attrs.evolve(consumer, unacknowledged=(), marks=()), requests


def _requests(consumer: Consumer) -> tuple[Request, ...]:
    """Return one request with the marks, a batch for each record."""
    batches = tuple(
        ops.ProgressBatch(given.offset, given.offset, given.leader_epoch, given.acquisition)
        for given in sorted(set(consumer.marks))
    )
    return (ops.MarkInProgress(consumer.member, batches),) if batches else ()
