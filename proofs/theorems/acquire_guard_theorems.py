"""Theorems about the checks of an acquire: each refuses exactly what its sentence says."""

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

from model.guards import Guard
from model.operations import Acquire, SkipAcquire
from model.outcome import Choice
from model.profile import KAFKA, KIP, Profile
from model.states import AcquireMode, RecordState
from proofs.theorems.acquire_situation import (
    OneAcquire,
    fetch,
    is_fetched,
    is_in_hole,
    is_read,
    partition_of,
)
from proofs.theorems.controls import becomes
from proofs.theorems.operation_cases import Place, places
from proofs.theorems.operation_situation import Refusal, attempted, kept
from proofs.theorems.points import Ascending
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Property, Theorem, about, laws
from spec import acquire
from spec import partition as partitions
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import Waiting

_law = laws("KIP-932, In-flight records")
RECORD_LIMIT, BATCH_OPTIMIZED = AcquireMode.RECORD_LIMIT, AcquireMode.BATCH_OPTIMIZED
Claim = Callable[[OneAcquire], Term]
Rule = tuple[Term, Guard]
"""A condition, and the guard that refuses where it does not hold."""


def refused_by(check: Callable[[], Any]) -> Any:  # noqa: ANN401 - a guard, or None
    """Return the guard by which a check refuses, or None."""
    answer = attempted(check)
    return answer.guard if isinstance(answer, Refusal) else None


def first_broken(*rules: Rule) -> Guard | None:
    """Return the guard of the first condition that does not hold, or None."""
    return next((guard for condition, guard in rules if not condition), None)


def _may_be_taken(s: OneAcquire, place: Place, *, read: Term, again: bool) -> Iterator[Rule]:
    """Yield the conditions under which an offset may be acquired, in their order."""
    record, tracked = place.record, place.tracked
    free = implies(tracked, record.state == RecordState.AVAILABLE)
    known = s.start <= place.offset
    yield conjunction(known, not again), Guard.ONLY_AVAILABLE_IS_ACQUIRED
    yield s.log_start <= place.offset, Guard.NOT_BELOW_LOG_START
    yield read, Guard.ONLY_READ_IS_ACQUIRED
    yield implies(tracked, negate(record.pending)), Guard.NO_ACQUIRE_DURING_WRITE
    yield free, Guard.ONLY_AVAILABLE_IS_ACQUIRED


def _takes_two(s: OneAcquire) -> Term:
    rules = (_may_be_taken(s, p, read=is_read(s, p.offset), again=False) for p in places(s))
    asked = (partition_of(s), fetch(s), [s.offset, s.other])
    refused = refused_by(lambda: acquire.check_taken(*asked))
    return refused is first_broken(*(rule for each in rules for rule in each))


def _takes_once(s: OneAcquire) -> Term:
    place, _other = places(s)
    rules = (
        _may_be_taken(s, place, read=is_read(s, place.offset), again=again)
        for again in (False, True)
    )
    asked = (partition_of(s), fetch(s), [s.offset, s.offset])
    refused = refused_by(lambda: acquire.check_taken(*asked))
    return refused is first_broken(*(rule for each in rules for rule in each))


def _takes_unread(s: OneAcquire) -> Term:
    place, _other = places(s)
    nothing = Acquire(s.member, RECORD_LIMIT, 1, s.maximum, s.fetch_offset, ())
    refused = refused_by(lambda: acquire.check_taken(partition_of(s), nothing, [s.offset]))
    return refused is first_broken(*_may_be_taken(s, place, read=False, again=False))


def _is_limited(s: OneAcquire, mode: AcquireMode, profile: Profile) -> Term:
    """Whether so many offsets, of which ``before`` precede the last log batch, may be acquired."""
    width, last, before = s.entered, s.taken_last, s.taken
    asked: list[Term] = []
    before_it = partition_of(s, profile)

    def produced(log: Log, offset: Term) -> tuple[Term, Term] | None:
        named = log is before_it.log and conjunction(s.made_first <= offset, offset <= s.made_last)
        return (s.made_first, s.made_last) if named else None

    def counted(_taken: Ascending, first: Term) -> Term:
        asked.append(first)
        return before

    taken: Any = Ascending(width, last)
    with (
        patch.object(acquire, "bisect_left", counted),
        patch.object(acquire, "batch_at", produced),
    ):
        refused = refused_by(lambda: acquire.check_maximum(before_it, fetch(s, mode), taken))
    if mode is RECORD_LIMIT or s.maximum == 0:
        return refused is first_broken((width <= s.maximum, Guard.WITHIN_RECORD_LIMIT))
    if width == 0 or (profile.window_may_exceed_maximum and last < s.end):
        return refused is None
    limited = (before < s.maximum, Guard.WITHIN_MAXIMUM_AND_ONE_BATCH)
    return conjunction(refused is first_broken(limited), asked[0] == _batch_start(s, last))


