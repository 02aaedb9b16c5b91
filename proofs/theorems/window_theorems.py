"""Theorems about the window at any offset (KIP-932, Managing the SPSO and SPEO).

How far the start offset may move is a lemma: all offsets behind the walk over finished records are
finished, by induction over its steps. The walk has come to ``other``; the hole of the log is the
one that may hold it.
"""

from collections.abc import Callable
from typing import Any

import attrs

from proofs.theorems.any_partition import AnyPartition
from proofs.theorems.attempts import Refusal, attempted, standing_in
from proofs.theorems.controls import adds, becomes, called_with, wrong
from proofs.theorems.effects import changes_to
from proofs.theorems.fetches import fetched_partition, is_in_hole
from proofs.theorems.points import Points
from proofs.theorems.situation import ends_in_the_log
from proofs.theorems.symbolic import conjunction, implies, is_between, largest
from proofs.theorems.theorem import Control, Lemma, LemmaCitation, Property, Subject
from spec import partition, window
from spec.log import Log
from spec.logic import Term, negate
from spec.partition import SharePartition
from spec.record import is_acquirable, is_finished, is_held, is_terminal
from spec.window import Window

SOURCE = "KIP-932, Managing the SPSO and SPEO"


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


WALK = Lemma(
    Property(
        "walk_passes_only_what_is_finished",
        "Every offset behind the walk of the start offset is finished, or is not in the log.",
        SOURCE,
        (8,),
    ),
    AnyPartition,
    lambda s: attrs.evolve(s, other=window.first_unfinished(*_walked(s))),
    lambda s: attrs.evolve(s, other=window.passed(*_walked(s), s.other)),
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


def _before(s: AnyPartition) -> SharePartition:
    return fetched_partition(s, log=Log(s.log_start, s.log_end))


def _is_ordered(s: AnyPartition) -> Term:
    return conjunction(
        s.start <= s.end,
        ends_in_the_log(s.start, s.end, s.log_end),
        s.log_start <= s.log_end,
        implies(s.tracked, is_between(s.start, s.offset, s.end - 1)),
        s.offset < s.other,
        negate(s.other_tracked),
    )


def _walk_is_right(s: AnyPartition) -> Term:
    """Whether ``furthest`` is in the window, as ``first_unfinished`` is."""
    return conjunction(_is_ordered(s), is_between(s.start, s.furthest, s.end))


def _move_start(s: AnyPartition, before: SharePartition | None = None) -> SharePartition | None:
    with standing_in(partition, first_unfinished=s.furthest):
        moved = attempted(lambda: partition.move_start(before or _before(s), s.target))
    return None if isinstance(moved, Refusal) else moved


UNGUARDED = wrong(
    "spec.partition:move_start",
    "goes wherever it is told",
    becomes(
        lambda state, chosen: attrs.evolve(
            state, window=attrs.evolve(state.window, start_offset=chosen)
        )
    ),
)
DROPS_ONE = wrong(
    "spec.window:drop_below",
    "drops one record too many",
    lambda rule: lambda before, start: attrs.evolve(rule(before, start + 1), start_offset=start),
)
_WINDOW = Subject(SOURCE, AnyPartition, _is_ordered)


@_WINDOW.theorem(
    *(5, 6, 7),
    of="move start",
    given=_walk_is_right,
    where=lambda s: s.elsewhere != s.offset,
    control=DROPS_ONE,
)
def start_offset_moves_on_past_what_it_drops(s: AnyPartition) -> Term:
    """The start offset never decreases; what lies below leaves the window, and the rest stays."""
    before = _before(s)
    after = _move_start(s, before)
    if after is None:
        return True
    left = s.record if s.tracked and s.offset >= s.target else None
    ends = {"start": s.target, "end": largest(s.end, s.target)}
    return conjunction(s.target >= s.start, changes_to(s, before, after, (left, None), **ends))


@_WINDOW.theorem(
    8,
    of="move start",
    given=lambda s: conjunction(_is_in_the_window(s), _is_under_way(s), _passed_rightly(s)),
    control=wrong("spec.record:is_finished", "holds of no record", becomes(lambda _record: False)),
)
def start_offset_rests_at_an_unfinished_record(s: AnyPartition) -> Term:
    """The start offset stops only at a record that is unfinished or was never delivered."""
    records, log = _walked(s)
    after = window.passed(records, log, s.other)
    if after != s.other:
        return after > s.other
    record = records.records.get(s.other)
    return negate(is_in_hole(s, s.other)) if record is None else negate(is_finished(record))


@_WINDOW.theorem(
    8,
    of="move start",
    given=_walk_is_right,
    control=UNGUARDED,
    cites=(LemmaCitation(WALK, lambda s: attrs.evolve(s, other=s.furthest, missing=True)),),
)
def start_offset_never_passes_an_unfinished_record(s: AnyPartition) -> Term:
    """The start offset passes only what is ACKNOWLEDGED or ARCHIVED and awaits no write."""
    after = _move_start(s)
    passed = after is not None and conjunction(s.tracked, s.offset < after.window.start_offset)
    return implies(passed, is_finished(s.record))


@attrs.evolve(_WINDOW, source="KIP-1226, Delivery complete count").theorem(
    22,
    of={
        "replace": (lambda before, s: window.replace(before, {s.offset: s.after}),),
        "drop": (lambda before, s: window.drop_below(before, s.target),),
    },
    given=lambda s, _change: conjunction(_is_ordered(s), s.start <= s.target),
    control={
        name: wrong(
            f"spec.window:{rule}", "counts an available record as complete", adds(1, "complete")
        )
        for name, rule in (("replace", "replace"), ("drop", "drop_below"))
    },
)
def counts_follow_the_records(
    s: AnyPartition, change: Callable[[Window, AnyPartition], Window]
) -> Term:
    """The window counts as complete, available and held exactly the records that are."""
    now = change(_before(s).window, s)
    record = now.records.get(s.offset)
    counts = now.complete - s.complete, now.acquirable - s.acquirable
    if record is None:
        return conjunction(*(count == 0 for count in counts), s.offset not in now.held)
    return conjunction(
        counts[0] == is_terminal(record) + 0,
        counts[1] == is_acquirable(record) + 0,
        (s.offset in now.held) == bool(is_held(record)),
    )
