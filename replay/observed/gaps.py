"""Where a part of a log is missing, as far as that can be known."""

from collections.abc import Iterable, Iterator
from heapq import nlargest
from itertools import accumulate, pairwise
from operator import attrgetter

from replay.observed.observation import EpochRun, Facts, Lapse, LogExtent, SentRun, grouped, of_kind
from replay.observed.settings import Assumed

SILENT_MS, MOST_SILENCES = 2000, 100
"""From how long without a line on lines may be missing, or a clock set forward (ms): members that
wait for records ask more often. Of more such times the longest are taken."""

MISSING_MS = 1000
"""How much earlier than the one before it a request that is missing may have been received (ms)."""

BEGINNING_MS = 5000
"""In how much of a log every session shows that had begun before it (ms): members fetch often."""

LOST_MS = 30_000
"""How long before its line a request that is missing may have taken effect (ms)."""

STEP_MS = 100
"""From how far on a clock that goes back was set, and no line was written late (ms)."""

_USUAL = Assumed()

_broker, _session = attrgetter("broker"), attrgetter("group", "member", "broker")


def gaps_of(facts: Facts, settings: Assumed = _USUAL) -> list[Lapse]:
    """Return all gaps: unusable lines, quiet times, and session epochs that do not follow."""
    logs, runs = of_kind(LogExtent, facts), of_kind(EpochRun, facts)
    last = {name: max(e.last for e in some) for name, some in grouped(logs, _broker).items()}
    # After a gap at the end of its log nothing is judged: the log ends before it.
    noted = (gap for gap in of_kind(Lapse, facts) if gap.end < last.get(gap.broker, float("inf")))
    return sorted(
        {*noted, *_between_extents(logs, settings), *_between_epochs(runs)},
        key=lambda gap: (gap.begin, gap.end, gap.broker, gap.reason),
    )


def stepped_back(broker: str, begin: float, end: float) -> Lapse:
    """Return the gap of the time that a clock had twice."""
    reason = f"the clock goes back {(end - begin) / 1000:.1f} s"
    return Lapse(broker, begin, end, reason, end - begin)


def missing_of(facts: Facts, settings: Assumed = _USUAL) -> Iterator[Lapse]:
    """Yield when requests may have had effect that no log has, though nothing says so for certain.

    They are those of a session before the first that is seen of it, and those of which the
    correlation ids of a client of share coordinators leave room; or they are those of a time
    without lines, which a clock that was set forward shows too.
    """
    logs = of_kind(LogExtent, facts)
    firsts = {name: min(e.first for e in some) for name, some in grouped(logs, _broker).items()}
    for some in grouped(of_kind(EpochRun, facts), _session).values():
        run = min(some, key=lambda run: run.begin)
        if run.first > 0 and run.begin > firsts.get(run.broker, run.begin) + BEGINNING_MS:
            text = f"the session of {run.member} is first seen with epoch {run.first}"
            yield Lapse(run.broker, run.begin - LOST_MS, run.begin, text)
    yield from _between_ids(of_kind(SentRun, facts))
    yield from nlargest(
        MOST_SILENCES, _silences(logs, settings), key=lambda gap: gap.end - gap.begin
    )


def _between_ids(runs: Iterable[SentRun]) -> Iterator[Lapse]:
    for some in grouped(runs, lambda run: run.client).values():
        if not any(run.to_coordinator for run in some):
            continue
        reached: SentRun | None = None
        for run in sorted(some, key=lambda run: run.first):
            if reached is not None and run.first > reached.last + 1:
                often = run.first - reached.last - 1
                text = f"{often:,} requests to share coordinators are in no log"
                begin, end = sorted((reached.end, run.begin))
                yield Lapse("", begin - MISSING_MS, end + LOST_MS, text)
            reached = run if reached is None or run.last > reached.last else reached


def _silences(logs: Iterable[LogExtent], settings: Assumed) -> Iterator[Lapse]:
    for reached, extent in _followed(logs):
        if SILENT_MS < extent.first - reached <= settings.quiet_ms:
            silent = f"no line for {(extent.first - reached) / 1000:.1f} s, or the clock was set"
            yield Lapse(extent.broker, reached, extent.first, silent)


def _between_extents(logs: Iterable[LogExtent], settings: Assumed) -> Iterator[Lapse]:
    for reached, extent in _followed(logs):
        broker, first = extent.broker, extent.first
        if first - reached > settings.quiet_ms:
            silent = f"no line for {(first - reached) / 1000:.0f} s"
            yield Lapse(broker, reached - LOST_MS, first, silent)
        elif reached - first > STEP_MS:
            yield stepped_back(broker, first, min(reached, extent.last))


def _followed(logs: Iterable[LogExtent]) -> Iterator[tuple[float, LogExtent]]:
    """Yield each extent but the first of a broker, after the time that those before it reach."""
    for some in grouped(sorted(logs, key=lambda extent: extent.first), _broker).values():
        reached = accumulate((extent.last for extent in some), max)
        yield from zip(reached, some[1:], strict=False)


def _between_epochs(runs: Iterable[EpochRun]) -> Iterator[Lapse]:
    """Yield where a session's next epoch is not one after any of this member.

    A request that waited is answered when the member's next session has begun.
    """
    for (_, member, broker), some in grouped(runs, _session).items():
        lasts = {run.last for run in some}
        begun = sorted(some, key=lambda run: (run.begin, run.end))
        for before, run in pairwise(begun):
            if run.first > 0 and run.first - 1 not in lasts:
                reason = (
                    f"the session of {member} goes on with epoch {run.first} after {before.last}"
                )
                yield Lapse(broker, min(before.end, run.begin) - LOST_MS, run.begin, reason)
