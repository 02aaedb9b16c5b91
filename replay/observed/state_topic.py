"""A dump of ``__share_group_state`` beside a log: what was durable, and whether the two agree.

Each write that was accepted is a record of the topic, in the order in which it became durable. A
record has no clock: where it is in the history is told by the write that it holds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import pairwise

import attrs

from model.profile import KAFKA, KAFKA_4_4
from model.ranges import StateBatch, join_neighbours
from model.snapshot import DurableState
from model.state_topic import ShareSnapshot, ShareUpdate, StateRecord
from model.states import TERMINAL_STATES, RecordState
from model.wire import uuid_text
from replay.observed.known import Known
from replay.observed.observation import OF_TOPIC, Kind, Observation, Ranges
from replay.observed.record import settled
from replay.observed.settings import Assumed
from replay.observed.verdict import DivergedError
from spec.coordinator import Durable, durable_state, merge_start, replay_record
from spec.record import durable_maximum

Identity = tuple[int | None, int | None, Ranges]
"""What tells a write from all others: its state epoch, its leader epoch, and its state batches."""


class Joint(Enum):
    """What a dump and a log must agree in; the value is its sentence."""

    RECORD_IS_THE_WRITE = "a record of the state topic has the numbers that were written"
    WRITE_IS_DURABLE = "a write that was accepted is in the state topic"
    DURABLE_IS_FINISHED = "what is durable as finished is finished"


def observations_of(records: Iterable[StateRecord], source: str) -> Iterator[Observation]:
    """Yield what each record shows; the line of one is its number in the dump."""
    for line, record in enumerate(records, 1):
        key, value = record.key, record.value
        each = Observation(
            Kind.TOMBSTONE,
            uuid_text(key.topic_id),
            key.partition,
            source,
            line,
            0.0,
            0.0,
            key.group_id,
            timed=False,
        )
        if value is not None:
            snapshot = isinstance(value, ShareSnapshot)
            content = value.state if isinstance(value, ShareSnapshot) else value
            each = attrs.evolve(
                each,
                kind=Kind.SNAPSHOT if snapshot else Kind.UPDATE,
                state_epoch=content.state_epoch if isinstance(content, DurableState) else None,
                leader_epoch=content.leader_epoch,
                start_offset=content.start_offset,
                complete_count=content.delivery_complete_count,
                offset=value.snapshot_epoch,
                ranges=tuple(
                    (b.first, b.last, int(b.state), b.delivery_count) for b in content.state_batches
                ),
            )
        yield each


def in_order(seen: Iterable[Observation]) -> tuple[Observation, ...]:
    """Return the records of a dump among observations, in their order."""
    return tuple(sorted((e for e in seen if e.kind in OF_TOPIC), key=lambda each: each.line))


@attrs.frozen
class Joined:
    """A dump and the writes of a log: ``places`` says which record a write is."""

    records: tuple[Observation, ...] = ()
    places: dict[Observation, int] = attrs.field(factory=dict)

    def durable_after(self, nth: int) -> Durable:
        """Return what was durable after a record."""
        durable = Durable()
        first = max((n for n in range(nth + 1) if _begins(self.records[n])), default=0)
        for each in self.records[first : nth + 1]:
            if each.kind is Kind.TOMBSTONE:
                durable = Durable()
            else:
                durable = replay_record(durable, _value(each), KAFKA_4_4)
        return durable


def join(records: Sequence[Observation], seen: Sequence[Observation], settings: Assumed) -> Joined:
    """Find the record of each write that was accepted, where only one can be it.

    Raises DivergedError where a record has other numbers than its write, and where a write has no
    record although writes before and after it have: the dump need not reach over the whole log.
    """
    held = _by_identity(records)
    writes = [each for each in seen if each.kind is Kind.WRITE and each.status == 0]
    names = {each: _identity(each, each.state_epoch) for each in writes}
    often = Counter(names.values())
    places = {}
    for each, name in names.items():
        if name is None or name not in held:
            continue
        numbers = [nth for nth in held[name] if _agree(records, nth, each)]
        if not numbers:
            raise _other_numbers(records[held[name][0]], each)
        if often[name] == len(held[name]) == 1:
            places[each] = numbers[0]
    for each in seen:
        if each.kind is Kind.INITIALIZE and each.status == 0:
            _check_begin(records, each, seen)
    for each, name in names.items():
        if name is not None and name not in held:
            _check_missing(records, places, each, settings)
    return Joined(tuple(records), places)


def learn(known: Known, durable: Durable, now: float) -> None:
    """Keep the configurations that what is durable leaves: finished records, and the start offset.

    A leader finishes a record before it writes so, and its start offset is not behind the durable
    one. Of a record that is durable as AVAILABLE nothing follows: it may be acquired again.
    """
    rules = known.rules(now)
    if durable.start_offset > known.floor:
        known.pass_to(durable.start_offset)
    for batch in durable_state(durable).state_batches:
        if batch.state not in TERMINAL_STATES or batch.last < known.floor:
            continue
        changed = []
        for piece in known.pieces(max(batch.first, known.floor), batch.last):
            after = settled(known.reach(piece, rules), batch.state, batch.delivery_count)
            if not after:
                detail = f"{batch.state.name}({batch.delivery_count}) is durable"
                raise DivergedError(Joint.DURABLE_IS_FINISHED, piece[0], piece[1], detail)
            changed.append((piece[0], piece[1], after))
        known.put(changed)


def _begins(each: Observation) -> bool:
    return each.kind in (Kind.SNAPSHOT, Kind.TOMBSTONE)


def _value(each: Observation) -> ShareSnapshot | ShareUpdate:
    start = -1 if each.start_offset is None else each.start_offset
    count = -1 if each.complete_count is None else each.complete_count
    batches = tuple(StateBatch(f, last, RecordState(s), c) for f, last, s, c in each.ranges)
    leader, epoch = each.leader_epoch or 0, each.offset or 0
    if each.kind is Kind.UPDATE:
        return ShareUpdate(epoch, leader, start, count, batches)
    return ShareSnapshot(epoch, DurableState(start, count, batches, each.state_epoch or 0, leader))


def _by_identity(records: Sequence[Observation]) -> dict[Identity, list[int]]:
    held: dict[Identity, list[int]] = {}
    epoch: int | None = None
    for nth, each in enumerate(records):
        if _begins(each):
            epoch = each.state_epoch
        elif (name := _identity(each, epoch)) is not None:
            held.setdefault(name, []).append(nth)
    return held


def _identity(each: Observation, epoch: int | None) -> Identity | None:
    entries = _entries(each, 0 if each.start_offset is None else each.start_offset)
    return (epoch, each.leader_epoch, entries) if entries and epoch is not None else None


def _entries(each: Observation, start: int) -> Ranges | None:
    """Return the states from the start offset on as the fewest ranges; None if two overlap."""
    inside = [part for part in sorted(each.ranges) if part[1] >= start]
    if any(before[1] >= after[0] for before, after in pairwise(inside)):
        return None
    states = ((max(first, start), last, entry) for first, last, *entry in inside)
    return tuple((first, last, *entry) for first, last, entry in join_neighbours(states))


def _numbers(each: Observation) -> tuple[int, int]:
    start, count = each.start_offset, each.complete_count
    return -1 if start is None else start, -1 if count is None else count


def _agree(records: Sequence[Observation], nth: int, write: Observation) -> bool:
    """Whether a record has the numbers of a write, as they are or merged with those before."""
    written, record = _numbers(write), _numbers(records[nth])
    before = _numbers(records[nth - 1]) if nth else (-1, -1)
    allowed = {written, *(merge_start(before, written, profile) for profile in (KAFKA, KAFKA_4_4))}
    return record in allowed or (written[1] == -1 and record[0] in {start for start, _ in allowed})


def _other_numbers(record: Observation, write: Observation) -> DivergedError:
    (held, complete), (start, count) = _numbers(record), _numbers(write)
    detail = (
        f"record {record.line} of the dump has start offset {held} and delivery complete count "
        f"{complete}; {start} and {count} were written ({write.place})"
    )
    first, last = record.ranges[0][0], record.ranges[-1][1]
    return DivergedError(Joint.RECORD_IS_THE_WRITE, first, last, detail)


def _check_begin(
    records: Sequence[Observation], each: Observation, seen: Sequence[Observation]
) -> None:
    """Refuse another start offset of a state epoch than the one that it was initialized with."""
    again = [
        other
        for other in seen
        if other.kind is Kind.INITIALIZE and other.state_epoch == each.state_epoch
    ]
    for nth, record in enumerate(records):
        if record.kind is not Kind.SNAPSHOT or record.state_epoch != each.state_epoch:
            continue
        new = record.offset == 0 if not nth else not _is_of(records[:nth], each.state_epoch)
        if new and len(again) == 1 and not record.ranges:
            start, held = _numbers(each)[0], _numbers(record)[0]
            if held != start:
                detail = (
                    f"record {record.line} of the dump begins state epoch {each.state_epoch} with "
                    f"start offset {held}; {start} was written ({each.place})"
                )
                raise DivergedError(Joint.RECORD_IS_THE_WRITE, max(0, held), max(0, held), detail)
        return


def _is_of(records: Sequence[Observation], epoch: int | None) -> bool:
    """Whether records are of a state epoch, or of none that is known."""
    epochs = [each.state_epoch for each in records if each.kind is Kind.SNAPSHOT]
    return not epochs or epoch in epochs


def _check_missing(
    records: Sequence[Observation],
    places: dict[Observation, int],
    each: Observation,
    settings: Assumed,
) -> None:
    """Refuse a write without a record, where the dump has writes of before and after it."""
    if not places:
        return
    first = min(places, key=lambda write: write.end)
    last = max(places, key=lambda write: write.begin)
    if not (_is_before(first, each, settings) and _is_before(each, last, settings)):
        return
    between = records[places[first] + 1 : places[last]]
    if any(_may_hold(record, each) for record in between):
        return
    detail = (
        f"no record of the dump holds it ({each.place}); those of {first.place} and "
        f"{last.place} are in it"
    )
    raise DivergedError(Joint.WRITE_IS_DURABLE, each.ranges[0][0], each.ranges[-1][1], detail)


def _is_before(write: Observation, other: Observation, settings: Assumed) -> bool:
    skew = 0 if write.broker == other.broker else settings.skew_ms
    return write.end + 1 + skew < other.earliest - settings.slack_ms - 1


def _may_hold(record: Observation, write: Observation) -> bool:
    """Whether a record may be that of a write: a snapshot holds what was written before, too."""
    if record.kind is Kind.TOMBSTONE:
        return False
    start = max(0, _numbers(record)[0])
    written = _entries(write, start)
    if record.kind is Kind.UPDATE:
        same = record.leader_epoch == write.leader_epoch
        return same and written == _entries(record, start)
    if record.state_epoch != write.state_epoch or _numbers(record)[0] < _numbers(write)[0]:
        return False
    held = {
        offset: (part[2], part[3])
        for part in record.ranges
        for offset in range(part[0], part[1] + 1)
    }
    return all(
        offset in held and durable_maximum(part[2], part[3], *held[offset]) == held[offset]
        for part in written or ()
        for offset in range(part[0], part[1] + 1)
    )
