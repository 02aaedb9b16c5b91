"""Theorems about the window at any offset (KIP-932, Managing the SPSO and SPEO)."""

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import attrs

from model.errors import IllegalChoiceError
from model.operations import AdvanceLogStart, Produce
from model.profile import KIP
from proofs.theorems.controls import adds, becomes, keeps, leaves, off_by_one
from proofs.theorems.points import Points
from proofs.theorems.situation import (
    any_offset,
    any_record,
    ends_in_the_log,
    flag,
    number,
    situation_at,
)
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, LemmaCitation, Property, Theorem, about, laws
from proofs.theorems.walk_theorems import WALK, Walk
from spec import log_start, partition, window
from spec import produce as log_end
from spec.log import Log
from spec.logic import Term, negate
from spec.partition import SharePartition
from spec.record import Record, is_acquirable, is_finished, is_held, is_terminal
from spec.window import Window

_law = laws("KIP-932, Managing the SPSO and SPEO")


@attrs.frozen
class OneOffset:
    """A window and its record at one offset; the other offsets show only in the counts.

    ``complete`` and ``acquirable`` count the records at other offsets. ``target`` is where the
    start offset is to move, ``furthest`` where it may.
    """

    start: Term = number()
    end: Term = number()
    offset: Term = any_offset()
    record: Record = any_record()
    tracked: Term = flag()
    complete: Term = number()
    acquirable: Term = number()
    log_start: Term = number()
    log_end: Term = number()
    target: Term = number()
    furthest: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[OneOffset]":
        """Yield the situations in a share-partition that a run reached."""
        now = state.window
        furthest = window.first_unfinished(now, state.log)
        for offset in range(now.start_offset, now.end_offset + 1):
            for target in range(now.start_offset, now.end_offset + 2):
                yield situation_at(cls, state, offset, target=target, furthest=furthest)


def window_of(s: OneOffset) -> Window:
    """Return the window of the situation."""
    empty: Any = Points()
    others = Window(s.start, s.end, empty, empty, s.complete, s.acquirable)
    return window.replace(others, {s.offset: s.record}) if s.tracked else others


def ends_with_a_record(now: Window) -> Term:
    """Whether the window is empty, or its last offset holds a record."""
    if now.start_offset >= now.end_offset:
        return True
    return any(offset == now.end_offset - 1 for offset in now.records)


def _state(s: OneOffset) -> SharePartition:
    log = Log(s.log_start, s.log_end)
    return SharePartition(KIP, log=log, window=window_of(s), ready=True)


def _is_ordered(s: OneOffset) -> Term:
    return conjunction(
        s.start <= s.end,
        ends_in_the_log(s.start, s.end, s.log_end),
        s.log_start <= s.log_end,
        implies(s.tracked, conjunction(s.start <= s.offset, s.offset < s.end)),
    )


def _walk_is_right(s: OneOffset) -> Term:
    """Whether ``furthest`` is in the window, as ``first_unfinished`` is."""
    return conjunction(_is_ordered(s), s.start <= s.furthest, s.furthest <= s.end)


def _walked(s: OneOffset) -> Walk:
    """Return the walk that has reached ``furthest``; the log is not restricted."""
    return Walk(
        s.start,
        s.end,
        s.furthest,
        offset=s.offset,
        record=s.record,
        tracked=s.tracked,
        missing=True,
    )


def _moved(s: OneOffset) -> Window | None:
    """Move the start offset to the target; None if that is refused."""
    with patch.object(partition, "first_unfinished", lambda *_window_and_log: s.furthest):
        try:
            return partition.move_start(_state(s), s.target).window
        except IllegalChoiceError:
            return None


def _log_moved(s: OneOffset) -> SharePartition:
    return log_start.advance_log_start(_state(s), AdvanceLogStart(s.target)).partition


def _grown(s: OneOffset) -> Window:
    return window.extend(window_of(s), s.target)


def _changed(s: OneOffset) -> Window:
    return window.replace(window_of(s), {s.offset: s.record})


