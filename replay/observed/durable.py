"""What the share coordinator holds, as its requests show it."""

import functools
from collections import deque

from model.guards import Difference
from model.states import RecordState
from replay.observed.known import Known
from replay.observed.observation import Kind, Observation
from replay.observed.record import Configurations, recovered
from replay.observed.spans import Spans
from replay.observed.verdict import DivergedError
from spec.coordinator import Durable, durable_state
from spec.record import UNDELIVERED, Record, durable_maximum, recover

Entry = tuple[int, int]
Holding = Entry | None | str

UNKNOWN = "unknown"
_KEPT = 256


class Durables:
    """The durable state of a share-partition, merged from its writes."""

    def __init__(self, known: Known, leader: str) -> None:
        """Begin in the middle of a history: nothing is known."""
        self._known, self._leader = known, leader
        self._entries: Spans[Holding] = Spans(UNKNOWN)
        self._start: int | None = None
        self._epoch: int | None = None
        self._recent: deque[Observation] = deque(maxlen=_KEPT)

    def begin_anew(self) -> None:
        """Forget everything: a part of the log is missing."""
        self._entries, self._start = Spans(UNKNOWN), None

    def wrote(self, each: Observation) -> None:
        """Merge a write that was accepted."""
        self._recent.append(each)
        self._merge(each)

    def _merge(self, each: Observation) -> None:
        if each.status != 0:
            return
        for first, last, state, count in each.ranges:
            self._entries.change(first, last, functools.partial(_merged, (state, count)))
        start = each.start_offset
        if start is not None and self._start is not None:
            self._start = max(start, self._start)

    def learn(self, durable: Durable) -> None:
        """Begin with what a dump says was durable, and with the writes that came since."""
        if self._start is not None or len(self._recent) == _KEPT:
            return
        self._entries, self._start = Spans(None), durable.start_offset
        self._epoch = durable.state_epoch
        for batch in durable_state(durable).state_batches:
            entry = int(batch.state), batch.delivery_count
            self._entries.put([(batch.first, batch.last, entry)])
        for each in [write for write in self._recent if write.state_epoch == durable.state_epoch]:
            self._merge(each)

    def take(self, each: Observation) -> None:
        """Take a request of another kind."""
        if each.status != 0:
            return
        match each.kind:
            case Kind.INITIALIZE if self._epoch == each.state_epoch:
                # Whether a repetition discards what was written depends on the version.
                self.begin_anew()
            case Kind.INITIALIZE:
                self._entries, self._start = Spans(None), each.start_offset
                self._epoch = each.state_epoch
            case Kind.DELETE:
                self.begin_anew()
            case Kind.SUMMARY:
                self._check_start(each)
            case Kind.READ:
                self._check_start(each)
                self._check_entries(each)
                self._entries, self._start = _spans(each), each.start_offset

    def _is_settled(self, each: Observation) -> bool:
        """Whether no write overlaps a read, so that their order is known."""
        settings = self._known.given.settings
        return all(
            other.end + 1 < each.begin - settings.slack_ms
            for other in self._recent
            if other.end + 1 >= each.begin - settings.slack_ms or other.begin > each.begin
        )

    def _check_start(self, each: Observation) -> None:
        start = each.start_offset
        if start is None or self._start is None or not self._is_settled(each):
            return
        if start != self._start:
            detail = f"the start offset {start} is read; {self._start} was written"
            raise DivergedError(Difference.PERSISTED, max(0, start), max(0, start), detail)

    def _check_entries(self, each: Observation) -> None:
        if not self._is_settled(each) or self._start is None:
            return
        answer = _spans(each)
        for first, last, held in self._entries.pieces(max(0, each.start_offset or 0)):
            if held == UNKNOWN:
                continue
            for low, high, read in answer.pieces(first, last):
                if read != held:
                    detail = f"{_text(read)} is read; {_text(held)} was written"
                    raise DivergedError(Difference.PERSISTED, low, high, detail)

    def begin_reading(self, each: Observation, now: float) -> None:
        """Begin with a new leader: it knows what it read.

        The rest is as if it had known at once: until then it does nothing.
        """
        if each.status != 0:
            return
        answer, known = _spans(each), self._known
        start = each.start_offset if each.start_offset is not None else -1
        rules = known.rules(now)
        changed: list[tuple[int, int, Configurations]] = []
        for piece in known.pieces(0, 2**63 - 1):
            reached = known.reach(piece, rules)
            for low, high, entry in answer.pieces(*piece[:2]):
                changed.append((low, high, recovered(reached, [_record(entry)])))
        known.records.put(changed)
        known.reached = max((part[1] for part in each.ranges), default=-1)
        known.floor = 0
        known.lowest = start if start >= 0 else None
        if start > 0:
            behind = Record(RecordState.ARCHIVED, -1)
            parts = [
                (low, high, recovered(configurations, [behind]))
                for low, high, configurations in known.records.pieces(0, start - 1)
            ]
            known.records.put(parts)
            known.floor = start


def _spans(each: Observation) -> Spans[Holding]:
    answer: Spans[Holding] = Spans(None)
    for first, last, state, count in each.ranges:
        answer.put([(first, last, (state, count))])
    return answer


def _record(entry: Holding) -> Record:
    if entry is None or isinstance(entry, str):
        return UNDELIVERED
    return recover(RecordState(entry[0]), entry[1])


def _merged(new: Entry, held: Holding) -> Holding:
    if isinstance(held, str):
        return held
    if held is None:
        return new
    state, count = durable_maximum(*new, *held)
    return int(state), int(count)


def _text(entry: Holding) -> str:
    if entry is None or isinstance(entry, str):
        return "nothing"
    return f"{RecordState(entry[0]).name}({entry[1]})"
