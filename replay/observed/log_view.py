"""What requests show of a log: where it starts, where it ends, and where its batches begin."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cached_property

import attrs

from replay.observed.observation import Kind, Observation


@attrs.frozen
class LogView:
    """What is known of a log at a time.

    ``starts_low`` and ``starts_high`` are (time, offset): from that time on the log starts there
    or later; until that time there or earlier. ``ends`` are (time, offset): until that time it
    ends there or earlier; ``listed_ends`` are those that no append shows. ``bases`` are where log
    batches begin, ``plain`` those that are of no transaction. ``shrank``: an append came at an
    offset that had been there before.
    """

    starts_low: tuple[tuple[float, int], ...] = ()
    starts_high: tuple[tuple[float, int], ...] = ()
    ends: tuple[tuple[float, int], ...] = ()
    listed_ends: tuple[tuple[float, int], ...] = ()
    bases: tuple[int, ...] = ()
    plain: frozenset[int] = frozenset()
    shrank: bool = False

    def start_at_least(self, time: float) -> int:
        """Return an offset at which the log starts, or later, from this time on."""
        nth = bisect_right(self.starts_low, (time, 2**63))
        return self.starts_low[nth - 1][1] if nth else 0

    def start_at_most(self, time: float) -> int | None:
        """Return an offset at which the log starts, or earlier, until this time; None: unknown."""
        return _first_after(self.starts_high, time)

    def end_at_most(self, time: float) -> int | None:
        """Return an offset at which the log ended, or earlier, until this time; None: unknown."""
        return None if self.shrank else _first_after(self.ends, time)

    def listed_end_at_most(self, time: float) -> int | None:
        """Return the same, as far as it was asked for; None: unknown."""
        return None if self.shrank else _first_after(self.listed_ends, time)

    def base_after(self, offset: int) -> int | None:
        """Return where the next known log batch begins."""
        nth = bisect_right(self.bases, offset)
        return self.bases[nth] if nth < len(self.bases) else None

    def base_of(self, offset: int) -> int | None:
        """Return where the last known log batch begins that begins at an offset or before it."""
        nth = bisect_right(self.bases, offset)
        return self.bases[nth - 1] if nth else None

    def plain_in(self, first: int, last: int) -> int | None:
        """Return the first offset in which a log batch of no transaction begins; None: none."""
        for nth in range(bisect_left(self.bases, first), len(self.bases)):
            base = self.bases[nth]
            if base > last:
                break
            if base in self.plain:
                return base
        return None

    def may_be_aborted(self, first: int) -> float:
        """Return how many offsets from one on may be of transactions: where none shows otherwise.

        Behind the last log batch that is of a transaction, and of a log that nobody is seen to
        append to, that is any number.
        """
        unknown = max(0, self.bases[0] - first) if self.bases else float("inf")
        return unknown + sum(b - max(a, first) for a, b in self._transactions if b > first)

    @cached_property
    def _transactions(self) -> tuple[tuple[int, float], ...]:
        """Return where log batches of transactions begin and where the next ones do."""
        batches = zip(self.bases, (*self.bases[1:], float("inf")), strict=False)
        return tuple((base, end) for base, end in batches if base not in self.plain)


def log_view(seen: Iterable[Observation], margin: float) -> LogView:
    """Bring the observations of a log together; times may be wrong by the margin (ms)."""
    low: list[tuple[float, int]] = []
    high: list[tuple[float, int]] = []
    ends: list[tuple[float, int]] = []
    listed: list[tuple[float, int]] = []
    bases: dict[int, bool] = {}
    appended: list[tuple[float, float, int]] = []
    for each in seen:
        offset, begin, end = each.offset or 0, each.earliest - margin, each.end + 1
        if each.kind is Kind.APPENDED:
            bases[offset] = each.exact
            ends.append((begin, offset))
            appended.append((begin, end, offset))
        elif each.kind is Kind.LOG_END:
            ends.append((begin, offset))
            listed.append((begin, offset))
        else:
            low.append((end, offset))
            if each.kind is Kind.LOG_START and each.exact:
                high.append((begin, offset))
    return LogView(
        _rising(low),
        _falling(high),
        _falling(ends),
        _falling(listed),
        tuple(sorted(bases)),
        frozenset(base for base, plain in bases.items() if plain),
        _shrank(appended),
    )


def _first_after(pairs: tuple[tuple[float, int], ...], time: float) -> int | None:
    nth = bisect_left(pairs, (time, -1))
    return pairs[nth][1] if nth < len(pairs) else None


def _rising(pairs: list[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
    """Return the pairs by time, each with the greatest offset up to it."""
    kept: list[tuple[float, int]] = []
    for time, offset in sorted(pairs):
        if not kept or offset > kept[-1][1]:
            kept.append((time, offset))
    return tuple(kept)


def _falling(pairs: list[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
    """Return the pairs by time, each with the least offset from it on."""
    kept: list[tuple[float, int]] = []
    for time, offset in sorted(pairs, reverse=True):
        if not kept or offset < kept[-1][1]:
            kept.append((time, offset))
    return tuple(reversed(kept))


def _shrank(appended: list[tuple[float, float, int]]) -> bool:
    """Whether an append that began after another had ended has an offset that is not higher."""
    highest = -1
    ended = sorted((end, offset) for _, end, offset in appended)
    nth = 0
    for begin, _, offset in sorted(appended):
        while nth < len(ended) and ended[nth][0] < begin:
            highest = max(highest, ended[nth][1])
            nth += 1
        if offset <= highest:
            return True
    return False
