"""Whether records that are available are acquired, within so many fetches."""

from model.guards import Guard
from replay.observed.known import Known
from replay.observed.record import is_waiting
from replay.observed.requests import Request
from replay.observed.verdict import DivergedError


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