def _batch_start(s: OneAcquire, offset: Term) -> Term:
    """Return where the log batch of an offset begins, as produced, or else as read."""
    is_produced = conjunction(s.made_first <= offset, offset <= s.made_last)
    in_first = conjunction(s.first <= offset, offset <= s.first_last)
    in_second = conjunction(s.second <= offset, offset <= s.last)
    return either(
        is_produced, s.made_first, either(in_first, s.first, either(in_second, s.second, offset))
    )


def _counts_apart(s: OneAcquire) -> Term:
    """Whether the numbers of the offsets can be: all, and those before one."""
    return conjunction(is_fetched(s), s.taken <= s.entered)


def _grows(s: OneAcquire, inside: int) -> Term:
    """Whether the window grows over no offset but those inside, and holes; of the two offsets."""
    mine = {place.offset for place in places(s)[:inside]}
    refused = refused_by(lambda: acquire.check_growth(partition_of(s), mine, s.entered_last))
    lost = (
        conjunction(s.end <= p.offset, p.offset < s.entered_last, negate(is_in_hole(s, p.offset)))
        for p in places(s)[inside:]
    )
    return refused is first_broken(
        *((negate(skipped), Guard.NO_RECORD_SKIPPED) for skipped in lost)
    )


def _grows_over_any(s: OneAcquire) -> Term:
    """Whether the window grows over no offset outside of all holes but those inside.

    Either of the two offsets may be outside of all holes, the first is inside.
    """
    before, outside = partition_of(s), [place.offset for place in places(s) if place.tracked]
    asked = []

    def others(*of: object) -> Iterator[Term]:
        asked.append(of)
        return iter(outside)

    with patch.object(acquire, "outside_holes", others):
        refused = refused_by(lambda: acquire.check_growth(before, {s.offset}, s.entered_last))
    rule = negate(s.other_tracked), Guard.NO_RECORD_SKIPPED
    expected = [(before.log, before.window.end_offset, s.entered_last)]
    return conjunction(asked == expected, refused is first_broken(rule))


def _is_wide(s: OneAcquire, mode: AcquireMode, profile: Profile, *, takes: bool) -> Term:
    """Whether a window that grew from ``furthest`` is refused exactly if it is too wide."""
    old_end, first_new = s.furthest, s.entered
    taken = [s.taken_last] if takes else []
    asked = (partition_of(s, profile), fetch(s, mode), old_end, first_new, taken)
    refused = refused_by(lambda: acquire.check_width(*asked))
    cap = s.start + s.width
    if profile.gap_at_the_end_is_free:
        cap = first_new + s.width - either(old_end > s.start, old_end - s.start, 0)
    begins = either(s.end - 1 >= s.second, s.second, s.first)
    read = conjunction(_is_in_a_batch(s, s.end - 1), begins < cap, old_end < cap)
    read = conjunction(read, profile.window_may_overshoot)
    if mode is RECORD_LIMIT:
        beyond = conjunction(takes, s.taken_last >= cap, s.taken_last >= old_end)
        read = conjunction(read, negate(beyond))
    wide = conjunction(s.end > cap, negate(read))
    return refused is first_broken((negate(wide), Guard.WITHIN_WINDOW_LIMIT))


def _is_in_a_batch(s: OneAcquire, offset: Term) -> Term:
    in_first = conjunction(s.first <= offset, offset <= s.first_last)
    in_second = conjunction(s.second <= offset, offset <= s.last)
    return negate(conjunction(negate(in_first), negate(in_second)))


