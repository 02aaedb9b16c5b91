"""The writes of a recorded event: whether they make durable what they have to, in any form.

A write may carry the start offset of before its event, or of after it, or that which its success
leads to, or -1, which keeps the durable one; with a later start offset it needs no state batches
below that; and it may repeat what the leader holds of other records (docs/decisions.md, 25). So it
is judged by what is recovered from it, whether or not the event had to make one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from judge.engine import Engine
from judge.mismatch import Mismatch, Segment, differences, mismatch_at
from judge.words import state_text
from model.errors import ErrorCode
from model.guards import Difference
from model.operations import AdvanceTime, Initialize, ResetOffset
from model.outcome import Composed, Outcome, Write
from model.ranges import StateBatch
from model.snapshot import SharePartitionSnapshot
from model.states import TERMINAL_STATES, RecordState
from model.trace import TraceEvent
from model.whole_state import RecordedNumbers


@attrs.frozen
class _Pair:
    """A recorded write, and the one that was expected; None where none was.

    ``base`` is the expected write with whose numbers those of this one are compared, if any is.
    ``others`` are what the other writes of its event have of the offsets, ascending; ``highest`` is
    the largest delivery complete count that any write of the event has with its start offset. The
    ``final`` one has all that the event did.
    """

    recorded: Write
    expected: Write | None
    base: Write | None
    others: tuple[Segment, ...]
    highest: int
    final: bool


@attrs.frozen
class Around:
    """The states around an event, and who knows more of the one after it."""

    before: SharePartitionSnapshot
    after: SharePartitionSnapshot
    leader: Engine


def written_mismatch(event: TraceEvent, expected: Outcome, around: Around) -> Mismatch | None:
    """Return the first difference between the writes of an event and what they must tell."""
    if event.outcome.writes == expected.writes:
        return None
    if isinstance(event.operation, Initialize | ResetOffset):  # The window of before is gone.
        around = attrs.evolve(around, before=around.after)
    pairs = list(_pairs(event, expected))
    floors = [_floor(event, pair, around.before) for pair in pairs]
    wrong = (_states_differ(*each, around) for each in zip(pairs, floors, strict=True))
    later = later_numbers(event, expected)
    numbered = (pair for pair in pairs if not (pair.expected and pair.expected.id in later))
    return (
        next(filter(None, wrong), None)
        or _unwritten(event, expected, around.before)
        or next(filter(None, (_numbers_differ(pair, around) for pair in numbered)), None)
    )


def later_numbers(event: TraceEvent, expected: Outcome) -> dict[int, RecordedNumbers]:
    """Return what is recorded of writes that take their numbers later, by the expected id."""
    if all(write.made_after is None for write in event.outcome.writes):
        return {}
    return {
        pair.expected.id: numbers_of(attrs.evolve(pair.recorded, id=pair.expected.id))
        for pair in _pairs(event, expected)
        if pair.expected
        and pair.recorded.made_after is not None
        and pair.expected.status is ErrorCode.PENDING
    }


def numbers_of(write: Write) -> RecordedNumbers:
    """Return the numbers that a write was recorded with."""
    count = write.delivery_complete_count if write.counted else None
    return RecordedNumbers(write.id, write.start_offset, count)


def composed_mismatch(outcome: Outcome, recorded: Mapping[int, RecordedNumbers]) -> Mismatch | None:
    """Compare the numbers that writes of before take now with those recorded, by id."""
    pairs = ((recorded[each.id], each) for each in outcome.composed if each.id in recorded)
    return next(filter(None, (_plainly_differ(*pair) for pair in pairs)), None)


def _pairs(event: TraceEvent, expected: Outcome) -> Iterator[_Pair]:
    """Yield each recorded write with the one that it stands for: the first for any but of locks."""
    recorded, wanted = event.outcome.writes, {write.id: write for write in expected.writes}
    together = not isinstance(event.operation, AdvanceTime) and bool(expected.writes)
    if together and recorded:
        wanted = {recorded[0].id: expected.writes[0]}
    for place, write in enumerate(recorded):
        rest = tuple(sorted(_segments((*recorded[:place], *recorded[place + 1 :]))))
        mine = wanted.get(write.id)
        base = expected.writes[0] if together else mine
        alike = (w for w in expected.writes if base and w.start_offset == base.start_offset)
        highest = max((w.delivery_complete_count for w in alike), default=0)
        final = not rest or (together and place == len(recorded) - 1)
        yield _Pair(write, mine, base, rest, highest, final)


def _segments(writes: Iterable[Write], floor: int = 0) -> Iterator[Segment]:
    for write in writes:
        for batch in write.state_batches:
            if batch.last >= floor:
                yield max(batch.first, floor), batch.last, (batch.state, batch.delivery_count)


def _floor(event: TraceEvent, pair: _Pair, before: SharePartitionSnapshot) -> int:
    """Return the offset below which the entries of a write do not count."""
    if isinstance(event.operation, AdvanceTime) and pair.expected:
        return pair.expected.start_offset
    return before.start_offset


def _states_differ(pair: _Pair, floor: int, around: Around) -> Mismatch | None:
    """Return the first entry that is neither expected nor true, or that is expected and missing."""
    expected = [pair.base] if pair.base else []
    recorded = sorted(_segments([pair.recorded], floor))
    for first, last, told, wanted in differences(recorded, sorted(_segments(expected))):
        offset = first
        if told is not None:
            offset = first if wanted else _first_untrue(first, last, told, around)
        elif pair.expected is None:
            continue  # The write that stands for it must have it.
        else:
            done = wanted[0] in TERMINAL_STATES
            start = pair.recorded.start_offset if done else 0
            offset = _first_outside(max(first, start), last, pair.others)
        if offset <= last:
            where = offset, told, wanted
            return mismatch_at(Difference.WRITTEN_STATE, where, _state_text)
    return None


def _unwritten(
    event: TraceEvent, expected: Outcome, before: SharePartitionSnapshot
) -> Mismatch | None:
    """Return the first entry of a write that was expected and that no recorded one stands for."""
    met = {pair.expected.id for pair in _pairs(event, expected) if pair.expected}
    missing = [write for write in expected.writes if write.id not in met]
    first = next(iter(sorted(_segments(missing, before.start_offset))), None)
    where = first and (first[0], None, first[2])
    return where and mismatch_at(Difference.WRITTEN_STATE, where, _state_text)


def _first_untrue(first: int, last: int, told: tuple[RecordState, int], around: Around) -> int:
    """Return the first offset of which the leader does not hold what a write tells; else last + 1.

    What the start offset has passed is finished.
    """
    start = around.after.start_offset
    if told[0] in TERMINAL_STATES:
        first = max(first, start)
    held = (
        (r.first, r.last, (r.state, r.delivery_count))
        for r in around.after.records or ()
        if not r.pending and r.owner is None and r.delivery_count
    )
    truth = [part for part in held if part[2] == told]
    return _first_outside(first, last, tuple(truth))


def _first_outside(first: int, last: int, parts: Sequence[Segment]) -> int:
    """Return the first offset of a range in none of the parts, which ascend; else last + 1."""
    for low, high, _value in parts:
        if low <= first <= high:
            first = high + 1
    return min(first, last + 1)


def _numbers_differ(pair: _Pair, around: Around) -> Mismatch | None:
    """Compare start offset and delivery complete count with those that a write may have."""
    recorded, forms = pair.recorded, dict(_forms(pair, around))
    start, count = recorded.start_offset, recorded.delivery_complete_count
    wanted = pair.base.start_offset if pair.base else around.after.start_offset
    if start not in forms:
        return _other_start(start, wanted)
    lowest, highest = forms[start]
    if recorded.counted and not lowest <= count <= highest:
        return _other_count(count, highest if count > highest else lowest)
    return None


def _forms(pair: _Pair, around: Around) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the start offsets that a write may carry, each with its least and largest count.

    Some of the records that the event finishes may be in other writes of it, which come before or
    after this one.
    """
    before, after, base = around.before, around.after, pair.base
    own = base.state_batches if base else ()
    told, start = pair.recorded.start_offset, (base or before).start_offset
    if told != start and after.start_offset <= told <= around.leader.furthest(own):
        yield told, (_count_from(told, own, after),) * 2
    if base:
        complete = base.delivery_complete_count
        lowest, highest = min(complete, before.delivery_complete_count), pair.highest
        counts = (complete, complete) if pair.final else (lowest, highest)
    else:
        complete = after.delivery_complete_count
        counts = min(complete, before.delivery_complete_count), complete
        if start != after.start_offset:
            counts = (before.delivery_complete_count,) * 2
    yield start, counts
    passed = start - around.leader.durable().start_offset if told < 0 else 0
    yield -1, (counts[0], counts[1] + max(0, passed))


