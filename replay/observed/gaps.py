"""Where a part of a log is missing, as far as that can be known."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from replay.observed.facts import EpochRun, Facts, Gap, LogExtent

QUIET_MS = 60_000
"""After how long without a line a part of a log is taken to be missing (ms)."""

LOST_MS = 30_000
"""How long before its line a request that is missing may have taken effect (ms)."""


def gaps_of(facts: Facts) -> list[Gap]:
    """Return all gaps: unusable lines, quiet times, and session epochs that do not follow."""
    last: dict[str, float] = {}
    for extent in facts.logs:
        last[extent.broker] = max(extent.last, last.get(extent.broker, extent.last))
    # After a gap at the end of its log nothing is judged: the log ends before it.
    noted = (gap for gap in facts.gaps if gap.end < last.get(gap.broker, float("inf")))
    return sorted(
        {*noted, *_between_files(facts.logs), *_between_epochs(facts.runs)},
        key=lambda gap: (gap.begin, gap.end, gap.broker, gap.reason),
    )


def quiet(broker: str, begin: float, end: float) -> Gap:
    """Return the gap of a time without lines."""
    return Gap(broker, begin - LOST_MS, end, f"no line for {(end - begin) / 1000:.0f} s")


def _between_files(logs: Iterable[LogExtent]) -> Iterator[Gap]:
    brokers: dict[str, list[LogExtent]] = {}
    for extent in logs:
        brokers.setdefault(extent.broker, []).append(extent)
    for broker, extents in brokers.items():
        reached = None
        for extent in sorted(extents, key=lambda extent: extent.first):
            if reached is not None and extent.first - reached > QUIET_MS:
                yield quiet(broker, reached, extent.first)
            reached = extent.last if reached is None else max(reached, extent.last)


def _between_epochs(runs: Iterable[EpochRun]) -> Iterator[Gap]:
    """Yield where a session's next epoch is not the one after the last."""
    sessions: dict[tuple[str, str, str], list[EpochRun]] = {}
    for run in runs:
        sessions.setdefault((run.group, run.member, run.broker), []).append(run)
    for (_, member, broker), some in sessions.items():
        for before, run in pairwise(sorted(some, key=lambda run: (run.end, run.begin))):
            if run.first > 0 and run.first != before.last + 1:
                reason = (
                    f"the session of {member} goes on with epoch {run.first} after {before.last}"
                )
                yield Gap(broker, before.end - LOST_MS, run.begin, reason)
