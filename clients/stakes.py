"""How often each duty was at stake in a record: how often a client could have violated it."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from clients.duties import Duty
from clients.events import (
    RENEW,
    Acknowledgement,
    Answered,
    Asked,
    Called,
    Compacted,
    Cut,
    Drained,
    Heartbeat,
    Moved,
    Place,
    Record,
    Returned,
    Settings,
)
from clients.judge import LONGEST_BATCH
from clients.membership import NOT_COORDINATOR, REFUSALS

_DELIVERIES = (Duty.ONLY_ACQUIRED, Duty.ONCE, Duty.AS_ACQUIRED, Duty.IN_ORDER)


def stakes(record: Record) -> Counter[Duty]:
    """Return how often each duty was at stake; one that never was is not in it."""
    counting = _Counting(record.settings)
    for event in record.events:
        take = _TAKES.get(type(event))
        if take is not None:
            take(counting, event)
    return +counting.stakes


@attrs.define
class _Counting:
    """A record as far as it was read. ``unsaid`` counts what the application has in hand."""

    settings: Settings
    stakes: Counter[Duty] = attrs.field(factory=Counter)
    unsaid: int = 0
    gaps: set[tuple[Place, int]] = attrs.field(factory=set)
    moved: set[Place] = attrs.field(factory=set)
    acknowledging: dict[int, int] = attrs.field(factory=dict)

    def asked(self, event: Asked) -> None:
        """Count a request, and what it acknowledges."""
        self.stakes.update((Duty.EPOCHS, Duty.MEMBER_ID))
        self.stakes[Duty.AT_MOST] += event.fetches
        for batch in event.acknowledgements:
            self._acknowledged(batch)
        self.acknowledging[event.number] = len(event.acknowledgements)

    def _acknowledged(self, batch: Acknowledgement) -> None:
        count = max(0, min(batch.last - batch.first + 1, LONGEST_BATCH))
        explicit = (Duty.AS_SAID, Duty.NOTHING_UNSAID) if self.settings.explicit else ()
        for duty in (Duty.HELD, *explicit):
            self.stakes[duty] += count
        self.stakes[Duty.OWN_LEADER] += count if batch.place in self.moved else 0
        self.stakes[Duty.RENEWED] += count if RENEW in batch.types else 0

    def answered(self, event: Answered) -> None:
        """Count what an answer gives and refuses."""
        sent = self.acknowledging.pop(event.number, 0)
        self._failed(sent if event.error else len(event.refused))
        self.stakes[Duty.THROTTLED] += event.throttle_ms > 0
        for granted in event.granted:
            offsets = range(granted.first, granted.last + 1)
            gaps = sum((granted.place, offset) in self.gaps for offset in offsets)
            self.stakes[Duty.GAPS] += gaps
            self.stakes[Duty.NO_CONTROL] += gaps

    def _failed(self, count: int) -> None:
        self.stakes[Duty.REFUSAL_TOLD] += count
        self.stakes[Duty.REFUSAL_KNOWN] += count if self.settings.callbacks else 0

    def cut(self, event: Cut) -> None:
        """Count acknowledgements that were cut off."""
        self._failed(self.acknowledging.pop(event.number, 0))

    def compacted(self, event: Compacted) -> None:
        """Take note of offsets without a record."""
        self.gaps.update((event.place, offset) for offset in event.offsets)

    def beat(self, event: Heartbeat) -> None:
        """Count a heartbeat and its refusal."""
        self.stakes.update((Duty.MEMBER_ID, Duty.MEMBER_EPOCH))
        self.stakes[Duty.REJOINS] += event.error in REFUSALS
        self.stakes[Duty.COORDINATOR] += event.error == NOT_COORDINATOR
        self.stakes[Duty.ASSIGNED] += event.assigned is not None

    def moves(self, event: Moved) -> None:
        """Count a leader that moves."""
        self.stakes[Duty.FOLLOWS] += 1
        self.moved.add(event.place)

    def drained(self, _event: Drained) -> None:
        """Count polls that were to bring whatever there was."""
        self.stakes[Duty.RECEIVES] += 1

    def called(self, event: Called) -> None:
        """Count a poll with records in hand, and what is said of them."""
        if event.call == "poll" and self.settings.explicit:
            self.stakes[Duty.UNFINISHED_POLL] += self.unsaid > 0
        elif event.call == "acknowledge":
            self.stakes[Duty.ALL_SENT] += 1
            self.unsaid = max(0, self.unsaid - 1)

    def returned(self, event: Returned) -> None:
        """Count a call that succeeds, what a poll returns, and a client that closes well."""
        self.stakes[Duty.RETURNS] += event.error is None
        if event.call == "poll":
            for duty in _DELIVERIES:
                self.stakes[duty] += len(event.records)
            self.stakes[Duty.NOT_BUSY] += 1
            self.stakes[Duty.NONE_DROPPED] += not event.records
            for duty in () if self.settings.explicit else (Duty.IMPLICIT, Duty.ALL_SENT):
                self.stakes[duty] += len(event.records)
            self.unsaid += len(event.records)
        elif event.call == "close" and event.error is None:
            self.stakes.update((Duty.CLOSES, Duty.LEAVES))


_TAKES: Mapping[type[Any], Callable[[_Counting, Any], None]] = {
    Asked: _Counting.asked,
    Answered: _Counting.answered,
    Cut: _Counting.cut,
    Compacted: _Counting.compacted,
    Heartbeat: _Counting.beat,
    Moved: _Counting.moves,
    Drained: _Counting.drained,
    Called: _Counting.called,
    Returned: _Counting.returned,
}
