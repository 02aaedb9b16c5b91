"""How far the start offset may move: the walk over finished records, step by step.

A lemma states that all offsets behind the walk are finished, by induction over its steps.
"""

from typing import TYPE_CHECKING, Any

import attrs

from proofs.theorems.controls import becomes, called_with
from proofs.theorems.points import Points
from proofs.theorems.situation import any_offset, any_record, flag, number, situation_at
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Lemma, Theorem, laws
from spec import window
from spec.log import Log, hole_end
from spec.logic import Term, negate
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record, is_finished, is_terminal
from spec.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

_law = laws("KIP-932, Managing the SPSO and SPEO")


@attrs.frozen
class Walk:
    """The walk of the start offset, which has come to ``here``, and any ``offset``.

    ``missing``: ``offset`` is in a hole of the log. The hole from ``hole_first`` to ``hole_last``
    is the one that may hold ``here``.
    """

    start: Term = number()
    end: Term = number()
    here: Term = number()
    here_record: Record = any_record()
    here_tracked: Term = flag()
    offset: Term = any_offset()
    record: Record = any_record()
    tracked: Term = flag()
    missing: Term = flag()
    hole_first: Term = number()
    hole_last: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[Walk]":
        """Yield the situations in a share-partition that a run reached."""
        now, holes = state.window, state.log.holes or ((0, 0),)
        for here in range(now.start_offset, window.first_unfinished(now, state.log) + 1):
            record = now.records.get(here, UNDELIVERED)
            for offset in range(now.start_offset, now.end_offset):
                for first, last in holes:
                    yield situation_at(
                        cls, state, offset, here=here, here_record=record,
                        here_tracked=here in now.records,
                        missing=hole_end(state.log, offset) is not None,
                        hole_first=first, hole_last=last,
                    )  # fmt: skip


def _walked(s: Walk) -> tuple[Window, Log]:
    entries = [(s.offset, s.record)] if s.tracked else []
    if s.here != s.offset:
        entries += [(s.here, s.here_record)] if s.here_tracked else []
    records: Any = Points(tuple(entries))
    return Window(s.start, s.end, records), Log(0, s.end, ((s.hole_first, s.hole_last),))


def _passed_rightly(s: Walk) -> Term:
    """Whether an offset that the walk has passed is finished, or not in flight and in no log."""
    behind = conjunction(s.start <= s.offset, s.offset < s.here)
    return implies(
        behind, conjunction(implies(s.tracked, is_finished(s.record)), s.tracked | s.missing)
    )


def _is_in_the_window(s: Walk) -> Term:
    inside = implies(s.tracked, conjunction(s.start <= s.offset, s.offset < s.end))
    return conjunction(inside, s.start <= s.here)


def _is_under_way(s: Walk) -> Term:
    """Whether the walk is before the end, and the hole is one of the log."""
    in_hole = conjunction(s.hole_first <= s.offset, s.offset <= s.hole_last)
    return conjunction(s.here < s.end, s.hole_first <= s.hole_last, implies(in_hole, s.missing))


def _is_blocked(s: Walk) -> Term:
    """Whether the walk cannot go on from the start offset."""
    record = _walked(s)[0].records.get(s.start)
    blocked = False if record is None else negate(is_finished(record))
    return conjunction(_is_under_way(s), s.here == s.start, blocked)


def _begun(s: Walk) -> Walk:
    return attrs.evolve(s, here=window.first_unfinished(*_walked(s)))


def _next(s: Walk) -> Walk:
    return attrs.evolve(s, here=window.passed(*_walked(s), s.here))


def _stopped_rightly(s: Walk) -> Term:
    records, log = _walked(s)
    after = window.passed(records, log, s.here)
    if after != s.here:
        return after > s.here
    record = records.records.get(s.here)
    if record is None:
        return negate(conjunction(s.hole_first <= s.here, s.here <= s.hole_last))
    return negate(is_finished(record))


_STATED = _law(
    "walk_passes_only_what_is_finished",
    "Every offset behind the walk of the start offset is finished, or is not in the log.",
    8,
)
QUIET = _law(
    "start_offset_rests_at_an_unfinished_record",
    "The start offset stops only at a record that is unfinished or was never delivered.",
    8,
)


JUMPS = Control(
    "passed jumps over all of a hole, whatever is in flight in it",
    "spec.window:tracked",
    becomes(lambda _window, _first, _end: []),
)
LENIENT = Control(
    "is_finished does not wait for the write", "spec.record:is_finished", becomes(is_terminal)
)
WALK = Lemma(
    _STATED,
    Walk,
    _begun,
    _next,
    _passed_rightly,
    Control(
        "first_unfinished begins one offset late",
        "spec.window:first_unfinished",
        called_with(lambda w, log: (attrs.evolve(w, start_offset=w.start_offset + 1), log)),
    ),
    JUMPS,
    given=_is_in_the_window,
    starting=_is_blocked,
    going=_is_under_way,
)
"""From the start offset, each step as ``passed`` goes: so of ``first_unfinished`` too."""


def _is_walking(s: Walk) -> Term:
    return conjunction(_is_in_the_window(s), _is_under_way(s), _passed_rightly(s))


WALK_LEMMAS = (WALK,)
WALK_THEOREMS = (
    Theorem(
        _STATED,
        "step over records",
        Walk,
        _is_walking,
        lambda s: _passed_rightly(_next(s)),
        LENIENT,
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
            becomes(lambda _record: False),
        ),
    ),
)
