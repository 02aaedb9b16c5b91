"""A segment of a share-partition: from the whole state before it to that after it."""

from collections.abc import Iterable, Mapping

from judge.engine import WholeEngine
from judge.finding import Finding, FindingKind
from judge.follower import DISAGREEMENT, Follower, Observer, follow_on
from judge.words import outcome_text, snapshot_text
from model.trace import TraceEvent
from model.whole_state import ReplayState, first_difference

Ends = tuple[ReplayState | None, ReplayState | None]
"""Where the columnar kernel stood before and after a segment.

None at the beginning of a share-partition, and where no state is to be reached.
"""

_SENTENCE = "the columnar kernel and the replay event by event come to different whole states"


def follow_segment(
    events: Iterable[TraceEvent],
    engines: Mapping[str, WholeEngine],
    ends: Ends,
    invariants_every: int = 0,
    observe: Observer | None = None,
) -> Finding | None:
    """Return the finding on the first event that does not conform, or that the ends do not fit.

    The engines have the state before the segment. Raises InvalidValueError as ``follow`` does.
    """
    before, after = ends
    followers = [Follower(name, engine, invariants_every) for name, engine in engines.items()]
    if before:
        for follower in followers:
            follower.resume(before)
    if finding := follow_on(events, followers, observe):
        return finding
    if after is None:
        return None
    unfit = (
        _unfit(follower, engine, after)
        for follower, engine in zip(followers, engines.values(), strict=True)
    )
    return next(filter(None, unfit), None)


def _unfit(follower: Follower, engine: WholeEngine, after: ReplayState) -> Finding | None:
    """Return that an engine does not end a segment where the next one begins."""
    event = follower.last
    if event is None:
        return None
    standing = follower.standing(engine.whole(), event.seq + 1)
    different = first_difference(after, standing)
    if different is None:
        return None
    text = snapshot_text(follower.state)
    return Finding(
        event.seq,
        f"impl kernel, {follower.name}",
        FindingKind.DISAGREEMENT,
        DISAGREEMENT,
        _SENTENCE,
        outcome_text(event.outcome),
        f"kernel, or {follower.name}: {different}",
        text,
        text,
    )
