"""How far the start offset may move: the walk over finished records, step by step.

A lemma states that all offsets behind the walk are finished, by induction over its steps. The walk
has come to ``other``; the hole of the log is the one that may hold it.
"""

from typing import Any

import attrs

from proofs.theorems.any_partition import AnyPartition, is_between, is_in_hole
from proofs.theorems.controls import becomes, called_with
from proofs.theorems.points import Points
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Lemma, Theorem, laws
from spec import window
from spec.log import Log
from spec.logic import Term, negate
from spec.record import is_finished
from spec.window import Window

_law = laws("KIP-932, Managing the SPSO and SPEO")


def _walked(s: AnyPartition) -> tuple[Window, Log]:
    entries = [(s.offset, s.record)] if s.tracked else []
    if s.other != s.offset and s.other_tracked:
        entries.append((s.other, s.other_record))
    records: Any = Points(tuple(entries))
    return Window(s.start, s.end, records), Log(0, s.end, ((s.hole_first, s.hole_last),))


def _passed_rightly(s: AnyPartition) -> Term:
    """Whether an offset that the walk has passed is finished, or not in flight and in no log."""
    passed = conjunction(implies(s.tracked, is_finished(s.record)), s.tracked | s.missing)
    return implies(is_between(s.start, s.offset, s.other - 1), passed)


def _is_in_the_window(s: AnyPartition) -> Term:
    inside = implies(s.tracked, is_between(s.start, s.offset, s.end - 1))
    return conjunction(inside, s.start <= s.other)


def _is_under_way(s: AnyPartition) -> Term:
    """Whether the walk is before the end, and the hole is one of the log."""
    missing = implies(is_in_hole(s, s.offset), s.missing)
    return conjunction(s.other < s.end, s.hole_first <= s.hole_last, missing)


def _is_blocked(s: AnyPartition) -> Term:
    """Whether the walk cannot go on from the start offset."""
    record = _walked(s)[0].records.get(s.start)
    blocked = False if record is None else negate(is_finished(record))
    return conjunction(_is_under_way(s), s.other == s.start, blocked)


def _begun(s: AnyPartition) -> AnyPartition:
    return attrs.evolve(s, other=window.first_unfinished(*_walked(s)))


def _next(s: AnyPartition) -> AnyPartition:
    return attrs.evolve(s, other=window.passed(*_walked(s), s.other))


def _stopped_rightly(s: AnyPartition) -> Term:
    records, log = _walked(s)
    after = window.passed(records, log, s.other)
    if after != s.other:
        return after > s.other
    record = records.records.get(s.other)
    return negate(is_in_hole(s, s.other)) if record is None else negate(is_finished(record))


WALK = Lemma(
    _law(
        "walk_passes_only_what_is_finished",
        "Every offset behind the walk of the start offset is finished, or is not in the log.",
        8,
    ),
    AnyPartition,
    _begun,
    _next,
    _passed_rightly,
    Control(
        "first_unfinished begins one offset late",
        "spec.window:first_unfinished",
        called_with(lambda w, log: (attrs.evolve(w, start_offset=w.start_offset + 1), log)),
    ),
    Control(
        "passed jumps over all of a hole, whatever is in flight in it",
        "spec.window:tracked",
        becomes(lambda _window, _first, _end: []),
    ),
    given=_is_in_the_window,
    starting=_is_blocked,
    going=_is_under_way,
)
"""From the start offset, each step as ``passed`` goes: so of ``first_unfinished`` too."""
WALK_LEMMAS = (WALK,)
WALK_THEOREMS = (
    Theorem(
        _law(
            "start_offset_rests_at_an_unfinished_record",
            "The start offset stops only at a record that is unfinished or was never delivered.",
            8,
        ),
        "move start",
        AnyPartition,
        lambda s: conjunction(_is_in_the_window(s), _is_under_way(s), _passed_rightly(s)),
        _stopped_rightly,
        Control(
            "is_finished holds of no record",
            "spec.record:is_finished",
            becomes(lambda _record: False),
        ),
    ),
)
