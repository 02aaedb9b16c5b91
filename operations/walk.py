"""One share-partition of a trace through the specification, up to a moment."""

from typing import Protocol

import attrs
import numpy as np
import pyarrow as pa

from judge.engine import SpecEngine
from judge.follower import Follower, checked_clock
from model.errors import InvalidValueError
from model.outcome import Outcome
from model.profile import Profile
from model.trace import TraceEvent
from replay.load import BEGINS_LATE, PartitionRows
from replay.tables import BadRowError, events_of
from replay.verdict import Problem
from spec.partition import SharePartition

__all__ = ["Moment", "Noted", "Walked", "walk"]


@attrs.frozen
class Moment:
    """The end of what is looked at, inclusive: a time of the trace's clock in ms, or a ``seq``."""

    time_ms: int | None = None
    seq: int | None = None

    def rows(self, table: pa.Table) -> int:
        """Return how many of the first rows of a table lie before it."""
        later = np.zeros(table.num_rows, dtype=bool)
        for name, last in (("seq", self.seq), ("time_ms", self.time_ms)):
            if last is not None:
                later |= table.column(name).to_numpy() > last
        return int(later.argmax()) if later.any() else table.num_rows


class Noted(Protocol):
    """Told of each event that is as it should be, with what the specification says of it."""

    def __call__(self, event: TraceEvent, outcome: Outcome, after: SharePartition) -> None:
        """Take note of an event."""


@attrs.frozen
class Walked:
    """A share-partition as the specification has it after the last event up to the moment.

    ``events`` were followed. ``problem`` says why the moment was not reached, if it was not.
    """

    partition: str
    state: SharePartition
    events: int
    problem: Problem | None


def walk(
    rows: PartitionRows, profile: Profile, moment: Moment, note: Noted | None = None
) -> Walked:
    """Follow the events up to the moment, or to the first that is not as it should be.

    Of an event that diverges the state shows what was expected of it, if it could be at all.
    """
    engine = SpecEngine(profile)
    follower = Follower("spec", engine)
    followed, clock, count = 0, 0, moment.rows(rows.table)
    problem = rows.problem if count == rows.table.num_rows else None
    if rows.table.num_rows and rows.table.column("op")[0].as_py() != "initialize":
        problem = problem or Problem(*rows.place(0), BEGINS_LATE, rows.partition)
        return Walked(rows.partition, engine.partition, 0, problem)
    try:
        for event in events_of(rows.table.slice(0, count)):
            clock = checked_clock(event, clock)
            finding = follower.step(event)
            if finding:
                text = f"diverges at seq {finding.seq}: {finding.name}, {finding.sentence}"
                problem = Problem(*rows.place(followed), text, rows.partition)
                break
            followed += 1
            if note:
                note(event, follower.outcome, engine.partition)
    except (BadRowError, InvalidValueError) as error:
        problem = Problem(*rows.place(followed), str(error), rows.partition)
    return Walked(rows.partition, engine.partition, followed, problem)
