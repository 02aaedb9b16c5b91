"""What an acquisition must keep to besides the state of its records: log, maximum, and who waits.

Whether records that are available are acquired is counted over fetches.
"""

from model.guards import Guard
from replay.observed.known import WIDTH, Known
from replay.observed.record import is_waiting, passed
from replay.observed.requests import Request
from replay.observed.verdict import DivergedError


def check_acquire(known: Known, request: Request) -> None:
    """Refuse an acquisition outside the log, or of more than was asked for."""
    if not request.ranges:
        return
    _check_log(known, request)
    _check_maximum(known, request)
    _check_width(known, request)


def _check_log(known: Known, request: Request) -> None:
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


def _check_maximum(known: Known, request: Request) -> None:
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


def _first_new(known: Known, request: Request) -> int | None:
    """Return an offset from which on everything is new to the window; None: unknown."""
    if known.reached < 0:
        return None
    reached = known.reached
    for other in known.under_way.acquiring():
        if other is not request:
            reached = max(reached, other.ranges[-1][1])
    return known.given.log.base_after(reached)


def _check_width(known: Known, request: Request) -> None:
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

    def note(self, request: Request) -> None:
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

    def _begin(self, first: int, request: Request) -> None:
        """Look for the first record that waits before what was acquired."""
        self._offset, self._fetches, self._since = None, 0, request.end
        for low, _, configurations in self._known.records.pieces(self._known.floor, first - 1):
            if is_waiting(configurations):
                self._offset = low
                return
