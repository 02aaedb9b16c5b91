"""Theorems about requests with state batches: what is merged, logged and read (KIP-932)."""

from typing import Any
from uuid import UUID

from immutables import Map

from model.errors import ErrorCode
from model.profile import KIP
from model.ranges import StateBatch
from model.share_state_requests import InitializeState, ReadState, ReadStateSummary, WriteState
from model.state_topic import SharePartitionKey, ShareSnapshot
from proofs.theorems.controls import becomes, returns
from proofs.theorems.durable_situation import (
    Entry,
    StateWrites,
    are_writes,
    batches_of,
    durable_of,
    entries_of,
    is_same,
    wins,
)
from proofs.theorems.statement import Subject, theorems_in, wrong
from proofs.theorems.symbolic import conjunction
from spec import coordinator as single
from spec import share_coordinator as coordinator
from spec.logic import Term, either
from spec.share_coordinator import HeldState, Reply, ShareCoordinator

_coordinator = Subject("KIP-932, Share coordinator", StateWrites, are_writes)
KEY = SharePartitionKey("group", UUID(int=1), 0)


def _before(s: StateWrites) -> ShareCoordinator:
    held = Map({KEY: HeldState(durable_of(s), s.leader_epoch, 1, 1)})
    return ShareCoordinator(KIP, Map({KEY.topic_id: 1}), held, s.due)


def _written(s: StateWrites, batches: int) -> Reply:
    numbers = s.one_start, s.one_complete
    named = batches_of(s)[:batches]
    request = WriteState(KEY, s.state_epoch, s.leader_epoch, *numbers, named)
    return coordinator.serve(_before(s), request, 1)


def _numbers(s: StateWrites) -> Entry:
    """Return the start offset and the delivery complete count after the write."""
    given = either(s.one_start == -1, s.start, s.one_start)
    keeps = conjunction(s.one_complete >= 0, s.one_complete <= s.complete)
    level = either(keeps, s.complete, s.one_complete)
    behind = either(given == s.start, level, s.complete)
    count = either(given > s.start, s.one_complete, behind)
    return either(given > s.start, given, s.start), count


def _after(s: StateWrites, offset: Term, known: Entry | None, batches: int) -> Entry | None:
    """Return what is known of an offset after the write, of which this was known before."""
    if offset < _numbers(s)[0]:
        return None
    for batch in batches_of(s)[:batches]:
        if batch.first <= offset and offset <= batch.last:  # noqa: PLR1716 - two questions
            entry = batch.state, batch.delivery_count
            known = entry if known is None else _higher(known, entry)
    return known


def _higher(entry: Entry, other: Entry) -> Entry:
    later = wins(other, entry)
    return either(later, other[0], entry[0]), either(later, other[1], entry[1])


def _reported(batches: tuple[StateBatch, ...], offset: Term) -> Entry | None:
    """Return what state batches report of an offset."""
    held = (b for b in batches if conjunction(b.first <= offset, offset <= b.last))
    batch = next(held, None)
    return None if batch is None else (batch.state, batch.delivery_count)


def _has_numbers(holding: Any, start: Term, count: Term) -> Term:  # noqa: ANN401 - a state or record
    return conjunction(holding.start_offset == start, holding.delivery_complete_count == count)


def _is_started(s: StateWrites) -> Term:
    """Whether a start offset is durable and one is written, and an update will do."""
    return conjunction(s.start >= 0, s.one_start >= 0, s.updates < s.due)


def _keeps_start(s: StateWrites) -> Term:
    """Whether no start offset is written, and an update will do."""
    return conjunction(s.start >= 0, s.one_start == -1, s.updates < s.due)


def _is_due(s: StateWrites) -> Term:
    """Whether both offsets are durable, and a snapshot is due."""
    due = s.start >= 0, s.one_start >= 0, s.updates >= s.due
    return conjunction(s.known, s.other_known, *due)


def _overlap(s: StateWrites) -> Term:
    """Whether neither batch names the second offset, which is durable."""
    beyond = s.one_last < s.other, s.two_last < s.other
    return conjunction(_is_started(s), s.other_known, *beyond)


def _are_apart(s: StateWrites) -> Term:
    """Whether the first batch names the first offset alone, and the second one the second."""
    first = s.one_first <= s.offset, s.offset <= s.one_last, s.one_last < s.other
    second = s.offset < s.two_first, s.two_first <= s.other, s.other <= s.two_last
    return conjunction(_is_started(s), *first, *second)


