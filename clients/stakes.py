"""What happened in a record, and how often each duty was at stake: could have been violated."""

from collections import Counter
from collections.abc import Iterator

import attrs

from clients.duties import Duty
from clients.events import (
    RENEW,
    Acknowledgement,
    Answered,
    Asked,
    Called,
    ClientRecord,
    Compacted,
    Cut,
    Drained,
    Event,
    Heartbeat,
    Moved,
    Place,
    Returned,
    Settings,
)
from clients.judge import LONGEST_BATCH
from clients.membership import REFUSALS, UNHEARD
from model.ranges import offsets

DELIVERED, ACKNOWLEDGED = "records are delivered", "records are acknowledged"
REFUSED, CUT = "a request is refused", "a connection is cut in place of an answer"
_DELIVERIES = (Duty.ONLY_ACQUIRED, Duty.ONCE, Duty.AS_ACQUIRED, Duty.IN_ORDER)

_Stake = tuple[Duty | str, int]


def stakes(record: ClientRecord) -> Counter[str]:
    """Return how often each duty was at stake, and each of what happened, by name, if ever.

    A client that does nothing violates no duty.
    """
    counting = _Counting(record.settings)
    counts: Counter[str] = Counter()
    for event in record.events:
        for stake, count in (*counting.of_broker(event), *counting.of_application(event)):
            counts[stake.value if isinstance(stake, Duty) else stake] += count
    return +counts


@attrs.define
class _Counting:
    """A record as far as it was read. ``unsaid`` counts what the application has in hand."""

    settings: Settings
    unsaid: int = 0
    gaps: set[tuple[Place, int]] = attrs.field(factory=set)
    moved: set[Place] = attrs.field(factory=set)
    acknowledging: dict[int, int] = attrs.field(factory=dict)

    def of_broker(self, event: Event) -> Iterator[_Stake]:
        """Yield what is at stake by what a broker saw and did."""
        match event:
            case Asked(acknowledgements=batches):
                yield from ((Duty.EPOCHS, 1), (Duty.MEMBER_ID, 1), (Duty.AT_MOST, event.fetches))
                for batch in batches:
                    yield from self._acknowledged(batch)
                self.acknowledging[event.number] = len(batches)
            case Answered(error=error, refused=refused):
                sent = self.acknowledging.pop(event.number, 0)
                yield from self._failed(sent if error else len(refused))
                yield REFUSED, len(refused) + bool(error)
                yield Duty.THROTTLED, event.throttle_ms > 0
                given = ((g.place, o) for g in event.granted for o in offsets((g,)))
                gaps = sum(each in self.gaps for each in given)
                yield from ((Duty.GAPS, gaps), (Duty.NO_CONTROL, gaps))
            case Cut():
                yield from self._failed(self.acknowledging.pop(event.number, 0))
                yield CUT, 1
            case Compacted(place=place):
                self.gaps.update((place, offset) for offset in event.offsets)
            case Heartbeat(error=error):
                yield Duty.THROTTLED, event.throttle_ms > 0
                yield from ((Duty.MEMBER_ID, 1), (Duty.MEMBER_EPOCH, 1), (REFUSED, bool(error)))
                yield Duty.REJOINS, error in REFUSALS
                yield Duty.COORDINATOR, error in UNHEARD
                yield Duty.ASSIGNED, event.assigned is not None
                yield Duty.INTERVAL, event.interval_ms > 0
            case Moved(place=place):
                yield Duty.FOLLOWS, 1
                self.moved.add(place)

    def _acknowledged(self, batch: Acknowledgement) -> Iterator[_Stake]:
        count = max(0, min(batch.last - batch.first + 1, LONGEST_BATCH))
        explicit = (Duty.AS_SAID, Duty.NOTHING_UNSAID) if self.settings.explicit else ()
        yield from ((stake, count) for stake in (ACKNOWLEDGED, Duty.HELD, *explicit))
        yield Duty.OWN_LEADER, count if batch.place in self.moved else 0
        yield Duty.RENEWED, count if RENEW in batch.types else 0

    def _failed(self, count: int) -> Iterator[_Stake]:
        yield Duty.REFUSAL_TOLD, count
        yield Duty.REFUSAL_KNOWN, count if self.settings.callbacks else 0

    def of_application(self, event: Event) -> Iterator[_Stake]:
        """Yield what is at stake by calls and what they returned."""
        match event:
            case Drained():
                yield Duty.RECEIVES, 1
            case Called(call="poll") if self.settings.explicit:
                yield Duty.UNFINISHED_POLL, self.unsaid > 0
            case Called(call="acknowledge"):
                yield Duty.ALL_SENT, 1
                self.unsaid = max(0, self.unsaid - 1)
            case Returned(call=call, error=error, records=records):
                yield Duty.SUCCESS_TOLD, sum(each.error is None for each in event.completed)
                yield from ((Duty.RETURNS, error is None), (DELIVERED, len(records)))
                if call == "poll":
                    implicit = () if self.settings.explicit else (Duty.IMPLICIT, Duty.ALL_SENT)
                    yield from ((duty, len(records)) for duty in (*_DELIVERIES, *implicit))
                    yield from ((Duty.NOT_BUSY, 1), (Duty.NONE_DROPPED, not records))
                    self.unsaid += len(records)
                elif call == "commit":
                    told = sum(each.error is None for each in event.completed)
                    yield Duty.TOLD_IN_TIME, told if self.settings.callbacks else 0
                elif call == "close" and error is None:
                    yield from ((Duty.CLOSES, 1), (Duty.LEAVES, 1))
