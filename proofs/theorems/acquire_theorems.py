"""Theorems about an acquire as a whole: what it asks, whom it gives what, and what stays.

``acquire_records`` itself runs, with any choice of offsets. What it asks of the checks, of the log
that the read showed, and when a lock ends, is noted; ``acquire_guard_theorems`` and others prove
what each of them answers.
"""

from typing import Any

import attrs

from model.checks import MAX_INT64
from model.guards import Guard
from model.operations import Acquire
from model.outcome import Choice, Outcome
from model.profile import DRAFT_RESOLVED, KIP, Profile
from model.ranges import AcquiredRange, OffsetRange, PassedOver
from proofs.theorems.any_partition import AnyPartition, Place, places
from proofs.theorems.attempts import Refusal, attempted, standing_in
from proofs.theorems.controls import becomes, called_with, does_nothing, sets, wrong
from proofs.theorems.effects import changes_to
from proofs.theorems.fetches import fetch, fetched_partition, is_fetched, is_in_a_batch, log_of
from proofs.theorems.symbolic import conjunction, either_of, implies, is_between, is_same
from proofs.theorems.theorem import Subject
from spec import acquire
from spec import partition as partitions
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record, is_acquirable
from spec.record import acquire as acquire_record

WAITS = (PassedOver(0, 0, 1),)
"""What a fetch leaves waiting, as ``note_fetch`` answers here."""
CHECKS = ("check_read", "check_taken", "check_maximum", "check_growth", "check_width")


@attrs.frozen
class AcquireCase:
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


CASES = (
    AcquireCase("acquire", "range"),
    AcquireCase("acquire with a number", "range", profile=DRAFT_RESOLVED),
    AcquireCase("let enter", enters="range", profile=DRAFT_RESOLVED),
    AcquireCase("acquire and let enter", "first", "range"),
    AcquireCase("acquire by policy", "first", "batches"),
    AcquireCase("acquire by policy what comes first", "first", "below"),
    AcquireCase("acquire by policy what comes later", "second", "below"),
    AcquireCase("acquire and move start", "first", moves=True),
)


@attrs.frozen
class RanAcquire:
    """An acquire that ran: what it was given, what it asked, and its step or refusal.

    ``taken`` are those of the two offsets that it should take, ``entered`` those that enter.
    """

    learned: SharePartition
    operation: Acquire
    asked: dict[str, tuple[Any, ...]]
    step: Any
    taken: list[Place]
    entered: list[Place]


def _choice(s: AnyPartition, case: AcquireCase) -> Choice:
    start = s.target if case.moves else s.start
    if case.enters in {"batches", "below"}:
        return Choice(
            start_offset=start, end_offset=s.entered_last if case.enters == "batches" else None
        )
    taken = {
        "range": (OffsetRange(s.taken, s.taken_last),),
        "first": (OffsetRange(s.offset, s.offset),),
    }
    entered = (OffsetRange(s.entered, s.entered_last),) if case.enters else ()
    return Choice(taken.get(case.takes, ()), entered, start_offset=start)


def _takes(s: AnyPartition, case: AcquireCase, place: Place) -> Term:
    if case.takes == "range":
        return is_between(s.taken, place.offset, s.taken_last)
    return case.takes == ("first", "second")[place.index]


def _lets_enter(s: AnyPartition, case: AcquireCase, place: Place) -> Term:
    """Return whether the offset enters the window and stays AVAILABLE."""
    if not case.enters or place.tracked or _takes(s, case, place):
        return False
    if case.enters == "range":
        named = is_between(s.entered, place.offset, s.entered_last)
        return conjunction(s.start <= place.offset, named)
    last = s.other if case.takes == "second" else s.offset
    end = s.entered_last if case.enters == "batches" else last
    beyond = conjunction(s.end <= place.offset, s.log_start <= place.offset, place.offset < end)
    return conjunction(beyond, is_in_a_batch(s, place.offset))


