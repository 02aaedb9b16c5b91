"""What must come in time: answers to writes, ends of dead letters, the log up to its start.

Of each kind one is watched until it has come, and then the next: for writes that which was made
first, so that no other masks one that never comes. This is about traces alone: in a live search
the kit decides when an answer comes.
"""

from collections.abc import Iterable

from model.errors import ErrorCode
from model.operations import (
    AdvanceLogStart,
    Checkpoint,
    CompleteWrite,
    Initialize,
    Operation,
    Produce,
    ResetOffset,
)
from model.profile import Profile
from model.ranges import RecordRange
from model.states import RecordState
from model.trace import TraceEvent
from model.whole_state import Awaited, AwaitedKind, ReplayState

_NAMES = {
    AwaitedKind.WRITE: "the answer to write",
    AwaitedKind.DEAD_LETTER: "the end of the dead letter at",
    AwaitedKind.LOG: "the log up to its start offset,",
}


class Watch:
    """What is awaited of one share-partition, since when."""

    def __init__(self, standing: ReplayState | None = None) -> None:
        """Begin with nothing, or where a replay stands."""
        whole = standing.state if standing else None
        awaited = standing.awaited if standing else ()
        self._watched: dict[AwaitedKind, Awaited] = {each.kind: each for each in awaited}
        writes = whole.writes if whole else ()
        # Those that an altered start offset has fenced keep it, and need no answer.
        self._writes = {w.id: None for w in writes if w.seen or w.start_offset >= 0}
        self._log_end: int | None = whole.log.end_offset if whole and whole.log.known else None

    def begin(self, operation: Operation) -> None:
        """Begin with a new leader, with one whose state is told, or with nothing that is known."""
        self._watched, self._writes, self._log_end = {}, {}, None
        if isinstance(operation, Checkpoint):
            self._writes = {write.id: None for write in operation.outstanding}
        if isinstance(operation, Checkpoint | Initialize) and operation.log_known:
            self._log_end = operation.log_end_offset

    def awaited(self) -> tuple[Awaited, ...]:
        """Return what is watched, in the order of the kinds."""
        return tuple(each for _kind, each in sorted(self._watched.items()))

    def note(self, event: TraceEvent, records: Iterable[RecordRange], now: int) -> None:
        """Note an event and the records after it; ``now`` is its time, or its number."""
        short = self._follow(event)
        self._writes |= {w.id: None for w in event.outcome.writes if w.status is ErrorCode.PENDING}
        letters = [r for r in records if r.state is RecordState.ARCHIVING]
        letter = self._number(AwaitedKind.DEAD_LETTER)
        if not any(r.first <= letter <= r.last for r in letters):
            letter = letters[0].first if letters else -1
        write = self._number(AwaitedKind.WRITE)
        if write not in self._writes:
            write = next(iter(self._writes), -1)
        log = self._number(AwaitedKind.LOG)
        numbers = (write, letter, short if log < 0 else log)
        for kind, number in zip(AwaitedKind, numbers, strict=True):
            if number < 0:
                self._watched.pop(kind, None)
            elif number != self._number(kind):
                self._watched[kind] = Awaited(kind, number, now)

    def overdue(self, now: int, profile: Profile, *, timed: bool) -> str | None:
        """Return what has been awaited for too long, in words."""
        within = profile.answered_within_ms if timed else profile.answered_within
        unit = "ms" if timed else "events"
        for each in self.awaited():
            if now - each.since > within:
                name = _NAMES[each.kind]
                return f"{name} {each.number} is awaited for {now - each.since} {unit}"
        return None

    def _number(self, kind: AwaitedKind) -> int:
        return self._watched[kind].number if kind in self._watched else -1

    def _follow(self, event: TraceEvent) -> int:
        """Follow writes and the log; return the start offset of a log that ends before, or -1."""
        match event.operation:
            case ResetOffset() if event.outcome.status is ErrorCode.NONE:
                self._writes.clear()
            case CompleteWrite(name):
                self._writes.pop(name, None)
            case Produce(_, log_end):
                self._log_end = None if self._log_end is None else log_end
                self._watched.pop(AwaitedKind.LOG, None)
            case AdvanceLogStart(start) if self._log_end is not None and start > self._log_end:
                self._log_end = start
                return start
        return -1
