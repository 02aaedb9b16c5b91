"""What a record exercised: a client that does nothing violates no duty, and conforms to none."""

import attrs

from clients.events import Answered, Asked, Cut, Heartbeat, Record, Returned
from clients.judge import LONGEST_BATCH


@attrs.frozen
class Exercise:
    """How often what the duties are about has happened.

    ``delivered``: records that polls returned; ``acknowledged``: offsets in acknowledgements that
    were sent; ``refused``: requests, also heartbeats, refused as a whole, and share-partitions
    refused in one; ``cut``: connections cut in place of an answer.
    """

    delivered: int = 0
    acknowledged: int = 0
    refused: int = 0
    cut: int = 0

    def __add__(self, other: "Exercise") -> "Exercise":
        """Return both together."""
        pairs = zip(attrs.astuple(self), attrs.astuple(other), strict=True)
        return Exercise(*(mine + theirs for mine, theirs in pairs))

    @property
    def lack(self) -> str | None:
        """Why nothing was shown, or None."""
        if not self.delivered:
            return "no record was delivered to the application"
        return None if self.acknowledged else "no record was acknowledged"


def exercised(record: Record) -> Exercise:
    """Count what happened in a record."""
    total = Exercise()
    for event in record.events:
        if isinstance(event, Returned):
            total += Exercise(delivered=len(event.records))
        elif isinstance(event, Asked):
            sizes = (batch.last - batch.first + 1 for batch in event.acknowledgements)
            total += Exercise(acknowledged=sum(max(0, min(n, LONGEST_BATCH)) for n in sizes))
        elif isinstance(event, Answered):
            total += Exercise(refused=len(event.refused) + bool(event.error))
        elif isinstance(event, Heartbeat):
            total += Exercise(refused=int(bool(event.error)))
        elif isinstance(event, Cut):
            total += Exercise(cut=1)
    return total
