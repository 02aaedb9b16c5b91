"""Theorems about the checks of an acquire and of a read: each refuses what its sentence says."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import attrs

from model.config import IsolationLevel
from model.guards import Guard
from model.operations import Compact, Produce, SkipAcquire
from model.outcome import Choice
from model.profile import KAFKA, KIP, Profile
from model.ranges import OffsetRange
from model.states import AcquireMode, RecordState
from model.whole_state import Delayed
from proofs.theorems.any_partition import AnyPartition, Place, places
from proofs.theorems.attempts import Refusal, attempted, first_broken, refused_by, standing_in
from proofs.theorems.controls import allows_everything, becomes, does_nothing, sets, wrong
from proofs.theorems.effects import changes_to
from proofs.theorems.fetches import (
    fetch,
    fetched_partition,
    is_empty,
    is_fetched,
    is_in_a_batch,
    is_in_hole,
    is_part,
    log_of,
)
from proofs.theorems.points import Places
from proofs.theorems.symbolic import conjunction, either_of, implies, is_between, largest
from proofs.theorems.theorem import Subject
from spec import acquire, produce, read
from spec import log as logs
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import SharePartition
from spec.record import Record, is_acquirable

RECORD_LIMIT = AcquireMode.RECORD_LIMIT
MODES = {
    f"acquire by {mode} ({profile.name})": (mode, profile)
    for profile in (KIP, KAFKA)
    for mode in AcquireMode
}


def _names_no_others(s: AnyPartition) -> Term:
    """Whether no offset but the two lies in the ranges."""
    return conjunction(s.other == s.offset + 1, s.entered_last <= s.other + 1, s.end >= s.offset)


_FETCH = Subject("KIP-932, In-flight records", AnyPartition, is_fetched, _names_no_others)


def _may_be_taken(
    s: AnyPartition, place: Place, *, read: Term, again: bool
) -> Iterator[tuple[Term, Guard]]:
    """Yield the conditions under which an offset may be acquired, in their order."""
    free = implies(place.tracked, place.record.state == RecordState.AVAILABLE)
    yield conjunction(s.start <= place.offset, not again), Guard.ONLY_AVAILABLE_IS_ACQUIRED
    yield s.log_start <= place.offset, Guard.NOT_BELOW_LOG_START
    yield read, Guard.ONLY_READ_IS_ACQUIRED
    yield implies(place.tracked, negate(place.record.pending)), Guard.NO_ACQUIRE_DURING_WRITE
    yield free, Guard.ONLY_AVAILABLE_IS_ACQUIRED


@_FETCH.theorem(
    10,
    of={
        "check two offsets": ((0, 1), True),
        "check an offset twice": ((0, 0), True),
        "check without a read": ((0,), False),
    },
    control=allows_everything("spec.acquire:check_taken"),
)
def only_available_records_are_acquired(
    s: AnyPartition,
    named: tuple[int, ...],
    reads: bool,  # noqa: FBT001 - an argument of the theorem
) -> Term:
    """An acquire refuses what was not read, is not AVAILABLE, is old, or is named twice."""
    chosen = [places(s)[index] for index in named]
    operation = fetch(s) if reads else attrs.evolve(fetch(s), log_batches=())
    taken = [place.offset for place in chosen]
    refused = refused_by(lambda: acquire.check_taken(fetched_partition(s), operation, taken))
    rules = (
        _may_be_taken(
            s,
            place,
            read=reads and is_between(s.first, place.offset, s.second_last),
            again=place.index in named[:order],
        )
        for order, place in enumerate(chosen)
    )
    return refused is first_broken(*(rule for each in rules for rule in each))


@attrs.evolve(_FETCH, source="KIP-1206").theorem(
    54,
    of=MODES,
    given=lambda s, *_mode: conjunction(is_fetched(s), s.taken <= s.entered),
    control=allows_everything("spec.acquire:check_maximum"),
)
def acquire_keeps_to_the_maximum(s: AnyPartition, mode: AcquireMode, profile: Profile) -> Term:
    """An acquire takes at most the maximum, or as many before the log batch of its last record."""
    width, last, before = s.entered, s.taken_last, s.taken
    partition, taken = fetched_partition(s, profile), Places(s.entered, ((-1, s.taken_last),))
    made = is_between(s.made_first, last, s.made_last)

    def produced(log: Log, _offset: Term) -> tuple[Term, Term] | None:
        return (s.made_first, s.made_last) if log is partition.log and made else None

    with standing_in(acquire, bisect_left=before, batch_at=produced) as asked:
        of: Any = (partition, fetch(s, mode), taken)
        refused = refused_by(lambda: acquire.check_maximum(*of))
    if mode is RECORD_LIMIT or s.maximum == 0:
        return refused is first_broken((width <= s.maximum, Guard.WITHIN_RECORD_LIMIT))
    if width == 0 or (profile.window_may_exceed_maximum and last < s.end):
        return refused is None
    begins = either(
        is_between(s.first, last, s.last),
        s.first,
        either(is_between(s.second, last, s.second_last), s.second, last),
    )
    return conjunction(
        refused is first_broken((before < s.maximum, Guard.WITHIN_MAXIMUM_AND_ONE_BATCH)),
        asked["bisect_left"][1] == either(made, s.made_first, begins),
    )


@_FETCH.theorem(53, of="check two offsets", control=allows_everything("spec.acquire:check_growth"))
def window_grows_over_no_record(s: AnyPartition) -> Term:
    """The window grows over an offset only if it comes in flight, or the log does not hold it."""
    # What is tracked here stands for what comes in flight.
    inside = {place.offset for place in places(s) if place.tracked}
    refused = refused_by(lambda: acquire.check_growth(fetched_partition(s), inside, s.entered_last))
    lost = (
        conjunction(
            is_between(s.end, p.offset, s.entered_last - 1), negate(is_in_hole(s, p.offset))
        )
        for p in places(s)
        if p.offset not in inside
    )
    rules = ((negate(skipped), Guard.NO_RECORD_SKIPPED) for skipped in lost)
    return refused is first_broken(*rules)


@attrs.evolve(_FETCH, source="KIP-932, group.share.partition.max.record.locks; KIP-1206").theorem(
    12, of=MODES, control=allows_everything("spec.acquire:check_width")
)
def window_stays_within_its_limit(s: AnyPartition, mode: AcquireMode, profile: Profile) -> Term:
    """A window is refused beyond its limit, but for the log batch that crosses it."""
    # It grew from furthest; missing says whether something is taken.
    old_end, first_new, taken = s.furthest, s.entered, [s.taken_last] if s.missing else []
    asked = (fetched_partition(s, profile), fetch(s, mode), old_end, first_new, taken)
    refused = refused_by(lambda: acquire.check_width(*asked))
    cap = s.start + s.width
    if profile.gap_at_the_end_is_free:
        cap = first_new + s.width - either(old_end > s.start, old_end - s.start, 0)
    crosses_second = s.end - 1 >= s.second
    begins = either(crosses_second, s.second, s.first)
    crosses = conjunction(is_in_a_batch(s, s.end - 1), begins < cap, old_end < cap)
    crosses = conjunction(crosses, profile.window_may_overshoot)
    if mode is RECORD_LIMIT:
        beyond = conjunction(bool(taken), s.taken_last >= cap, s.taken_last >= old_end)
        crosses = conjunction(crosses, negate(beyond))
    wide = conjunction(s.end > cap, negate(crosses))
    size = either(crosses_second, s.second_last - s.second, s.last - s.first)
    within = s.end <= cap + (size if profile.window_may_overshoot else 0)
    rightly = refused is first_broken((negate(wide), Guard.WITHIN_WINDOW_LIMIT))
    return conjunction(rightly, refused is not None or within)


@_FETCH.theorem(13, of="skip acquire", control=allows_everything("spec.acquire:check_full"))
def acquire_is_skipped_only_when_full(s: AnyPartition) -> Term:
    """A fetch acquires nothing only if the window is full and no record is free."""
    before, stuck = fetched_partition(s), Delayed(0, 1)
    operation, choice = SkipAcquire(s.member), Choice(start_offset=s.start)
    with standing_in(acquire, note_full=stuck) as asked:
        refused = refused_by(lambda: acquire.skip_acquire(before, operation, choice))
        full = conjunction(s.end - s.start >= s.width, before.window.acquirable == 0)
        if refused is not None:
            return conjunction(negate(full), refused is Guard.CAN_ACQUIRE)
        step = acquire.skip_acquire(before, operation, choice)
    free = (conjunction(p.tracked, is_acquirable(p.record)) for p in places(s))
    return conjunction(
        full,
        *(negate(each) for each in free),
        step.partition == attrs.evolve(before, stuck=stuck),
        asked["note_full"] == (before,),
        not step.outcome.can_acquire,
    )


SOURCE = "KIP-932, at-least-once delivery; KIP-1226, Compacted records"
_READ, _LEARN = Subject(SOURCE, AnyPartition, is_empty), Subject(SOURCE, AnyPartition, is_fetched)
UNLEARNED = wrong("spec.read:learn", "learns nothing", does_nothing)


def _smaller(value: Term, other: Term) -> Term:
    return either(value <= other, value, other)


def _first_readable(s: AnyPartition) -> Term:
    """Return the first offset of which the read can say that the log lacks it."""
    return largest(s.fetch_offset, s.start, s.log_start)


@_READ.theorem(
    53,
    of={f"check a read ({level.name})": (level,) for level in IsolationLevel},
    control=allows_everything("spec.read:check_read"),
)
def read_shows_the_log(s: AnyPartition, level: IsolationLevel) -> Term:
    """A read is refused exactly if it goes past what can be read, shows other batches, or skips."""
    before = fetched_partition(s)
    before = attrs.evolve(before, config=attrs.evolve(before.config, isolation_level=level))
    refused = refused_by(lambda: read.check_read(before, fetch(s)))
    committed = level is IsolationLevel.READ_COMMITTED
    end = _smaller(s.log_end, s.stable) if committed else s.log_end
    place = _first_readable(s)

    def loses_nothing(place: Term, first: Term) -> Term:
        low, high = largest(place, s.made_first), _smaller(first - 1, s.made_last)
        return either_of(low > high, conjunction(s.hole_first <= low, high <= s.hole_last))

    return refused is first_broken(
        (conjunction(s.last < end, s.second_last < end), Guard.WITHIN_READABLE_LOG),
        (is_part(s, s.first, s.last), Guard.READ_IS_OF_THE_LOG),
        (is_part(s, s.second, s.second_last), Guard.READ_IS_OF_THE_LOG),
        (loses_nothing(place, s.first), Guard.NO_RECORD_LOST),
        (loses_nothing(largest(place, s.last + 1), s.second), Guard.NO_RECORD_LOST),
    )


def _learned(s: AnyPartition, *, known: bool = True) -> SharePartition:
    """Return what is known after the read, of a log of which no hole was known."""
    return read.learn(
        fetched_partition(s, log=attrs.evolve(log_of(s), holes=(), known=known)), fetch(s)
    )


@_READ.theorem(53, of="learn", control=UNLEARNED)
def read_teaches_what_the_log_lacks(s: AnyPartition) -> Term:
    """Offsets that a read skips, and those below the log start offset, are not in the log."""
    place = _first_readable(s)
    skipped = either_of(
        is_between(place, s.offset, s.first - 1),
        conjunction(place <= s.offset, is_between(s.last + 1, s.offset, s.second - 1)),
        is_between(s.start, s.offset, s.log_start - 1),
    )
    known = logs.hole_end(_learned(s).log, s.offset) is not None
    return skipped if known else negate(skipped)


@_READ.theorem(
    53, of="produce", control=wrong("spec.produce:_append", "learns of no gap", sets(holes=()))
)
def log_lacks_what_nothing_was_produced_at(s: AnyPartition) -> Term:
    """Of what is produced the log lacks the offsets between the batches, and no other."""
    before, end = (
        fetched_partition(s, log=attrs.evolve(log_of(s), holes=())),
        s.second_last + s.fetches,
    )
    stable = _smaller(s.fetch_offset, end)
    appended = Produce(fetch(s).log_batches, end, stable)
    made = attempted(lambda: produce.produce(before, appended))
    if isinstance(made, Refusal):
        return either_of(end < s.log_end, stable < s.stable, s.first < s.log_end)
    log, new = made.partition.log, is_between(s.log_end, s.offset, end - 1)
    lacks = logs.hole_end(log, s.offset) is not None
    lost = conjunction(new, negate(is_in_a_batch(s, s.offset)))
    batches = ((s.first, s.last), (s.second, s.second_last))
    return conjunction(
        lost if lacks else negate(lost),
        conjunction(log.end_offset == end, log.stable_offset == stable),
        log.batches == (*before.log.batches, *batches),
    )


@_READ.theorem(
    53, of="compact", control=wrong("spec.produce:learn_hole", "learns nothing", does_nothing)
)
def log_lacks_what_is_compacted(s: AnyPartition) -> Term:
    """Compaction takes from the log the offsets that it names, which all lie below its end."""
    before = fetched_partition(s, log=attrs.evolve(log_of(s), holes=()))
    with standing_in(produce, notice=before) as asked:
        compacted = Compact((OffsetRange(s.first, s.second_last),))
        made = attempted(lambda: produce.compact(before, compacted, Choice()))
    if isinstance(made, Refusal):
        return s.second_last >= s.log_end
    named = is_between(s.first, s.offset, s.second_last)
    lacks = logs.hole_end(asked["notice"][0].log, s.offset) is not None
    return conjunction(s.second_last < s.log_end, named if lacks else negate(named))


@_READ.theorem(
    53, of="learn_hole", control=wrong("spec.log:learn_hole", "learns nothing", does_nothing)
)
def log_lacks_what_it_learns(s: AnyPartition) -> Term:
    """A log lacks the hole that it knew and the one that it learns, no other, and joins them."""
    before = log_of(s)
    after = logs.learn_hole(before, s.first, s.second_last)
    ranges = ((s.hole_first, s.hole_last), (s.first, s.second_last))
    lacked = either_of(*(is_between(first, s.offset, last) for first, last in ranges))
    lacks = logs.hole_end(after, s.offset) is not None
    apart = (one[1] + 1 < other[0] for one, other in pairwise(after.holes))
    return conjunction(lacked if lacks else negate(lacked), *apart)


@_READ.theorem(
    53, of="truncate", control=wrong("spec.log:_up_to", "forgets all", becomes(lambda *_of: ()))
)
def truncation_keeps_what_lies_below(s: AnyPartition) -> Term:
    """A log that ends earlier lacks what it lacked below its end, and beyond it nothing."""
    after = logs.truncate(log_of(s), s.second_last)
    lacked = conjunction(is_between(s.hole_first, s.offset, s.hole_last), s.offset < s.second_last)
    made = conjunction(is_between(s.made_first, s.offset, s.made_last), s.offset < s.second_last)
    lacks = logs.hole_end(after, s.offset) is not None
    given = logs.batch_at(after, s.offset) is not None
    return conjunction(lacks == lacked, given == made)


@_LEARN.theorem(10, of="learn", control=UNLEARNED)
def compacted_records_are_archived(s: AnyPartition) -> Term:
    """A read archives each AVAILABLE record that it skips, and changes nothing else."""
    before = fetched_partition(s)
    with standing_in(read, learn_hole=before.log, learn_read=before.log):
        after = read.learn(before, fetch(s))
    return changes_to(s, before, after, [_after(s, place) for place in places(s)])


def _after(s: AnyPartition, place: Place) -> Record | None:
    if not place.tracked:
        return None
    skipped = is_between(s.fetch_offset, place.offset, s.first - 1)
    record, available = place.record, place.record.state == RecordState.AVAILABLE
    if not conjunction(skipped, available):
        return record
    return Record(RecordState.ARCHIVED, record.delivery_count, pending=record.pending)


@_READ.theorem(7, of="learn", control=UNLEARNED)
def read_moves_only_an_unknown_end(s: AnyPartition) -> Term:
    """A read moves the log's end only where nobody said where it is."""
    known, unknown = _learned(s).log, _learned(s, known=False).log
    end = largest(s.log_end, _first_readable(s), s.second_last + 1)
    stable = either(end > s.log_end, largest(s.stable, end), s.stable)
    return conjunction(
        *(log.batches == log_of(s).batches for log in (known, unknown)),
        *(log.start_offset == s.log_start for log in (known, unknown)),
        *(log.end_offset == at for log, at in ((known, s.log_end), (unknown, end))),
        *(log.stable_offset == at for log, at in ((known, s.stable), (unknown, stable))),
    )
