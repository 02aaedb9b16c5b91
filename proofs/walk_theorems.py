"""How far the start offset may go: the walk over what is finished, one step at a time.

That all offsets behind the walk are finished is proved by induction: at its start and after a
step.
"""

from typing import TYPE_CHECKING, Any

import attrs

from proofs.points import Points
from proofs.situation import any_record, flag, number, offset
from proofs.symbolic import conjunction, implies
from proofs.theorem import Control, Property, Theorem
from spec import window
from spec.log import Log, hole_end
from spec.logic import Term, negate
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record, is_finished, is_terminal
from spec.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WALK_THEOREMS", "Walk"]

SOURCE = "KIP-932, Managing the SPSO and SPEO"


@attrs.frozen
class Walk:
    """The walk of the start offset, which has come to ``here``; and another offset, ``at``.

    ``missing``: ``at`` is in a hole of the log. The hole from ``hole_first`` to ``hole_last`` is
    the one that may hold ``here``.
    """

    start: Term = number()
    end: Term = number()
    here: Term = number()
    here_record: Record = any_record()
    here_tracked: Term = flag()
    at: Term = offset()
    record: Record = any_record()
    tracked: Term = flag()
    missing: Term = flag()
    hole_first: Term = number()
    hole_last: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[Walk]":
        """Yield the situations in a share-partition that a run reached."""
        now, holes = state.window, state.log.holes or ((0, 0),)
        span = range(now.start_offset, now.end_offset)
        for here in range(now.start_offset, window.first_unfinished(now, state.log) + 1):
            for at in span:
                for hole in holes:
                    yield cls(
                        now.start_offset,
                        now.end_offset,
                        here,
                        now.records.get(here, UNDELIVERED),
                        here in now.records,
                        at,
                        now.records.get(at, UNDELIVERED),
                        at in now.records,
                        hole_end(state.log, at) is not None,
                        *hole,
                    )


def _walked(s: Walk) -> tuple[Window, Log]:
    entries = [(s.at, s.record)] if s.tracked else []
    if s.here != s.at:
        entries += [(s.here, s.here_record)] if s.here_tracked else []
    records: Any = Points(tuple(entries))
    return Window(s.start, s.end, records), Log(0, s.end, ((s.hole_first, s.hole_last),))


def _passed_rightly(s: Walk, position: Term) -> Term:
    """Whether ``at``, if the walk has passed it, is finished, or not in flight and in no log."""
    behind = conjunction(s.start <= s.at, s.at < position)
    return implies(
        behind,
        conjunction(implies(s.tracked, is_finished(s.record)), s.tracked | s.missing),
    )


def _is_walking(s: Walk) -> Term:
    in_hole = conjunction(s.hole_first <= s.at, s.at <= s.hole_last)
    return conjunction(
        s.start <= s.here,
        s.here < s.end,
        s.hole_first <= s.hole_last,
        implies(in_hole, s.missing),
        implies(s.tracked, conjunction(s.start <= s.at, s.at < s.end)),
        _passed_rightly(s, s.here),
    )


def _is_blocked(s: Walk) -> Term:
    return conjunction(s.here_tracked, s.at != s.here, negate(is_finished(s.here_record)))


def _next(s: Walk) -> Term:
    return window.passed(*_walked(s), s.here)


def _stopped_rightly(s: Walk) -> Term:
    records, log = _walked(s)
    after = window.passed(records, log, s.here)
    if after != s.here:
        return after > s.here
    there = records.records.get(s.here)
    if there is None:
        return negate(conjunction(s.hole_first <= s.here, s.here <= s.hole_last))
    return negate(is_finished(there))


WALK = Property(
    "walk_passes_only_what_is_finished",
    "Every offset behind the walk of the start offset is finished, or is not in the log.",
    SOURCE,
    (8,),
)
QUIET = Property(
    "start_offset_rests_at_an_unfinished_record",
    "The start offset stops only at a record that is unfinished or was never delivered.",
    SOURCE,
    (8,),
)


JUMPS = Control(
    "passed jumps over all of a hole, whatever is in flight in it",
    "spec.window:tracked",
    lambda _rule: lambda _window, _first, _end: [],
)
LENIENT = Control(
    "is_finished does not wait for the write",
    "spec.record:is_finished",
    lambda _rule: is_terminal,
)
_WALK_THEOREMS = (
    Theorem(
        WALK,
        "base",
        Walk,
        lambda s: conjunction(_is_walking(s), s.here == s.start, _is_blocked(s)),
        lambda s: window.first_unfinished(*_walked(s)) == s.start,
        Control(
            "first_unfinished begins one offset late",
            "spec.window:first_unfinished",
            lambda rule: (
                lambda before, log: rule(
                    attrs.evolve(before, start_offset=before.start_offset + 1), log
                )
            ),
        ),
    ),
    *(
        Theorem(WALK, name, Walk, _is_walking, lambda s: _passed_rightly(s, _next(s)), control)
        for name, control in (("step", JUMPS), ("step over records", LENIENT))
    ),
    Theorem(
        QUIET,
        "move start",
        Walk,
        _is_walking,
        _stopped_rightly,
        Control(
            "is_finished holds of no record",
            "spec.record:is_finished",
            lambda _rule: lambda _record: False,
        ),
    ),
)


WALK_THEOREMS = _WALK_THEOREMS
