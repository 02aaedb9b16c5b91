"""What an acquisition and a write must keep to besides the states of their records.

An acquisition keeps to the log, to its maximum and to who waits; whether records that are available
are acquired is counted over fetches. A write keeps to the records' states, and has two numbers.
"""

from collections.abc import Iterable

from model.guards import Difference, Guard
from replay.observed.known import WIDTH, Known, Piece
from replay.observed.observation import Observation
from replay.observed.record import (
    ANYTHING,
    Configurations,
    Rules,
    is_waiting,
    may_be_counted,
    passed,
    possible_text,
    written,
)
from replay.observed.requests import LogRequest
from replay.observed.verdict import DivergedError
from spec.record import UNDELIVERED


def check_acquire(known: Known, request: LogRequest) -> None:
    """Refuse an acquisition outside the log, or of more than was asked for."""
    if not request.ranges:
        return
    _check_log(known, request)
    _check_maximum(known, request)
    _check_width(known, request)


def _check_log(known: Known, request: LogRequest) -> None:
    log = known.given.log
    first, last = request.ranges[0][0], request.ranges[-1][1]
    start = log.start_at_least(request.begin)
    if first < start:
        detail = f"offset {first} is acquired; the log starts at {start} or later"
        raise DivergedError(Guard.NOT_BELOW_LOG_START, first, min(last, start - 1), detail)
    end = known.end_at_most(request.end)
    if end is not None and last >= end:
        detail = f"offset {last} is acquired; the log ends at {end} or earlier"
        raise DivergedError(Guard.ONLY_READ_IS_ACQUIRED, max(first, end), last, detail)


def _check_maximum(known: Known, request: LogRequest) -> None:
    """Refuse more records than were asked for, or a log batch more than completes the number.

    With batch_optimized only what is new to the window is limited.
    """
    maximum = request.seen.offset
    if maximum is None or maximum <= 0 or known.given.log.shrank:
        return
    first, last = request.ranges[0][0], request.ranges[-1][1]
    total = sum(high - low + 1 for low, high, _ in request.ranges)
    if request.seen.exact:
        if total > maximum:
            detail = f"{total} records are acquired; {maximum} were asked for"
            raise DivergedError(Guard.WITHIN_RECORD_LIMIT, first, last, detail)
        return
    new = _first_new(known, request)
    base = known.given.log.base_of(last)
    if new is None or base is None:
        return
    before = sum(max(0, min(high, base - 1) - max(low, new) + 1) for low, high, _ in request.ranges)
    if before >= maximum:
        detail = f"{before} records before the log batch at {base}; {maximum} were asked for"
        raise DivergedError(Guard.WITHIN_MAXIMUM_AND_ONE_BATCH, base, last, detail)


def _first_new(known: Known, request: LogRequest) -> int | None:
    """Return an offset from which on everything is new to the window; None: unknown."""
    if known.reached < 0:
        return None
    reached = known.reached
    for other in known.under_way.acquiring():
        if other is not request:
            reached = max(reached, other.ranges[-1][1])
    return known.given.log.base_after(reached)


def _check_width(known: Known, request: LogRequest) -> None:
    """Refuse a log batch that enters a window which is full of records that were acquired."""
    limit = known.given.settings.max_record_locks
    if any(event.name == WIDTH for event in known.given.altered):
        return
    last = request.ranges[-1][1]
    base = known.given.log.base_of(last)
    if limit is None or base is None or known.given.log.shrank or last <= known.reached:
        return
    inside, counting = 0, False
    rules = known.rules(request.end)
    for piece in known.pieces(known.floor, base - 1):
        low, high = piece[:2]
        reached = known.reach(piece, rules)
        deleted = known.may_be_deleted(low)
        counting = counting or not passed(reached, deleted=deleted, compacted=True)
        if counting and all(
            each.record is not None and each.record.delivery_count != 0 for each in reached
        ):
            inside += high - low + 1
    if inside >= limit:
        detail = f"{inside} records are in the window before offset {base}; the limit is {limit}"
        raise DivergedError(Guard.WITHIN_WINDOW_LIMIT, base, last, detail)


class Offers:
    """The record that waits to be acquired, since when, and how many fetches passed over it.

    Only of topics that are known not to be compacted: elsewhere the log may have lost it.
    """

    def __init__(self, known: Known) -> None:
        """Begin with none."""
        self._known = known
        self._offset: int | None = None
        self._since, self._fetches = 0.0, 0

    def note(self, request: LogRequest) -> None:
        """Note a fetch that acquired. Raises DivergedError where it is one too many."""
        known = self._known
        if known.compacted or not request.ranges:
            return
        first, last = request.ranges[0][0], request.ranges[-1][1]
        waits = self._offset is not None and is_waiting(known.records.value_at(self._offset))
        if not waits or known.may_be_deleted(self._offset or 0):
            self._begin(first, request)
            return
        if self._offset is None or self._offset > last or request.begin <= self._since:
            return
        if any(low <= self._offset <= high for low, high, _ in request.ranges):
            self._begin(first, request)
        elif self._offset < first:
            self._fetches += 1
            if self._fetches > known.given.settings.offered_within:
                detail = f"{self._fetches} fetches have passed over it since it was available"
                raise DivergedError(Guard.RECORD_IS_OFFERED, self._offset, self._offset, detail)

    def _begin(self, first: int, request: LogRequest) -> None:
        """Look for the first record that waits before what was acquired."""
        self._offset, self._fetches, self._since = None, 0, request.end
        for low, _, configurations in self._known.records.pieces(self._known.floor, first - 1):
            if is_waiting(configurations):
                self._offset = low
                return