def _run(s: AnyPartition, case: AcquireCase) -> RanAcquire:
    """Run the acquire, and note what it asks."""
    before = fetched_partition(s, case.profile, log=Log(0, 0))
    learned = attrs.evolve(before, log=log_of(s))
    operation, choice = fetch(s), _choice(s, case)
    own = [s.other if case.takes == "second" else s.offset]
    answers = dict.fromkeys(CHECKS) | {
        "learn": learned,
        "granted_until": s.lock,
        "note_fetch": WAITS,
        "chosen_offsets": own,
    }
    with (
        standing_in(acquire, **answers) as asked,
        standing_in(partitions, first_unfinished=s.furthest, passed=s.furthest),
    ):
        step = attempted(lambda: acquire.acquire_records(before, operation, choice))
    given = {
        "granted_until": (before, choice),
        "check_read": (before, operation),
        "learn": (before, operation, choice),
    }
    if any(asked.get(name) != arguments for name, arguments in given.items()):
        asked = {}
    taken = [p for p in places(s) if _takes(s, case, p)]
    return RanAcquire(
        learned, operation, asked, step, taken, [p for p in places(s) if _lets_enter(s, case, p)]
    )


def _end(s: AnyPartition, ran: RanAcquire) -> Term:
    """Return the end offset that covers what is taken and what enters."""
    end = s.end
    for place in (*ran.taken, *ran.entered):
        end = either(place.offset >= end, place.offset + 1, end)
    return end


def _record_after(
    s: AnyPartition, case: AcquireCase, ran: RanAcquire, place: Place
) -> Record | None:
    if case.moves and is_between(s.start, place.offset, s.target - 1):
        return None
    if place in ran.taken:
        return _acquired(s, case, place)
    if place.tracked:
        return place.record
    return UNDELIVERED if place in ran.entered else None


def _acquired(s: AnyPartition, case: AcquireCase, place: Place) -> Record:
    number = s.acquisition if case.profile.in_progress else None
    return acquire_record(place.record if place.tracked else UNDELIVERED, s.member, s.lock, number)


def _told(acquired: tuple[AcquiredRange, ...], offset: Term) -> Term:
    """Return the delivery count that the member is told of an offset, or None."""
    counts = [r.delivery_count for r in acquired if is_between(r.first, offset, r.last)]
    return counts[0] if len(counts) == 1 else None


def _is_taken_rightly(s: AnyPartition, case: AcquireCase) -> Term:
    """Whether what is taken passed the checks: AVAILABLE, or new."""
    taken = (
        implies(
            _takes(s, case, p),
            conjunction(s.start <= p.offset, implies(p.tracked, is_acquirable(p.record))),
        )
        for p in places(s)
    )
    return conjunction(is_fetched(s), s.taken <= s.taken_last, s.entered <= s.entered_last, *taken)


def _names_no_others(s: AnyPartition) -> Term:
    """Whether the ranges name none but the two offsets."""
    ranges = ((s.taken, s.offset), (s.taken_last, s.taken), (s.entered, s.other))
    alone = (first == last for first, last in (*ranges, (s.entered_last, s.entered)))
    return conjunction(*alone, s.other == s.offset + 1)


RECORDS = "spec.acquire:acquire_records"
STAYS = wrong("spec.partition:move_start", "moves nowhere", does_nothing)
READS_ALL = wrong(
    "spec.acquire:_read_extent",
    "says that everything was read",
    becomes(lambda _operation: (0, MAX_INT64)),
)
CHOOSING = [case for case in CASES if case.moves or case.enters == "range"]
_FETCH = Subject("KIP-932, In-flight records", AnyPartition, is_fetched, _names_no_others)


def _asking_for_more(state: SharePartition, operation: Acquire, choice: Choice) -> tuple[Any, ...]:
    more = attrs.evolve(operation, max_fetch_records=operation.max_fetch_records + 1)
    return state, more, choice