def _skips(s: OneAcquire) -> Term:
    """Whether nothing is acquired only in a full window, and nothing else happens then."""
    before, stuck = partition_of(s), Waiting(0, 1)
    asked = []

    def noted(moved: Any) -> Waiting:  # noqa: ANN401 - a share-partition
        asked.append(moved)
        return stuck

    with (
        patch.object(acquire, "note_full", noted),
        patch.object(partitions, "first_unfinished", lambda *_of: s.furthest),
    ):
        choice = Choice(start_offset=s.target)
        step = attempted(lambda: acquire.skip_acquire(before, SkipAcquire(s.member), choice))
    full = conjunction(before.window.acquirable == 0, s.end - s.start >= s.width)
    moves = conjunction(
        s.start <= s.target, negate(conjunction(s.start < s.target, s.target > s.furthest))
    )
    if isinstance(step, Refusal):
        rules = (full, Guard.CAN_ACQUIRE), (s.start <= s.target, Guard.START_NEVER_GOES_BACK)
        return step.guard is first_broken(*rules, (moves, Guard.START_STOPS_AT_UNFINISHED))
    after = step.partition
    return conjunction(
        full,
        moves,
        kept(before, after, "window", "stuck"),
        after.window.start_offset == s.target,
        after.stuck is stuck,
        asked[0].window is after.window,
        not step.outcome.can_acquire,
    )


TAKES = _law(
    "acquired_records_were_read_and_available",
    "An acquire refuses an offset that was not read, is not AVAILABLE, is old, or is named twice.",
    10,
)
MAXIMUM = Property(
    "acquire_keeps_to_the_maximum",
    "An acquire takes at most the maximum, or as many before the log batch of its last record.",
    "KIP-1206",
)
GROWTH = _law(
    "window_grows_over_no_record",
    "The window grows over an offset only if it comes in flight, or the log does not hold it.",
)
WIDTH = Property(
    "window_is_refused_beyond_its_limit",
    "A window is refused beyond its limit, but for the log batch that crosses it.",
    "KIP-932, group.share.partition.max.record.locks; KIP-1206",
    (12,),
)
SKIPS = _law(
    "nothing_is_acquired_of_a_full_window",
    "That nothing can be acquired is refused unless the window is full and nothing is available.",
)
SILENT = becomes(lambda *_of: None)


def _theorem(
    stated: Property, name: str, claim: Claim, rule: str, given: Claim = is_fetched
) -> Theorem:
    control = Control(f"{rule} allows everything", f"spec.acquire:{rule}", SILENT)
    return Theorem(stated, name, OneAcquire, given, claim, control, runnable=_names_no_others)


def _names_no_others(s: OneAcquire) -> Term:
    """Whether no offset but the two lies in the ranges."""
    return conjunction(s.other == s.offset + 1, s.entered_last <= s.other + 1, s.end >= s.offset)


def _theorems() -> Iterator[Theorem]:
    yield _theorem(TAKES, "check two offsets", _takes_two, "check_taken")
    yield _theorem(TAKES, "check an offset twice", _takes_once, "check_taken")
    yield _theorem(TAKES, "check without a read", _takes_unread, "check_taken")
    for profile in (KIP, KAFKA):
        for mode in AcquireMode:
            claim = about(_is_limited, mode, profile)
            name = f"check the maximum by {mode} ({profile.name})"
            yield _theorem(MAXIMUM, name, claim, "check_maximum", _counts_apart)
            for takes in (True, False):
                claim = _width_claim(mode, profile, takes=takes)
                name = f"check the width by {mode} ({profile.name}), {_TAKES[takes]}"
                yield _theorem(WIDTH, name, claim, "check_width")
    for inside, name in enumerate(("none", "one", "both")):
        if inside < 2:  # noqa: PLR2004 - with both inside nothing is refused
            yield _theorem(GROWTH, f"grow over {name}", about(_grows, inside), "check_growth")
    yield _theorem(GROWTH, "grow over any number of holes", _grows_over_any, "check_growth")
    yield Theorem(
        SKIPS,
        "skip acquire",
        OneAcquire,
        is_fetched,
        _skips,
        Control("check_full allows everything", "spec.acquire:check_full", SILENT),
    )


_TAKES = {True: "some taken", False: "none taken"}


def _width_claim(
    mode: AcquireMode, profile: Profile, *, takes: bool
) -> Callable[[OneAcquire], Term]:
    return lambda s: _is_wide(s, mode, profile, takes=takes)


ACQUIRE_GUARD_THEOREMS = tuple(_theorems())
