"""Theorems about an acquire as a whole: what it asks, whom it gives what, and what stays.

``acquire_records`` itself runs, with any choice of offsets. What it asks of the checks, of the log
that the read showed, and when a lock ends, is noted; ``acquire_guard_theorems`` and others prove
what each of them answers.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import attrs

from model.checks import MAX_INT64
from model.guards import Guard
from model.operations import Acquire
from model.outcome import Choice, Outcome
from model.profile import DRAFT_RESOLVED, KIP, Profile
from model.ranges import OffsetRange, PassedOver
from model.states import RecordState
from proofs.theorems.acquire_situation import (
    OneAcquire,
    fetch,
    is_fetched,
    is_read,
    log_of,
    partition_of,
)
from proofs.theorems.controls import becomes, called_with, leaves, off_by_one, returns
from proofs.theorems.operation_cases import Place, places
from proofs.theorems.operation_situation import Refusal, attempted, kept, same, same_record
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Property, Theorem, about, laws
from proofs.theorems.window_theorems import ENDS, ends_with_a_record
from spec import acquire
from spec import partition as partitions
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import SharePartition, Step
from spec.record import UNDELIVERED, Record
from spec.record import acquire as acquired_record

_law = laws("KIP-932, In-flight records")
WAITS = (PassedOver(0, 0, 1),)
"""What a fetch leaves waiting, as ``note_fetch`` answers here."""
ASKED = ("check_read", "check_taken", "check_maximum", "check_growth", "check_width")


@attrs.frozen
class Fetched:
    """An acquire that ran: what it was given, what it asked, and its step or refusal."""

    learned: SharePartition
    operation: Any
    asked: dict[str, tuple[Any, ...]]
    step: Any


@attrs.frozen
class Chosen:
    """A choice: which offsets it takes, which it lets enter, and where the start offset moves.

    ``takes`` is "range" for any range of offsets, "first" or "second" for one of the two, or empty
    for none. ``enters`` is "range", or empty; or this project chooses: "batches" up to an end
    offset that is chosen, "below" up to the last offset taken.
    """

    name: str
    takes: str = ""
    enters: str = ""
    moves: bool = False
    profile: Profile = KIP

    @property
    def is_policy(self) -> bool:
        """Whether this project chooses."""
        return self.enters in {"batches", "below"}

    def choice(self, s: OneAcquire) -> Choice:
        """Return the choice itself."""
        start = s.target if self.moves else s.start
        if self.is_policy:
            end = s.entered_last if self.enters == "batches" else None
            return Choice(start_offset=start, end_offset=end)
        taken = {
            "range": (OffsetRange(s.taken, s.taken_last),),
            "first": (OffsetRange(s.offset, s.offset),),
        }
        entered = (OffsetRange(s.entered, s.entered_last),) if self.enters else ()
        return Choice(taken.get(self.takes, ()), entered, start_offset=start)

    def has_taken(self, s: OneAcquire, place: Place) -> Term:
        """Return whether the offset is acquired."""
        if self.takes == "range":
            return conjunction(s.taken <= place.offset, place.offset <= s.taken_last)
        return self.takes == ("first", "second")[place.index]

    def lets_enter(self, s: OneAcquire, place: Place) -> Term:
        """Return whether the offset enters the window and stays AVAILABLE."""
        others = conjunction(negate(self.has_taken(s, place)), negate(place.tracked))
        if self.enters == "range":
            named = conjunction(s.entered <= place.offset, place.offset <= s.entered_last)
            return conjunction(others, s.start <= place.offset, named)
        last = s.other if self.takes == "second" else s.offset
        end = s.entered_last if self.enters == "batches" else last
        beyond = conjunction(s.end <= place.offset, s.log_start <= place.offset, place.offset < end)
        return conjunction(others, beyond, _is_in_a_batch(s, place.offset), self.is_policy)


CHOICES = (
    Chosen("acquire", "range"),
    Chosen("acquire with a number", "range", profile=DRAFT_RESOLVED),
    Chosen("let enter", enters="range", profile=DRAFT_RESOLVED),
    Chosen("acquire and let enter", "first", "range"),
    Chosen("acquire by policy", "first", "batches"),
    Chosen("acquire by policy what comes first", "first", "below"),
    Chosen("acquire by policy what comes later", "second", "below"),
    Chosen("acquire and move start", "first", moves=True),
)


ENDING = frozenset(
    {"acquire", "let enter", "acquire and let enter", "acquire by policy", "acquire and move start"}
)
"""The choices of which it is proved that the window still ends with a record."""


def _is_in_a_batch(s: OneAcquire, offset: Term) -> Term:
    in_first = conjunction(s.first <= offset, offset <= s.first_last)
    in_second = conjunction(s.second <= offset, offset <= s.last)
    return negate(conjunction(negate(in_first), negate(in_second)))


def _policy(s: OneAcquire, chosen: Chosen) -> list[Term]:
    """Return what this project takes, if it chooses."""
    return [s.other if chosen.takes == "second" else s.offset]


def _fetched(s: OneAcquire, chosen: Chosen) -> Fetched:
    """Run the acquire, and note what it asks."""
    before = partition_of(s, chosen.profile, log=Log(0, 0))
    learned = attrs.evolve(before, log=log_of(s))
    operation, asked = fetch(s), dict[str, tuple[Any, ...]]()

    def notes(name: str, answer: object = None) -> Callable[..., object]:
        def note(*arguments: object) -> object:
            asked[name] = arguments
            return answer

        return note

    with ExitStack() as stack:
        for name in ASKED:
            stack.enter_context(patch.object(acquire, name, notes(name)))
        for name, answer in (("learn", learned), ("granted_until", s.lock)):
            stack.enter_context(patch.object(acquire, name, notes(name, answer)))
        stack.enter_context(patch.object(acquire, "note_fetch", notes("note_fetch", WAITS)))
        stack.enter_context(
            patch.object(acquire, "chosen_offsets", notes("chosen", _policy(s, chosen)))
        )
        stack.enter_context(patch.object(partitions, "first_unfinished", lambda *_of: s.furthest))
        choice = chosen.choice(s)
        step = attempted(lambda: acquire.acquire_records(before, operation, choice))
    read = asked.get("check_read") == (before, operation)
    given = read and asked.get("learn") == (before, operation, choice)
    if not given or asked.get("granted_until") != (before, choice):
        return Fetched(learned, operation, {}, step)
    return Fetched(learned, operation, asked, step)


def _is_guarded(s: OneAcquire, chosen: Chosen) -> Term:
    """Whether a choice is refused exactly where the start offset or what enters is wrong."""
    step = _fetched(s, chosen).step
    entering = (
        conjunction(chosen.lets_enter(s, p), negate(is_read(s, p.offset))) for p in places(s)
    )
    unread = chosen.enters == "range" and negate(
        conjunction(*(negate(wrong) for wrong in entering))
    )
    start = s.target if chosen.moves else s.start
    if isinstance(step, Refusal):
        if step.guard is Guard.ONLY_READ_IS_ACQUIRED:
            return unread
        if step.guard is Guard.START_NEVER_GOES_BACK:
            return conjunction(negate(unread), start < s.start)
        beyond = conjunction(start > s.start, start > s.furthest)
        return conjunction(beyond, step.guard is Guard.START_STOPS_AT_UNFINISHED)
    moves = conjunction(s.start <= start, start <= s.furthest)
    return conjunction(negate(unread), negate(conjunction(start != s.start, negate(moves))))


def _asks(s: OneAcquire, chosen: Chosen) -> Term:
    """Whether each check is asked, about what was read, what is taken and what enters."""
    fetched = _fetched(s, chosen)
    step, asked, learned = fetched.step, fetched.asked, fetched.learned
    if isinstance(step, Refusal):
        return True
    if not asked:
        return False
    taken = [p.offset for p in places(s) if chosen.has_taken(s, p)]
    inside = [p for p in places(s) if p.offset in taken or chosen.lets_enter(s, p)]
    entering = [p.offset for p in inside if p.offset >= s.end]
    about_taken = (learned, fetched.operation, taken)
    width = (fetched.operation, s.end, entering[0], taken) if entering else ()
    moved = asked.get("check_width", (None,))[0]
    return conjunction(
        *(asked.get(name) == about_taken for name in ("check_taken", "check_maximum")),
        asked.get("note_fetch") == about_taken,
        asked.get("check_growth", ())[:2] == (learned, {p.offset for p in inside}),
        asked["check_growth"][2] == _end(s, chosen),
        asked.get("check_width", ())[1:] == width,
        not entering or (moved is not None and moved.window is step.partition.window),
        not chosen.is_policy or asked.get("chosen") == (learned, fetched.operation),
    )


def _end(s: OneAcquire, chosen: Chosen) -> Term:
    """Return the end offset that covers what is taken and what enters."""
    end = s.end
    for place in places(s):
        if chosen.has_taken(s, place) or chosen.lets_enter(s, place):
            end = either(place.offset >= end, place.offset + 1, end)
    return end


def _gives(s: OneAcquire, chosen: Chosen) -> Term:
    step = _fetched(s, chosen).step
    if isinstance(step, Refusal):
        return True
    records = step.partition.window.records
    return conjunction(
        *(same_record(records.get(p.offset), _record_after(s, chosen, p)) for p in places(s)),
        negate(s.elsewhere in records),
    )


def _record_after(s: OneAcquire, chosen: Chosen, place: Place) -> Record | None:
    if chosen.moves and conjunction(place.offset < s.target, s.start <= place.offset):
        return None
    if chosen.has_taken(s, place):
        before = place.record if place.tracked else UNDELIVERED
        number = s.acquisition if chosen.profile.in_progress else None
        return acquired_record(before, s.member, s.lock, number)
    if place.tracked:
        return place.record
    return UNDELIVERED if chosen.lets_enter(s, place) else None


def _leaves_the_rest(s: OneAcquire, chosen: Chosen) -> Term:
    fetched = _fetched(s, chosen)
    step = fetched.step
    if isinstance(step, Refusal):
        return True
    after, end = step.partition, _end(s, chosen)
    start = s.target if chosen.moves else s.start
    taken = any(chosen.has_taken(s, place) for place in places(s))
    numbered = taken and chosen.profile.in_progress
    return conjunction(
        kept(fetched.learned, after, "window", "next_acquisition", "waiting"),
        after.next_acquisition == s.acquisition + (1 if numbered else 0),
        after.waiting is WAITS,
        after.window.start_offset == start,
        after.window.end_offset == either(end >= start, end, start),
    )


def _answers(s: OneAcquire, chosen: Chosen) -> Term:
    step: Step = _fetched(s, chosen).step
    if isinstance(step, Refusal):
        return True
    outcome = step.outcome
    numbered = chosen.profile.in_progress and any(chosen.has_taken(s, p) for p in places(s))
    counts = [
        _reported_count(outcome.acquired, offset) for offset in (s.offset, s.other, s.elsewhere)
    ]
    expected = [*(_count_after(chosen, s, p) for p in places(s)), None]
    return conjunction(
        *(same(count, right) for count, right in zip(counts, expected, strict=True)),
        same(outcome.acquisition, s.acquisition if numbered else None),
        not outcome.writes,
        outcome.can_acquire,
    )


def _reported_count(acquired: Any, offset: Term) -> Term:  # noqa: ANN401 - ranges
    """Return the delivery count that the member is told of an offset, or None."""
    counts = [
        r.delivery_count for r in acquired if conjunction(r.first <= offset, offset <= r.last)
    ]
    return counts[0] if len(counts) == 1 else None


def _count_after(chosen: Chosen, s: OneAcquire, place: Place) -> Term:
    if not chosen.has_taken(s, place):
        return None
    return (place.record.delivery_count if place.tracked else 0) + 1


def _is_taken_rightly(s: OneAcquire, chosen: Chosen) -> Term:
    """Whether what is taken passed the checks: AVAILABLE, or new."""
    taken = (implies(chosen.has_taken(s, p), _is_takable(s, p)) for p in places(s))
    ranges = s.taken <= s.taken_last, s.entered <= s.entered_last
    return conjunction(is_fetched(s), *ranges, *taken)


def _is_takable(s: OneAcquire, place: Place) -> Term:
    free = conjunction(place.record.state == RecordState.AVAILABLE, negate(place.record.pending))
    return conjunction(s.start <= place.offset, implies(place.tracked, free))


def _still_ends(s: OneAcquire, chosen: Chosen) -> Term:
    step = _fetched(s, chosen).step
    return True if isinstance(step, Refusal) else ends_with_a_record(step.partition.window)


def _ends_with_a_record(s: OneAcquire, chosen: Chosen) -> Term:
    """Whether the window is empty, or ends with a record at one of the two offsets."""
    last = (conjunction(p.tracked, p.offset == s.end - 1) for p in places(s))
    lacks = conjunction(s.start < s.end, *(negate(each) for each in last))
    return conjunction(_is_taken_rightly(s, chosen), negate(lacks))


GUARDED = _law(
    "acquire_is_refused_for_what_it_may_not_choose",
    "Besides its checks, an acquire refuses what enters unread, and a wrong start offset.",
    6,
)
ASKS = _law(
    "acquire_asks_each_check",
    "An acquire asks each check about the log that was read and exactly what it takes.",
    10,
    12,
)
GIVES = _law(
    "acquire_changes_what_it_takes",
    "An acquire gives its member each record that it takes, adds what enters, and no more.",
    5,
    10,
    32,
)
REST = _law(
    "acquire_leaves_the_rest",
    "An acquire moves the ends of the window as chosen; clock, writes and durable state stay.",
)
ANSWERS = _law(
    "acquire_answers_what_it_took",
    "The member is told each offset that it acquired, with its delivery count, and no other.",
    5,
)
RECORDS = "spec.acquire:acquire_records"


MOVES_ANYWHERE = Control(
    "move_start moves nowhere, whatever it is told",
    "spec.partition:move_start",
    becomes(lambda state, _chosen: state),
)
READS_ALL = Control(
    "_read_extent says that everything was read",
    "spec.acquire:_read_extent",
    becomes(lambda _operation: (0, MAX_INT64)),
)


def _asks_for_more(state: SharePartition, operation: Acquire, choice: Choice) -> tuple[Any, ...]:
    more = operation.max_fetch_records + 1
    return state, attrs.evolve(operation, max_fetch_records=more), choice


CONTROLS = (
    (ASKS, _asks, Control("acquire_records asks for more", RECORDS, called_with(_asks_for_more))),
    (
        GIVES,
        _gives,
        Control("acquire_records changes nothing", RECORDS, leaves(lambda state, *_rest: state)),
    ),
    (
        REST,
        _leaves_the_rest,
        Control(
            "acquire_records forgets what it learned", RECORDS, leaves(lambda state, *_rest: state)
        ),
    ),
    (
        ANSWERS,
        _answers,
        Control(
            "acquire_records says that nothing can be acquired",
            RECORDS,
            returns(lambda step: attrs.evolve(step, outcome=Outcome(can_acquire=False))),
        ),
    ),
)


def _theorems() -> Iterator[Theorem]:
    for chosen in CHOICES:
        if chosen.moves or chosen.enters == "range":
            control = MOVES_ANYWHERE if chosen.moves else READS_ALL
            yield _theorem(chosen, GUARDED, _is_guarded, control)
        if chosen.name in ENDING:
            too_far = Control("extend goes one offset too far", "spec.window:extend", off_by_one(1))
            theorem = _theorem(chosen, ENDS, _still_ends, too_far)
            yield attrs.evolve(theorem, hypothesis=about(_ends_with_a_record, chosen))
        for stated, claim, control in CONTROLS:
            yield _theorem(chosen, stated, claim, control)


def _theorem(chosen: Chosen, stated: Property, claim: Any, control: Control) -> Theorem:  # noqa: ANN401 - a claim
    return Theorem(
        stated,
        chosen.name,
        OneAcquire,
        about(_is_taken_rightly, chosen),
        about(claim, chosen),
        control,
        runnable=_names_no_others,
    )


def _names_no_others(s: OneAcquire) -> Term:
    """Whether the ranges name none but the two offsets."""
    return conjunction(
        s.taken == s.offset,
        s.taken_last == s.taken,
        s.entered == s.other,
        s.entered_last == s.entered,
        s.other == s.offset + 1,
    )


ACQUIRE_OPERATION_THEOREMS = tuple(_theorems())
