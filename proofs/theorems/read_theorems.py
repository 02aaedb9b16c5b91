"""Theorems about what a fetch read: what a read may claim of the log, and what is learned."""

import attrs

from model.config import IsolationLevel
from model.guards import Guard
from model.states import RecordState
from proofs.theorems.any_partition import (
    AnyPartition,
    either_of,
    fetch,
    first_broken,
    is_between,
    is_empty,
    is_fetched,
    log_of,
    partition_of,
    refused_by,
    standing_in,
)
from proofs.theorems.controls import becomes, does_nothing
from proofs.theorems.operation_cases import Place, places
from proofs.theorems.operation_situation import kept, same_record
from proofs.theorems.statement import Subject, theorems_in, wrong
from proofs.theorems.symbolic import conjunction
from spec import log as logs
from spec import read
from spec import record as rules
from spec.logic import Term, either, negate
from spec.partition import SharePartition
from spec.record import Record

SOURCE = "KIP-932, at-least-once delivery; KIP-1226, Compacted records"
_READ, _FETCH = Subject(SOURCE, AnyPartition, is_empty), Subject(SOURCE, AnyPartition, is_fetched)
UNLEARNED = wrong("spec.read:learn", "learns nothing", does_nothing)


def _larger(*numbers: Term) -> Term:
    largest = numbers[0]
    for number in numbers[1:]:
        largest = either(number > largest, number, largest)
    return largest


def _smaller(value: Term, other: Term) -> Term:
    return either(value <= other, value, other)


def _first_readable(s: AnyPartition) -> Term:
    """Return the first offset of which the read can say that the log lacks it."""
    return _larger(s.fetch_offset, s.start, s.log_start)


@_READ.theorem(
    53,
    of={f"check a read ({level.name})": (level,) for level in IsolationLevel},
    control=wrong("spec.read:check_read", "allows everything", becomes(lambda *_of: None)),
)
def read_shows_the_log(s: AnyPartition, level: IsolationLevel) -> Term:
    """A read is refused exactly if it goes past what can be read, shows other batches, or skips."""
    before = partition_of(s)
    before = attrs.evolve(before, config=attrs.evolve(before.config, isolation_level=level))
    refused = refused_by(lambda: read.check_read(before, fetch(s)))
    committed = level is IsolationLevel.READ_COMMITTED
    end = _smaller(s.log_end, s.stable) if committed else s.log_end
    place = _first_readable(s)

    def is_part(first: Term, last: Term) -> Term:
        inside = conjunction(s.made_first <= first, last <= s.made_last)
        return either_of(inside, s.made_first > last, first > s.made_last)

    def loses_nothing(place: Term, first: Term) -> Term:
        low, high = _larger(place, s.made_first), _smaller(first - 1, s.made_last)
        return either_of(low > high, conjunction(s.hole_first <= low, high <= s.hole_last))

    return refused is first_broken(
        (conjunction(s.first_last < end, s.last < end), Guard.WITHIN_READABLE_LOG),
        (is_part(s.first, s.first_last), Guard.READ_IS_OF_THE_LOG),
        (is_part(s.second, s.last), Guard.READ_IS_OF_THE_LOG),
        (loses_nothing(place, s.first), Guard.NO_RECORD_LOST),
        (loses_nothing(_larger(place, s.first_last + 1), s.second), Guard.NO_RECORD_LOST),
    )


def _learned(s: AnyPartition, *, known: bool = True) -> SharePartition:
    """Return what is known after the read, of a log of which no hole was known."""
    return read.learn(partition_of(s, log=attrs.evolve(log_of(s), holes=(), known=known)), fetch(s))


@_READ.theorem(53, of="learn", control=UNLEARNED)
def read_teaches_what_the_log_lacks(s: AnyPartition) -> Term:
    """Offsets that a read skips, and those below the log start offset, are not in the log."""
    place = _first_readable(s)
    skipped = either_of(
        is_between(place, s.offset, s.first - 1),
        conjunction(place <= s.offset, is_between(s.first_last + 1, s.offset, s.second - 1)),
        is_between(s.start, s.offset, s.log_start - 1),
    )
    known = logs.hole_end(_learned(s).log, s.offset) is not None
    return skipped if known else negate(skipped)


@_FETCH.theorem(10, of="learn", control=UNLEARNED)
def compacted_records_are_archived(s: AnyPartition) -> Term:
    """A read archives each AVAILABLE record that it skips, and changes nothing else."""
    before = partition_of(s)
    with standing_in(read, learn_hole=before.log, learn_read=before.log):
        after = read.learn(before, fetch(s))
    records = after.window.records
    return conjunction(
        *(same_record(records.get(p.offset), _after(s, p)) for p in places(s)),
        negate(s.elsewhere in records),
        kept(before, after, "window"),
        after.window.start_offset == s.start,
        after.window.end_offset == s.end,
    )


def _after(s: AnyPartition, place: Place) -> Record | None:
    if not place.tracked:
        return None
    skipped = is_between(s.fetch_offset, place.offset, s.first - 1)
    available = place.record.state == RecordState.AVAILABLE
    return rules.vanish(place.record) if conjunction(skipped, available) else place.record


@_READ.theorem(7, of="learn", control=UNLEARNED)
def read_moves_only_an_unknown_end(s: AnyPartition) -> Term:
    """A read moves the log's end only where nobody said where it is."""
    known, unknown = _learned(s).log, _learned(s, known=False).log
    end = _larger(s.log_end, _first_readable(s), s.last + 1)
    stable = either(end > s.log_end, _larger(s.stable, end), s.stable)
    return conjunction(
        *(log.batches == log_of(s).batches for log in (known, unknown)),
        *(log.start_offset == s.log_start for log in (known, unknown)),
        *(log.end_offset == at for log, at in ((known, s.log_end), (unknown, end))),
        *(log.stable_offset == at for log, at in ((known, s.stable), (unknown, stable))),
    )


READ_THEOREMS = theorems_in(globals())
