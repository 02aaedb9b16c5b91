"""The page that ``sharespec replay --html`` writes."""

from collections.abc import Sequence
from pathlib import Path

from operations.view.many import drawings_of, listed_verdicts
from operations.view.page import page
from replay.plan import Plan
from sharespec.known_faults import Sorted

MAX_NAMES = 3
"""How many traces the title names."""


def page_of(
    traces: Sequence[Path],
    known: Sorted,
    plan: Plan,
    lag: Path,
) -> str:
    """Return the page of a replay; ``lag`` is the folder of its files of lag."""
    result = known.replay
    names = [path.name for path in traces]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    counts = result.counts
    title = (
        f"{', '.join(names[:MAX_NAMES])}{more}: {counts.diverged} of {counts.partitions} "
        f"share-partitions diverge, profile {plan.profile}"
    )
    drawings = drawings_of(traces, result.verdicts, plan, known.label)
    listed = listed_verdicts(result.verdicts, lag, known.label)
    return page(title, listed, drawings)