def _dropped(s: OneOffset) -> Window:
    return window.drop_below(window_of(s), s.target)


def _if_moved(claim: Callable[[OneOffset, Window], Term]) -> Callable[[OneOffset], Term]:
    def holds(s: OneOffset) -> Term:
        after = _moved(s)
        return True if after is None else claim(s, after)

    return holds


def _and_takes_place(s: OneOffset) -> Term:
    """Whether the start offset may move and does, so that a refusal is no witness."""
    return conjunction(_walk_is_right(s), s.start < s.target, s.target <= s.furthest)


def starting_at(state: SharePartition, offset: Term) -> SharePartition:
    """Return the share-partition with another start offset, and nothing else moved."""
    return attrs.evolve(state, window=attrs.evolve(state.window, start_offset=offset))


UNGUARDED = Control(
    "move_start goes wherever it is told", "spec.partition:move_start", becomes(starting_at)
)
NEVER_BACK = _law("start_offset_never_decreases", "The start offset never decreases.", 6)
STOPS = _law(
    "start_offset_never_passes_an_unfinished_record",
    "The start offset passes no record unless it is ACKNOWLEDGED or ARCHIVED and awaits no write.",
    8,
)
ORDERED = _law(
    "window_stays_ordered",
    "The start offset is at most the end offset, and that at most the end of the log, unless the "
    "window is empty.",
    7,
)
ENDS = _law("window_ends_with_a_record", "A window that is not empty ends with a record.", 7)
INSIDE = _law(
    "records_lie_in_the_window",
    "Records are in flight from the start offset on and before the end offset, and nowhere else.",
    7,
)
UNTOUCHED = _law(
    "records_that_stay_are_unchanged",
    "Moving an end of the window changes no record that stays in it.",
    5,
)
COUNTED = Property(
    "counts_follow_the_records",
    "The window counts as complete, available and held exactly the records that are.",
    "KIP-1226, Delivery complete count",
    (22,),
)


def _emptied(log: Log) -> Log:
    return attrs.evolve(log, end_offset=log.start_offset)


def ordered(after: Window, log: Log) -> Term:
    """Whether the window ends in the log, or is empty."""
    start, end = after.start_offset, after.end_offset
    return conjunction(start <= end, ends_in_the_log(start, end, log.end_offset))


_START_THEOREMS = (
    Theorem(
        NEVER_BACK,
        "move start",
        OneOffset,
        _walk_is_right,
        _if_moved(lambda s, after: after.start_offset >= s.start),
        UNGUARDED,
    ),
    Theorem(
        NEVER_BACK,
        "advance log start",
        OneOffset,
        _is_ordered,
        lambda s: _log_moved(s).window.start_offset >= s.start,
        Control(
            "advance_log_start sets the start offset whatever it was",
            "spec.log_start:advance_log_start",
            leaves(lambda state, operation: starting_at(state, operation.log_start_offset)),
        ),
    ),
    Theorem(
        STOPS,
        "move start",
        OneOffset,
        _walk_is_right,
        _if_moved(
            lambda s, after: implies(
                conjunction(s.tracked, s.offset < after.start_offset), is_finished(s.record)
            )
        ),
        UNGUARDED,
        cites=(LemmaCitation(WALK, _walked),),
    ),
)


SHORT = Control(
    "drop_below forgets that the end moves too",
    "spec.window:drop_below",
    keeps("end_offset", plus=-1),
)
_ORDER_THEOREMS = (
    Theorem(
        ORDERED,
        "move start",
        OneOffset,
        _and_takes_place,
        _if_moved(lambda s, after: ordered(after, _state(s).log)),
        SHORT,
    ),
    Theorem(
        ORDERED,
        "advance log start",
        OneOffset,
        _is_ordered,
        lambda s: ordered(_log_moved(s).window, _log_moved(s).log),
        SHORT,
    ),
    Theorem(
        ORDERED,
        "extend",
        OneOffset,
        lambda s: conjunction(_is_ordered(s), s.target <= s.log_end),
        lambda s: ordered(_grown(s), _state(s).log),
        Control("extend goes one offset too far", "spec.window:extend", off_by_one(1)),
    ),
    Theorem(
        ORDERED,
        "produce",
        OneOffset,
        lambda s: conjunction(_is_ordered(s), s.target >= s.log_end),
        lambda s: ordered(
            window_of(s), log_end.produce(_state(s), Produce((), s.target)).partition.log
        ),
        Control(
            "produce cuts the log",
            "spec.produce:produce",
            leaves(lambda state, _: attrs.evolve(state, log=_emptied(state.log))),
        ),
    ),
)