def _count_from(start: int, written: Sequence[StateBatch], after: SharePartitionSnapshot) -> int:
    """Return the delivery complete count from a later start offset on, once a write succeeds."""
    done = [(b.first, b.last) for b in written if b.state in TERMINAL_STATES]
    tracked = [(r.first, r.last) for r in after.records or ()]
    open_ = [(r.first, r.last) for r in after.records or () if r.state not in TERMINAL_STATES]
    count = after.delivery_complete_count - _common(tracked, [(after.start_offset, start - 1)])
    return count + _common(open_, done)


def _common(ranges: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]) -> int:
    """Return how many offsets lie in both."""
    return sum(
        max(0, min(last, high) - max(first, low) + 1)
        for first, last in ranges
        for low, high in others
    )


def _plainly_differ(recorded: RecordedNumbers, wanted: Composed) -> Mismatch | None:
    name, count = f"write {wanted.id}: ", recorded.delivery_complete_count
    if recorded.start_offset != wanted.start_offset:
        return _other_start(recorded.start_offset, wanted.start_offset, name)
    if count is not None and count != wanted.delivery_complete_count:
        return _other_count(count, wanted.delivery_complete_count, name)
    return None


def _other_start(recorded: int, wanted: int, write: str = "") -> Mismatch:
    words = f"{write}start offset"
    return Mismatch(Difference.WRITTEN_START_OFFSET, f"{words} {recorded}", f"{words} {wanted}")


def _other_count(recorded: int, wanted: int, write: str = "") -> Mismatch:
    words, rule = f"{write}delivery complete count", Difference.WRITTEN_DELIVERY_COMPLETE_COUNT
    return Mismatch(rule, f"{words} {recorded}", f"{words} {wanted}")


def _state_text(known: tuple[RecordState, int] | None) -> str:
    return "not written" if known is None else state_text(*known)
