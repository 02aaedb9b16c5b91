"""Theorems about requests with state batches: what is merged, logged and read (KIP-932)."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.profile import KIP
from model.ranges import StateBatch
from model.share_state_requests import InitializeState, ReadState, ReadStateSummary, WriteState
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot
from proofs.theorems.controls import becomes, returns
from proofs.theorems.durable_situation import is_persisted
from proofs.theorems.points import Points
from proofs.theorems.situation import any_offset, flag, number
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Theorem, about, laws
from spec import coordinator as single
from spec import share_coordinator as coordinator
from spec.coordinator import Durable
from spec.logic import Term, either, negate
from spec.partition import SharePartition
from spec.share_coordinator import Held, Reply, ShareCoordinator

_law = laws("KIP-932, Share coordinator")
KEY = SharePartitionKey("group", UUID(int=1), 0)
Entry = tuple[Term, Term]


@attrs.frozen
class OneStateWrite:
    """What is durable at two offsets, and a write of up to two state batches, which may overlap.

    ``start`` and ``complete`` are durable, ``given_start`` and ``given_complete`` are written; all
    four less one, so that they may be -1. ``due`` is when a snapshot is due, in updates.
    """

    start: Term = number()
    complete: Term = number()
    offset: Term = any_offset()
    known: Term = flag()
    state: Term = number()
    count: Term = number()
    other: Term = any_offset()
    other_known: Term = flag()
    other_state: Term = number()
    other_count: Term = number()
    one_first: Term = number()
    one_last: Term = number()
    one_state: Term = number()
    one_count: Term = number()
    two_first: Term = number()
    two_last: Term = number()
    two_state: Term = number()
    two_count: Term = number()
    given_start: Term = number()
    given_complete: Term = number()
    epoch: Term = number()
    updates: Term = number()
    due: Term = number(1)

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[OneStateWrite]":
        """Yield writes to what is durable in a state that a run reached."""
        durable = state.durable
        start = max(durable.start_offset, 0)
        for offset in range(start, state.window.end_offset):
            known, count = durable.entries.get(offset, (0, 0))
            other, other_count = durable.entries.get(offset + 1, (0, 0))
            here = cls(
                start=start + 1, complete=durable.delivery_complete_count + 1, offset=offset,
                known=offset in durable.entries, state=known, count=count, other=offset + 1,
                other_known=offset + 1 in durable.entries, other_state=other,
                other_count=other_count,
                one_first=offset, one_last=offset, one_state=2, one_count=count + 1,
                two_first=offset, two_last=offset, two_state=4, two_count=count,
                given_start=start + 1, given_complete=1, epoch=durable.state_epoch, due=5,
            )  # fmt: skip
            yield here
            yield attrs.evolve(here, given_start=0)
            yield attrs.evolve(here, updates=5)
            yield attrs.evolve(here, two_first=offset + 1, two_last=offset + 1)


def _can_be(s: OneStateWrite) -> Term:
    states = s.state, s.other_state, s.one_state, s.two_state
    return conjunction(
        s.offset < s.other,
        s.one_first <= s.one_last,
        s.two_first <= s.two_last,
        implies(s.known, s.start - 1 <= s.offset),
        implies(s.other_known, s.start - 1 <= s.other),
        *(is_persisted(state) for state in states),
    )


def _coordinator(s: OneStateWrite) -> ShareCoordinator:
    entries: Any = Points()
    if s.known:
        entries = entries.set(s.offset, (s.state, s.count))
    if s.other_known:
        entries = entries.set(s.other, (s.other_state, s.other_count))
    numbers = s.start - 1, s.complete - 1
    durable = Durable(*numbers, entries, s.epoch, 1, snapshot_epoch=1, updates=s.updates)
    held = Map({KEY: Held(durable, 1, 1, 1)})
    return ShareCoordinator(KIP, Map({KEY.topic_id: 1}), held, s.due)


def _write(s: OneStateWrite, batches: int) -> WriteState:
    both = (
        StateBatch(s.one_first, s.one_last, s.one_state, s.one_count),
        StateBatch(s.two_first, s.two_last, s.two_state, s.two_count),
    )
    return WriteState(KEY, s.epoch, 1, s.given_start - 1, s.given_complete - 1, both[:batches])


def _written(s: OneStateWrite, batches: int) -> Reply:
    return coordinator.serve(_coordinator(s), _write(s, batches), 1)


def _numbers(s: OneStateWrite) -> Entry:
    """Return the start offset and the delivery complete count after the write."""
    start, count = s.start - 1, s.complete - 1
    given = either(s.given_start == 0, start, s.given_start - 1)
    keeps = conjunction(s.given_complete > 0, s.given_complete <= s.complete)
    larger = either(keeps, count, s.given_complete - 1)
    counted = either(given > start, s.given_complete - 1, either(given == start, larger, count))
    return either(given > start, given, start), counted


def _known(s: OneStateWrite) -> tuple[tuple[Term, Entry | None], ...]:
    """Return both offsets, each with what is durable of it before the request."""
    first = (s.state, s.count) if s.known else None
    second = (s.other_state, s.other_count) if s.other_known else None
    return (s.offset, first), (s.other, second)


def _after(s: OneStateWrite, offset: Term, known: Entry | None, batches: int) -> Entry | None:
    """Return what is known of an offset after the write, of which this was known before."""
    start, _count = _numbers(s)
    if offset < start:
        return None
    for batch in _write(s, batches).state_batches:
        if batch.first <= offset and offset <= batch.last:  # noqa: PLR1716 - two questions
            entry = batch.state, batch.delivery_count
            known = entry if known is None else _later(known, entry)
    return known


def _later(entry: Entry, other: Entry) -> Entry:
    """Return the entry with the higher delivery count, then with the higher state."""
    same = conjunction(entry[1] == other[1], entry[0] >= other[0])
    wins = negate(conjunction(negate(entry[1] > other[1]), negate(same)))
    return either(wins, entry[0], other[0]), either(wins, entry[1], other[1])


def _is_entry(entry: Entry | None, expected: Entry | None) -> Term:
    if entry is None or expected is None:
        return entry is expected
    return conjunction(entry[0] == expected[0], entry[1] == expected[1])


def _merges(s: OneStateWrite, batches: int) -> Term:
    """Whether of each offset the highest stays, from the start offset on."""
    reply = _written(s, batches)
    after = reply.coordinator.held[KEY].durable
    start, count = _numbers(s)
    return conjunction(
        reply.status is ErrorCode.NONE,
        after.start_offset == start,
        after.delivery_complete_count == count,
        *(
            _is_entry(after.entries.get(offset), _after(s, offset, known, batches))
            for offset, known in _known(s)
        ),
    )


def _reported(batches: tuple[StateBatch, ...], offset: Term) -> Entry | None:
    """Return what state batches report of an offset."""
    held = (b for b in batches if conjunction(b.first <= offset, offset <= b.last))
    batch = next(held, None)
    return None if batch is None else (batch.state, batch.delivery_count)


def _logs(s: OneStateWrite, batches: int) -> Term:
    """Whether the record has of each offset what was written, or as a snapshot all there is."""
    reply = _written(s, batches)
    value: Any = reply.record.value if reply.record else None
    whole = bool(s.updates >= s.due)
    logged = value.state if whole else value
    start, count = _numbers(s)
    return conjunction(
        isinstance(value, ShareSnapshot) == whole,
        logged.start_offset == start,
        logged.delivery_complete_count == count,
        *(
            _is_entry(
                _reported(logged.state_batches, offset),
                _after(s, offset, known if whole else None, batches),
            )
            for offset, known in _known(s)
        ),
    )


def _reads(s: OneStateWrite) -> Term:
    """Whether a new leader is told what is durable of each offset, and it stays so."""
    reply = coordinator.serve(_coordinator(s), ReadState(KEY, 2), 1)
    entries = reply.coordinator.held[KEY].durable.entries
    kept = (_is_entry(entries.get(offset), known) for offset, known in _known(s))
    return conjunction(reply.status is ErrorCode.NONE, _is_all(s, reply.state), *kept)


def _is_all(s: OneStateWrite, state: DurableState | None) -> Term:
    if state is None:
        return False
    return conjunction(
        state.start_offset == s.start - 1,
        state.delivery_complete_count == s.complete - 1,
        state.state_epoch == s.epoch,
        *(_is_entry(_reported(state.state_batches, offset), known) for offset, known in _known(s)),
    )


def _discards(s: OneStateWrite) -> Term:
    """Whether an altered start offset leaves nothing durable of any record."""
    request = InitializeState(KEY, s.epoch + 1, s.given_start - 1)
    reply = coordinator.serve(_coordinator(s), request, 1)
    value: Any = reply.record.value if reply.record else None
    after = reply.coordinator.held[KEY].durable
    return conjunction(not after.entries, not value.state.state_batches)


def _leaves_out(s: OneStateWrite) -> Term:
    """Whether a summary has no batch, and changes nothing."""
    before = _coordinator(s)
    reply = coordinator.serve(before, ReadStateSummary(KEY, 1), 1)
    state = reply.state
    return state is not None and not state.state_batches and reply.coordinator is before


def _is_started(s: OneStateWrite) -> Term:
    """Whether a start offset is durable and one is written, and an update will do."""
    return conjunction(_can_be(s), s.start > 0, s.given_start > 0, s.updates < s.due)


def _keeps_start(s: OneStateWrite) -> Term:
    """Whether no start offset is written, and an update will do."""
    return conjunction(_can_be(s), s.start > 0, s.given_start == 0, s.updates < s.due)


def _is_due(s: OneStateWrite) -> Term:
    """Whether both offsets are durable, and a snapshot is due."""
    due = s.start > 0, s.given_start > 0, s.updates >= s.due
    return conjunction(_can_be(s), s.known, s.other_known, *due)


def _overlap(s: OneStateWrite) -> Term:
    """Whether neither batch names the second offset, which is durable."""
    beyond = s.one_last < s.other, s.two_last < s.other
    return conjunction(_is_started(s), s.other_known, *beyond)


def _are_apart(s: OneStateWrite) -> Term:
    """Whether the first batch names the first offset alone, and the second one the second."""
    first = s.one_first <= s.offset, s.offset <= s.one_last, s.one_last < s.other
    second = s.offset < s.two_first, s.two_first <= s.other, s.other <= s.two_last
    return conjunction(_is_started(s), *first, *second)


MERGES = _law(
    "write_merges_its_batches",
    "Of each offset the highest delivery count stays, then the highest state, from the start on.",
    27,
    28,
)
LOGS = _law(
    "write_logs_its_batches",
    "An update has of each offset what was written, a snapshot all that is durable.",
    26,
)
READS = _law(
    "new_leader_reads_what_is_durable",
    "A new leader reads what is durable of each offset, and that stays durable.",
)
DISCARDS = _law(
    "altered_start_discards_all_batches",
    "An altered start offset leaves nothing durable of records.",
)
SUMMARY = _law("summary_has_no_batches", "A summary has no state batch, and changes nothing.")


def _answers_all(before: ShareCoordinator, request: ReadStateSummary) -> Reply:
    state = single.durable_state(before.held[request.key].durable)
    return Reply(before, ErrorCode.NONE, state=state)


LAST_WINS = Control(
    "durable_maximum takes what comes last",
    "spec.record:durable_maximum",
    becomes(lambda state, count, *_known: (state, count)),
)
LOSES = Control(
    "coalesce loses the first batch",
    "spec.coordinator:coalesce",
    returns(lambda batches: batches[1:]),
)
KEEPS = Control(
    "initialize keeps what is durable of records",
    "spec.coordinator:initialize",
    lambda rule: lambda durable, *of: (rule(durable, *of)[0], durable),
)
TELLS = Control(
    "read_state_summary answers state batches too",
    "spec.share_coordinator:read_state_summary",
    becomes(_answers_all),
)
WRITES: tuple[tuple[str, int, Callable[[OneStateWrite], Term]], ...] = (
    ("write one state batch", 1, _is_started),
    ("write one state batch and keep the start offset", 1, _keeps_start),
    ("write one state batch when a snapshot is due", 1, _is_due),
    ("write two state batches that may overlap", 2, _overlap),
    ("write two state batches apart", 2, _are_apart),
)


def _theorems() -> Iterator[Theorem]:
    for name, batches, given in WRITES:
        merges, logs = about(_merges, batches), about(_logs, batches)
        yield Theorem(MERGES, name, OneStateWrite, given, merges, LAST_WINS)
        yield Theorem(LOGS, name, OneStateWrite, given, logs, LOSES)
    for stated, name, claim, control in (
        (READS, "read by a new leader", _reads, LOSES),
        (DISCARDS, "initialize in the next state epoch", _discards, KEEPS),
        (SUMMARY, "read the summary", _leaves_out, TELLS),
    ):
        yield Theorem(stated, name, OneStateWrite, _can_be, claim, control)


STATE_BATCH_THEOREMS = tuple(_theorems())