def check_write(known: Known, each: Observation, now: float) -> None:
    """Keep the configurations that explain a write. Raises DivergedError if there are none."""
    rules = known.rules(now)
    for first, last, state, count in each.ranges:
        changed = []
        for piece in known.pieces(first, last):
            after = _explained(known, piece, (state, count), rules, saved=each.status == 0)
            changed.append((piece[0], piece[1], after))
        known.put(changed)
    start = each.start_offset
    if start is None or start < 0 or each.status != 0:
        return
    known.lowest = start if known.lowest is None else min(known.lowest, start)
    if start > known.floor:
        _pass(known, start, rules)
    _check_count(known, each, start, rules)


def is_newer(read: Observation, write: Observation) -> bool:
    """Whether a leader of a later epoch than that of a write has read the state that it is of."""
    if read.leader_epoch is None or write.leader_epoch is None:
        return False
    same = (read.status, read.state_epoch) == (0, write.state_epoch)
    return same and read.leader_epoch > write.leader_epoch


def check_fenced(newer: Iterable[Observation], write: Observation, known: Known) -> None:
    """Refuse the answer to a write that came after a leader of a later epoch had read.

    Raises DivergedError. Of reads and writes at two coordinators the clocks may differ.
    """
    settings = known.given.settings
    for read in newer if write.status == 0 else ():
        apart = settings.slack_ms + (read.broker != write.broker) * settings.skew_ms
        if read.end + 1 + apart < write.earliest:
            first, last = write.ranges[0][:2] if write.ranges else (0, 0)
            epochs = f"leader epoch {read.leader_epoch} had read before"
            detail = f"a write of leader epoch {write.leader_epoch} is answered NONE; {epochs}"
            raise DivergedError(Difference.STATUS, first, last, detail)


def _explained(
    known: Known, piece: Piece, entry: tuple[int, int], rules: Rules, *, saved: bool
) -> Configurations:
    reached = known.reach(piece, rules)
    after = written(reached, *entry, saved=saved)
    if after:
        return after
    detail = (
        f"{entry[0]} with delivery count {entry[1]} is written; possible: {possible_text(reached)}"
    )
    raise DivergedError(Difference.WRITTEN_STATE, piece[0], piece[1], detail)


def _pass(known: Known, start: int, rules: Rules) -> None:
    """Move the start offset: what it passes is finished, or no longer in the log.

    What is in the log was acquired before, unless it was before all that was ever in the window.
    """
    changed = []
    for piece in known.pieces(known.floor, start - 1):
        first, last = piece[:2]
        reached = known.reach(piece, rules)
        plain = None if _before_window(known, first) else known.given.log.plain_in(first, last)
        absent = plain is None or known.compacted
        deleted = known.may_be_deleted(first)
        after = passed(reached, deleted=deleted, compacted=known.compacted, absent=absent)
        if not after:
            never = all(each.record == UNDELIVERED for each in reached)
            rule = Guard.NO_RECORD_LOST if never else Guard.START_STOPS_AT_UNFINISHED
            detail = f"the start offset {start} is written; possible: {possible_text(reached)}"
            raise DivergedError(rule, first, last, detail)
        changed.append((first, last, after))
    known.put(changed)
    known.floor = start


def _before_window(known: Known, first: int) -> bool:
    """Whether an offset is before everything that is known of the window."""
    return known.lowest is None or first < known.lowest


def _check_count(known: Known, each: Observation, start: int, rules: Rules) -> None:
    """Refuse a delivery complete count that is larger than the records that may be complete.

    Under read_committed what a fetch has read of aborted transactions is, and nobody acquires it.
    """
    count = each.complete_count
    unknown = known.records.value_at(2**62) == ANYTHING
    if count is None or count < 0 or unknown or known.compacted:
        return
    reached_by = max((request.ranges[-1][1] for request in known.under_way.acquiring()), default=-1)
    behind = max(start, known.reached + 1, reached_by + 1)
    most, unsure = 0, []
    for low, high, configurations in known.records.pieces(start, behind - 1):
        if may_be_counted(configurations):
            most += high - low + 1
        else:
            unsure.append((low, high))
    if count > most:
        pieces = (piece for part in unsure for piece in known.pieces(*part))
        most += sum(_counted(known, piece, rules) for piece in pieces)
    if count > most + known.given.log.may_be_aborted(behind):
        detail = f"{count} is written; at most {most} deliveries can be complete"
        raise DivergedError(Difference.WRITTEN_DELIVERY_COMPLETE_COUNT, start, start, detail)


def _counted(known: Known, piece: Piece, rules: Rules) -> int:
    """Return of how many records of a piece the delivery may be complete."""
    first, last = piece[:2]
    if may_be_counted(known.reach(piece, rules)):
        return last - first + 1
    parts = known.undone.pieces(first, last)
    return sum(high - low + 1 for low, high, undone in parts if undone)