_WRITES = {
    "write one state batch": (1, _is_started),
    "write one state batch and keep the start offset": (1, _keeps_start),
    "write one state batch when a snapshot is due": (1, _is_due),
    "write two state batches that may overlap": (2, _overlap),
    "write two state batches apart": (2, _are_apart),
}
LAST_WINS = wrong(
    "spec.record:durable_maximum", "takes what comes last", becomes(lambda *of: of[:2])
)
LOSES = wrong("spec.coordinator:coalesce", "loses the first batch", returns(lambda each: each[1:]))
KEEPS = wrong(
    "spec.coordinator:initialize_durable",
    "keeps what is durable",
    lambda rule: lambda durable, *of: (rule(durable, *of)[0], durable),
)
TELLS = wrong(
    "spec.share_coordinator:read_state_summary",
    "answers state batches too",
    becomes(lambda held, request: Reply(held, ErrorCode.NONE, state=_whole(held, request))),
)


def _whole(before: ShareCoordinator, request: ReadStateSummary) -> Any:  # noqa: ANN401 - a state
    return single.durable_state(before.held[request.key].durable)


@_coordinator.theorem(
    27, 28, of=_WRITES, where=lambda s, _batches, given: given(s), control=LAST_WINS
)
def write_merges_its_batches(s: StateWrites, batches: int, _given: object) -> Term:
    """Of each offset the highest delivery count stays, then the highest state, from the start."""
    reply = _written(s, batches)
    after = reply.coordinator.held[KEY].durable
    return conjunction(
        reply.status is ErrorCode.NONE,
        _has_numbers(after, *_numbers(s)),
        *(
            is_same(after.entries.get(offset), _after(s, offset, known, batches))
            for offset, known in entries_of(s)
        ),
    )


@_coordinator.theorem(26, of=_WRITES, where=lambda s, _batches, given: given(s), control=LOSES)
def write_logs_its_batches(s: StateWrites, batches: int, _given: object) -> Term:
    """An update has of each offset what was written, a snapshot all that is durable."""
    reply = _written(s, batches)
    value: Any = reply.record.value if reply.record else None
    whole = bool(s.updates >= s.due)
    logged = value.state if whole else value
    return conjunction(
        isinstance(value, ShareSnapshot) == whole,
        _has_numbers(logged, *_numbers(s)),
        *(
            is_same(
                _reported(logged.state_batches, offset),
                _after(s, offset, known if whole else None, batches),
            )
            for offset, known in entries_of(s)
        ),
    )


@_coordinator.theorem(25, of="read by a new leader", control=LOSES)
def new_leader_reads_what_is_durable(s: StateWrites) -> Term:
    """A new leader reads what is durable of each offset, and that stays durable."""
    reply = coordinator.serve(_before(s), ReadState(KEY, s.leader_epoch + 1), 1)
    state, after = reply.state, reply.coordinator.held[KEY].durable
    if state is None:
        return False
    return conjunction(
        reply.status is ErrorCode.NONE,
        state.state_epoch == s.state_epoch,
        _has_numbers(state, s.start, s.complete),
        *(
            is_same(_reported(state.state_batches, offset), known)
            for offset, known in entries_of(s)
        ),
        *(is_same(after.entries.get(offset), known) for offset, known in entries_of(s)),
    )


@_coordinator.theorem(21, of="initialize in the next state epoch", control=KEEPS)
def altered_start_discards_all_batches(s: StateWrites) -> Term:
    """An altered start offset leaves nothing durable of records."""
    reply = coordinator.serve(_before(s), InitializeState(KEY, s.state_epoch + 1, s.one_start), 1)
    value: Any = reply.record.value if reply.record else None
    return not reply.coordinator.held[KEY].durable.entries and not value.state.state_batches


@_coordinator.theorem(50, of="read the summary", control=TELLS)
def summary_has_no_batches(s: StateWrites) -> Term:
    """A summary has no state batch, and changes nothing."""
    before = _before(s)
    reply = coordinator.serve(before, ReadStateSummary(KEY, s.leader_epoch), 1)
    empty = reply.state is not None and not reply.state.state_batches
    return empty and reply.coordinator is before


STATE_BATCH_THEOREMS = theorems_in(globals())
