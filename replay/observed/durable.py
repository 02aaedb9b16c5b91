"""What the share coordinator holds, as its requests show it."""

import functools
from collections import deque

from model.guards import Difference
from model.states import RecordState
from replay.observed.known import Known
from replay.observed.observation import Kind, Observation
from replay.observed.record import Allowance, Configurations, recovered
from replay.observed.spans import Spans
from replay.observed.verdict import DivergedError
from spec.coordinator import Durable, durable_state
from spec.record import UNDELIVERED, Record, durable_maximum, recover

Entry = tuple[int, int] | None
"""A state and a delivery count; None: nothing is durable."""

Holding = frozenset[Entry] | None
"""What may be durable; None: anything."""

_NOTHING: Holding = frozenset({None})
_MOST = 16
"""Of how many states that may be durable a record is followed."""

_KEPT = 256

_MISSING = frozenset({Allowance.LOST_LINES, Allowance.LAST_WRITES})


class Durables:
    """What may be durable of a share-partition, merged from its writes.

    A write that was answered with an error, or not answered, may be durable all the same.
    """

    def __init__(self, known: Known, leader: str) -> None:
        """Begin in the middle of a history: nothing is known."""
        self._known, self._leader = known, leader
        self._entries: Spans[Holding] = Spans(None)
        self._starts: frozenset[int] | None = None
        self._epoch: int | None = None
        self._recent: deque[Observation] = deque(maxlen=_KEPT)

    def begin_anew(self) -> None:
        """Forget everything: a part of the log is missing."""
        self._entries, self._starts = Spans(None), None

    def wrote(self, each: Observation) -> None:
        """Merge a write."""
        self._recent.append(each)
        self._merge(each)

    def _merge(self, each: Observation) -> None:
        certain = each.status == 0
        for first, last, state, count in each.ranges:
            merged = functools.partial(_merged, (state, count), certain=certain)
            self._entries.change(first, last, merged)
        start, starts = each.start_offset, self._starts
        if start is not None and starts is not None:
            moved = frozenset(max(start, other) for other in starts)
            self._starts = moved if certain else starts | moved

    def learn(self, durable: Durable) -> None:
        """Begin with what a dump says was durable, and with the writes that came since."""
        if self._starts is not None or len(self._recent) == _KEPT:
            return
        self._entries, self._starts = Spans(_NOTHING), frozenset({durable.start_offset})
        self._epoch = durable.state_epoch
        for batch in durable_state(durable).state_batches:
            entry = int(batch.state), batch.delivery_count
            self._entries.put([(batch.first, batch.last, frozenset({entry}))])
        for each in [write for write in self._recent if write.state_epoch == durable.state_epoch]:
            self._merge(each)

    def take(self, each: Observation) -> None:
        """Take a request of another kind."""
        certain = each.status == 0
        match each.kind:
            case Kind.INITIALIZE if self._epoch == each.state_epoch or not certain:
                # Whether a repetition discards what was written depends on the version.
                self.begin_anew()
            case Kind.INITIALIZE:
                self._entries, self._starts = Spans(_NOTHING), _only(each.start_offset)
                self._epoch = each.state_epoch
            case Kind.DELETE:
                self.begin_anew()
            case Kind.SUMMARY if certain:
                self._check_start(each)
            case Kind.READ if certain:
                self._check_start(each)
                self._check_entries(each)
                self._entries, self._starts = _spans(each), _only(each.start_offset)

    def _is_settled(self, each: Observation) -> bool:
        """Whether no write overlaps a read, so that their order is known."""
        settings = self._known.given.settings
        return all(
            other.end + 1 < each.earliest - settings.slack_ms
            for other in self._recent
            if other.end + 1 >= each.earliest - settings.slack_ms or other.begin > each.begin
        )

    @property
    def _may_miss(self) -> bool:
        """Whether more may be durable than the writes that are in the log."""
        return not self._known.allowed.isdisjoint(_MISSING)

    def _check_start(self, each: Observation) -> None:
        start, starts = each.start_offset, self._starts
        if start is None or starts is None or not self._is_settled(each):
            return
        if start not in starts and not (self._may_miss and start > min(starts)):
            texts = " or ".join(map(str, sorted(starts)))
            detail = f"the start offset {start} is read; {texts} was written"
            raise DivergedError(Difference.PERSISTED, max(0, start), max(0, start), detail)

    def _check_entries(self, each: Observation) -> None:
        if not self._is_settled(each) or self._starts is None:
            return
        answer = _spans(each)
        for first, last, held in self._entries.pieces(max(0, each.start_offset or 0)):
            if held is None:
                continue
            for low, high, answered in answer.pieces(first, last):
                read = _entry(answered)
                more = _merged(read, held) if self._may_miss and read else held
                if read not in held | (more or held):
                    texts = " or ".join(sorted(map(_text, held)))
                    detail = f"{_text(read)} is read; {texts} was written"
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
                changed.append((low, high, recovered(reached, [_record(_entry(entry))])))
        known.put(changed)
        known.reached = max((part[1] for part in each.ranges), default=-1)
        known.floor = 0
        known.lowest = start if start >= 0 else None
        if start > 0:
            known.pass_to(start)


def _spans(each: Observation) -> Spans[Holding]:
    answer: Spans[Holding] = Spans(_NOTHING)
    for first, last, state, count in each.ranges:
        answer.put([(first, last, frozenset({(state, count)}))])
    return answer


def _only(start: int | None) -> frozenset[int] | None:
    return None if start is None else frozenset({start})


def _entry(held: Holding) -> Entry:
    """Return the only state of those that were read."""
    return next(iter(held or ()), None)


def _record(entry: Entry) -> Record:
    return UNDELIVERED if entry is None else recover(RecordState(entry[0]), entry[1])


@functools.lru_cache(maxsize=_KEPT)
def _merged(new: tuple[int, int], held: Holding, *, certain: bool = True) -> Holding:
    if held is None:
        return None
    merged: frozenset[Entry] = frozenset(_maximum(new, entry) if entry else new for entry in held)
    merged = merged if certain else merged | held
    return merged if len(merged) <= _MOST else None


def _maximum(new: tuple[int, int], entry: tuple[int, int]) -> tuple[int, int]:
    state, count = durable_maximum(*new, *entry)
    return int(state), int(count)


def _text(entry: Entry) -> str:
    if entry is None:
        return "nothing"
    return f"{RecordState(entry[0]).name}({entry[1]})"
