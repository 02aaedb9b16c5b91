"""One share-partition of a trace through the specification, up to some time or event."""

import contextlib
from collections.abc import Callable

import attrs
import numpy as np
import pyarrow as pa

from judge.engine import SpecEngine
from judge.follower import Follower, rules_shown
from model.errors import InvalidValueError
from model.outcome import Outcome
from model.profile import Profile
from model.trace import TraceEvent
from replay.pieces import PartitionRows
from replay.tables import BEGINNINGS, BEGINS_LATE, BadRowError, events_of
from replay.verdict import Problem
from spec.partition import SharePartition


@attrs.frozen
class TraceTime:
    """A place in a trace (inclusive): a time on its clock in ms, a ``seq``, or its end."""

    time_ms: int | None = None
    seq: int | None = None

    def rows(self, table: pa.Table) -> int:
        """Return how many of the first rows of a table lie up to it."""
        later = np.zeros(table.num_rows, dtype=bool)
        for name, last in (("seq", self.seq), ("time_ms", self.time_ms)):
            if last is not None:
                later |= table.column(name).to_numpy() > last
        return int(later.argmax()) if later.any() else table.num_rows


Noted = Callable[[TraceEvent, Outcome, SharePartition], None]
"""Receives each event that conforms, its outcome by the specification, and the state after it."""


@attrs.frozen
class Walked:
    """A share-partition by the specification after the last event up to some time.

    ``events`` were followed. ``problem`` is the reason if the time was not reached.
    """

    partition: str
    state: SharePartition
    events: int
    problem: Problem | None


def walk(
    rows: PartitionRows, profile: Profile, end: TraceTime, note: Noted | None = None
) -> Walked:
    """Follow the events up to ``end``, or to the first that diverges or cannot be read.

    At an event that diverges, the state is the one expected after it, if any is.
    """
    followed, count = 0, end.rows(rows.table)
    table = rows.table.slice(0, count)
    with contextlib.suppress(BadRowError):
        profile = rules_shown(lambda: events_of(table), profile)
    engine = SpecEngine(profile)
    follower = Follower("spec", engine)
    problem = rows.problem if count == rows.table.num_rows else None
    if rows.table.num_rows and rows.table.column("op")[0].as_py() not in BEGINNINGS:
        problem = problem or Problem(*rows.place(0), BEGINS_LATE, rows.partition)
        return Walked(rows.partition, engine.partition, 0, problem)
    try:
        for event in events_of(table):
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