def _lies_inside(s: OneOffset, after: Window) -> Term:
    if s.offset not in after.records:
        return True
    return conjunction(after.start_offset <= s.offset, s.offset < after.end_offset)


def _stays(s: OneOffset, after: Window) -> Term:
    if negate(s.tracked) or s.offset < after.start_offset:
        return s.offset not in after.records
    return s.offset in after.records and _same(after.records[s.offset], s.record)


def _same(record: Record, other: Record) -> Term:
    names = [field.name for field in attrs.fields(Record)]
    return conjunction(*(getattr(record, n) == getattr(other, n) for n in names))


def _after_log_start(s: OneOffset, claim: Callable[[OneOffset, Window], Term]) -> Term:
    return claim(s, _log_moved(s).window)


def _ends_with_it(s: OneOffset) -> Term:
    """Whether the window ends with the record."""
    return conjunction(_is_ordered(s), s.tracked, s.offset == s.end - 1)


def _still_ends(_s: OneOffset, after: Window) -> Term:
    return ends_with_a_record(after)


KEEPS_ONE = Control("tracked begins one offset late", "spec.window:tracked", off_by_one(1))
DROPS_ONE = Control(
    "drop_below drops one record too many",
    "spec.window:drop_below",
    lambda rule: lambda before, start: attrs.evolve(rule(before, start + 1), start_offset=start),
)


def _content_theorems() -> Iterator[Theorem]:
    for stated, claim, control in (
        (INSIDE, _lies_inside, KEEPS_ONE),
        (UNTOUCHED, _stays, DROPS_ONE),
    ):
        yield Theorem(stated, "move start", OneOffset, _and_takes_place, _if_moved(claim), control)
        yield Theorem(
            stated,
            "advance log start",
            OneOffset,
            _is_ordered,
            about(_after_log_start, claim),
            control,
        )
    for name, ended in (
        ("move start", _if_moved(_still_ends)),
        ("advance log start", about(_after_log_start, _still_ends)),
    ):
        yield Theorem(ENDS, name, OneOffset, _ends_with_it, ended, DROPS_ONE)


def _is_counted(s: OneOffset, after: Window) -> Term:
    record = after.records.get(s.offset)
    if record is None:
        return conjunction(
            after.complete == s.complete,
            after.acquirable == s.acquirable,
            s.offset not in after.held,
        )
    return conjunction(
        after.complete - s.complete == is_terminal(record) + 0,
        after.acquirable - s.acquirable == is_acquirable(record) + 0,
        (s.offset in after.held) == bool(is_held(record)),
    )


def _counts_after(s: OneOffset, change: Callable[[OneOffset], Window]) -> Term:
    return _is_counted(s, change(s))


def _count_theorems() -> Iterator[Theorem]:
    miscounts = "counts an available record as complete"
    for name, after in (("replace", _changed), ("drop", _dropped)):
        yield Theorem(
            COUNTED,
            name,
            OneOffset,
            lambda s: conjunction(_is_ordered(s), s.start <= s.target),
            about(_counts_after, after),
            Control(
                f"{name} {miscounts}",
                "spec.window:replace" if name == "replace" else "spec.window:drop_below",
                adds(1, "complete"),
            ),
        )


WINDOW_THEOREMS = (*_START_THEOREMS, *_ORDER_THEOREMS, *_content_theorems(), *_count_theorems())
