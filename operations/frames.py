"""Each event of a share-partition with the states around it, also after one that diverges."""

from collections.abc import Iterable, Iterator

import attrs

from judge.engine import SpecEngine
from judge.finding import Finding
from judge.follower import Follower
from judge.whole_state import partition_of
from model.errors import InvalidValueError
from model.outcome import Outcome
from model.profile import Profile
from model.snapshot import DurableState, SharePartitionSnapshot
from model.trace import TraceEvent
from model.whole_state import ReplayState
from spec.lag import durable_lag, lag
from spec.partition import SharePartition

EMPTY = SharePartitionSnapshot(0, 0, 0, ())
"""The state before the first event."""


@attrs.frozen
class Frame:
    """An event, and the states around it.

    ``before`` and ``state`` are the window: by the specification as long as every event conforms,
    and from the one with a ``finding`` or a ``problem`` on as recorded. ``outcome`` and
    ``partition`` are the specification's, None from there on. ``timed``: by a real clock.
    """

    event: TraceEvent
    before: SharePartitionSnapshot
    state: SharePartitionSnapshot
    outcome: Outcome | None = None
    partition: SharePartition | None = None
    finding: Finding | None = None
    problem: str | None = None
    timed: bool = False

    @property
    def is_checked(self) -> bool:
        """Return whether the event was compared with the specification."""
        return self.outcome is not None or self.finding is not None


def frames(
    events: Iterable[TraceEvent], profile: Profile, start: ReplayState | None = None
) -> Iterator[Frame]:
    """Yield a frame for each event, to the end of the trace.

    After an event that diverges, or makes no sense, the states are the recorded ones alone.
    ``start`` is where the events before have led.
    """
    engine = SpecEngine(profile, partition_of(start.state, profile) if start else None)
    follower = Follower("spec", engine, invariants_every=1)
    if start:
        follower.resume(start)
    before, is_followed = follower.state, True
    for event in events:
        frame = _followed(event, before, engine, follower) if is_followed else None
        frame = frame or Frame(event, before, event.after)
        is_followed = is_followed and frame.finding is None and frame.problem is None
        yield attrs.evolve(frame, timed=follower.timed)
        before = frame.state


def _followed(
    event: TraceEvent, before: SharePartitionSnapshot, engine: SpecEngine, follower: Follower
) -> Frame:
    try:
        finding = follower.step(event)
    except InvalidValueError as error:
        return Frame(event, before, event.after, problem=str(error))
    if finding is None:
        return Frame(event, before, follower.state, follower.outcome, engine.partition)
    return Frame(event, before, event.after, finding=finding)


def lag_after(frame: Frame) -> int | None:
    """Return the leader's lag after an event; None where it is not known."""
    if frame.partition is None or not frame.partition.ready:
        return None
    return lag(frame.partition)


def reported_lag_after(frame: Frame) -> int | None:
    """Return the lag of the durable state after an event; None where it is not known."""
    if frame.partition is None or not frame.partition.ready:
        return None
    durable = frame.partition.durable
    state = DurableState(durable.start_offset, durable.delivery_complete_count)
    return durable_lag(frame.partition.log.end_offset, state)