@_FETCH.theorem(
    10,
    12,
    of=[*CASES],
    given=_is_taken_rightly,
    control=wrong(RECORDS, "asks for more", called_with(_asking_for_more)),
)
def acquire_asks_each_check(s: AnyPartition, case: AcquireCase) -> Term:
    """An acquire asks its checks about what was read, what is taken, and what enters the window."""
    ran = _run(s, case)
    asked, learned = ran.asked, ran.learned
    if isinstance(ran.step, Refusal) or not asked:
        return isinstance(ran.step, Refusal)
    taken = [place.offset for place in ran.taken]
    inside = sorted((*ran.taken, *ran.entered), key=lambda place: place.index)
    entering = [place.offset for place in inside if place.offset >= s.end]
    width = (ran.operation, s.end, entering[0], taken) if entering else ()
    moved = asked.get("check_width", (None,))[0]
    about_taken = (learned, ran.operation, taken)
    return conjunction(
        *(
            asked.get(name) == about_taken
            for name in ("check_taken", "check_maximum", "note_fetch")
        ),
        asked["check_growth"] == (learned, {p.offset for p in inside}, _end(s, ran)),
        asked.get("check_width", ())[1:] == width,
        not entering or (moved is not None and moved.window is ran.step.partition.window),
        case.enters not in {"batches", "below"}
        or asked.get("chosen_offsets") == (learned, ran.operation),
    )


@_FETCH.theorem(
    5,
    7,
    10,
    32,
    of=[*CASES],
    given=_is_taken_rightly,
    control=wrong(RECORDS, "answers nothing", sets(outcome=Outcome(can_acquire=False))),
)
def acquire_changes_what_it_takes(s: AnyPartition, case: AcquireCase) -> Term:
    """What is acquired is the member's until its lock ends, as it is told; the rest stays."""
    ran = _run(s, case)
    if isinstance(ran.step, Refusal):
        return True
    after, outcome = ran.step.partition, ran.step.outcome
    numbered = bool(ran.taken) and case.profile.in_progress
    start, end = s.target if case.moves else s.start, _end(s, ran)
    records = [_record_after(s, case, ran, place) for place in places(s)]
    counts = [
        _acquired(s, case, place).delivery_count if place in ran.taken else None
        for place in places(s)
    ]
    return conjunction(
        changes_to(
            s,
            ran.learned,
            after,
            records,
            "next_acquisition",
            "passed_over",
            start=start,
            end=either(end >= start, end, start),
        ),
        after.next_acquisition == s.acquisition + (1 if numbered else 0),
        after.passed_over is WAITS,
        *(
            is_same(_told(outcome.acquired, offset), count)
            for offset, count in zip((s.offset, s.other, s.elsewhere), (*counts, None), strict=True)
        ),
        is_same(outcome.acquisition, s.acquisition if numbered else None),
        not outcome.writes,
        outcome.can_acquire,
    )


@_FETCH.theorem(
    6,
    of=CHOOSING,
    given=_is_taken_rightly,
    control=lambda case: STAYS if case.moves else READS_ALL,
)
def acquire_is_refused_for_what_it_may_not_choose(s: AnyPartition, case: AcquireCase) -> Term:
    """Besides its checks, an acquire refuses what enters unread, and a wrong start offset."""
    ran = _run(s, case)
    start = s.target if case.moves else s.start
    unread = case.enters == "range" and either_of(
        *(negate(is_between(s.first, p.offset, s.second_last)) for p in ran.entered)
    )
    if not isinstance(ran.step, Refusal):
        stays = either_of(start == s.start, is_between(s.start, start, s.furthest))
        return conjunction(negate(unread), stays)
    if ran.step.guard is Guard.ONLY_READ_IS_ACQUIRED:
        return unread
    if ran.step.guard is Guard.START_NEVER_GOES_BACK:
        return conjunction(negate(unread), start < s.start)
    beyond = conjunction(start > s.start, start > s.furthest)
    return conjunction(beyond, ran.step.guard is Guard.START_STOPS_AT_UNFINISHED)
