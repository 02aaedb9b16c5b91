"""Acknowledge and release: records of a member end their acquisition."""

from typing import NamedTuple

from impl.jit import compiled, entry_point
from impl.layout import (
    ACCEPT,
    ACKNOWLEDGED,
    ARCHIVED,
    AVAILABLE,
    DEADLINE,
    END,
    FINE,
    FIRST,
    GIVEN_UP,
    GRACE,
    HEAD,
    IN_PROGRESS,
    LAST,
    LAST_PROGRESS,
    LOCK_DURATION,
    LOWEST,
    MAX,
    NEXT_DEADLINE,
    NOW,
    NOWHERE,
    OWNER,
    REJECT,
    RELEASE,
    RENEW,
    RENEWAL,
    RENEWAL_SURVIVES,
    S_INVALID_RECORD_STATE,
    S_INVALID_REQUEST,
    S_NONE,
    SHARED_OFFSET,
    STALENESS,
    START,
    STATE,
    STATUS,
    TAIL,
    UNSET,
    WHERE,
    WRITE,
    verdict,
)
from impl.rows import Ints
from impl.runs import cut, is_held, join, seek
from impl.state import State
from impl.window import finish, later
from impl.writes import UNDO, Change, begin_change, send, settle, transition
from model.guards import Guard

__all__ = ["Acknowledgement", "acknowledge", "release"]

_JUDGED = verdict(Guard.ACKNOWLEDGEMENT_JUDGED)


class Acknowledgement(NamedTuple):
    """What a member sent.

    ``batches``: (first, last, from, to) each, the latter two delimiting its ``types``.
    ``is_request``: whether it comes from a request, which is validated more strictly.
    """

    member: int
    is_request: int
    batches: Ints
    types: Ints


class _Judgement(NamedTuple):
    """What the batches are found to be, and what was changed in finding out.

    ``unknown``: the first batch that touches offsets never in flight; ``failed``: the first batch
    with a record that cannot be acknowledged, and ``failed_at`` its offset. The number of batches
    where there is none. ``policy`` is the answer of this project. Changed runs lie in
    [first, last], which is empty if there are none.
    """

    unknown: int
    failed: int
    failed_at: int
    policy: int
    first: int
    last: int


@compiled
def _is_malformed(sent: Acknowledgement, shared_offset: int) -> bool:
    """Tell whether the shape alone refuses it (Kafka: validateAcknowledgementBatches)."""
    batches = sent.batches
    for i in range(batches.shape[0]):
        first, last = batches[i, 0], batches[i, 1]
        types = batches[i, 3] - batches[i, 2]
        if first < 0 or first > last:
            return True
        if types != 1 and types - 1 != last - first:
            return True
        if sent.is_request and i > 0 and first <= batches[i - 1, 1] - shared_offset:
            return True
        for j in range(batches[i, 2], batches[i, 3]):
            if sent.types[j] < 0 or sent.types[j] > RENEW:
                return True
    return False


@compiled
def _type_from(sent: Acknowledgement, batch: int, offset: int, last: int) -> tuple[int, int]:
    """Return the type at ``offset``, and the last offset until ``last`` up to which it is so."""
    begin = sent.batches[batch, 2]
    if sent.batches[batch, 3] - begin == 1:
        return sent.types[begin], last
    begin -= sent.batches[batch, 0]
    kind = sent.types[begin + offset]
    while offset < last and sent.types[begin + offset + 1] == kind:
        offset += 1
    return kind, offset


@compiled
def _touches_unknown(state: State, first: int, last: int) -> bool:
    """Tell whether the range has offsets that were never in flight."""
    h, runs = state.header, state.runs
    i, at = seek(h, runs, first), first
    while at <= last:
        if i == h[TAIL] or runs[i, FIRST] > at:
            return True
        at = runs[i, LAST] + 1
        i += 1
    return False


@compiled
def _state_after(header: Ints, kind: int) -> int:
    """Return what a type makes of a record: one that is rejected may go to a dead-letter queue."""
    if kind == ACCEPT:
        return ACKNOWLEDGED
    if kind == REJECT:
        given_up: int = header[GIVEN_UP]
        return given_up
    return AVAILABLE if kind == RELEASE else ARCHIVED


@compiled
def _apply_type(state: State, member: int, kind: int, part: Change) -> int:
    """Apply an acknowledge type to a range; return the first offset where it fails, or -1.

    What a RENEW does is left for ``_renew``; here it is only judged. It is not for a record that
    is IN_PROGRESS, whose lock marks extend.
    """
    h, runs = state.header, state.runs
    cut(h, runs, part.last + 1)
    i = cut(h, runs, part.first)
    while i < h[TAIL] and runs[i, FIRST] <= part.last:
        refused = kind == RENEW and (not h[RENEWAL] or runs[i, STATE] == IN_PROGRESS)
        if not is_held(runs, i) or runs[i, OWNER] != member or refused:
            at: int = runs[i, FIRST]
            return at
        if kind != RENEW:
            transition(h, runs, i, _state_after(h, kind), part.serial)
        i += 1
    return NOWHERE


@compiled
def _apply_batch(state: State, sent: Acknowledgement, batch: int, part: Change) -> int:
    """Apply a batch, of which ``part`` is in the window; return where it fails, or -1."""
    at = part.first
    while at <= part.last:
        kind, last = _type_from(sent, batch, at, part.last)
        failed_at = _apply_type(state, sent.member, kind, Change(part.serial, at, last))
        if failed_at != NOWHERE:
            return failed_at
        at = last + 1
    return NOWHERE


@compiled
def _judge(state: State, sent: Acknowledgement, serial: int) -> _Judgement:
    """Judge the batches in order, so that a later one sees what an earlier one did.

    Offsets below the start offset do not count, whoever names them.
    """
    h = state.header
    number = sent.batches.shape[0]
    unknown, policy, low, high = number, S_NONE, MAX, -1
    for i in range(number):
        first, last = max(sent.batches[i, 0], h[START]), sent.batches[i, 1]
        if last >= h[END]:
            policy = S_INVALID_REQUEST
        if unknown == number and _touches_unknown(state, first, last):
            unknown = i
        last = min(last, h[END] - 1)
        low, high = min(low, first), max(high, last)
        failed_at = _apply_batch(state, sent, i, Change(serial, first, last))
        if failed_at != NOWHERE:
            policy = S_INVALID_RECORD_STATE if policy == S_NONE else policy
            return _Judgement(unknown, i, failed_at, policy, low, high)
    return _Judgement(unknown, number, NOWHERE, policy, low, high)


@compiled
def _is_allowed(found: _Judgement, batches: int, status: int) -> bool:
    if status == S_NONE:
        return found.failed == batches
    touched = found.unknown < batches
    if status == S_INVALID_REQUEST:
        return touched
    return status == S_INVALID_RECORD_STATE and (touched or found.failed < batches)


@compiled
def _renew(state: State, sent: Acknowledgement, batches: int, below: int) -> None:
    """Renew the locks which the first ``batches`` ask for, and the next one does ``below``.

    A record which the same request went on to acknowledge gets the new deadline too, for the case
    that its write fails (KIP-1222).
    """
    h, runs = state.header, state.runs
    deadline = later(h[NOW], h[LOCK_DURATION])
    for batch in range(min(batches + 1, sent.batches.shape[0])):
        at, end = sent.batches[batch, 0], min(sent.batches[batch, 1], h[END] - 1)
        if batch == batches:
            end = min(end, below - 1)
        while at <= end:
            kind, last = _type_from(sent, batch, at, end)
            if kind == RENEW:
                cut(h, runs, last + 1)
                i = cut(h, runs, at)
                while i < h[TAIL] and runs[i, FIRST] <= last:
                    runs[i, DEADLINE] = deadline
                    i += 1
                join(h, runs, at, last)
                h[NEXT_DEADLINE] = min(h[NEXT_DEADLINE], deadline)
            at = last + 1


@compiled
def _refuse(state: State, sent: Acknowledgement, found: _Judgement, status: int) -> None:
    """Take back what judging changed; renewals before the point of failure may survive."""
    h = state.header
    h[STATUS] = status
    if not h[RENEWAL_SURVIVES]:
        return
    if status == S_INVALID_RECORD_STATE and found.failed < sent.batches.shape[0]:
        _renew(state, sent, found.failed, found.failed_at)
    else:
        _renew(state, sent, found.unknown, LOWEST)


@entry_point
def acknowledge(
    state: State, sent: Acknowledgement, refusal: int, answers: Ints, start: int
) -> int:
    """Acknowledge all of the batches or none (KIP-932, ShareAcknowledge; Kafka: acknowledge).

    ``refusal``: the chosen answer or UNSET. ``answers``: (id or -1, status) of its write.
    ``start``: the start offset chosen after it. Returns a verdict.
    """
    h = state.header
    if _is_malformed(sent, h[SHARED_OFFSET]):
        h[STATUS] = S_INVALID_REQUEST
        return _JUDGED if refusal not in (UNSET, S_INVALID_REQUEST) else finish(state, start)
    serial = begin_change(h)
    found = _judge(state, sent, serial)
    status = found.policy if refusal == UNSET else refusal
    number = sent.batches.shape[0]
    if not _is_allowed(found, number, status):
        h[WHERE] = found.failed_at
        return _JUDGED
    change = Change(serial, found.first, found.last)
    if status != S_NONE:
        settle(h, state.runs, change, UNDO)
        _refuse(state, sent, found, status)
        return finish(state, start)
    _renew(state, sent, number, LOWEST)
    result = _send_if_changed(state, change, answers)
    return result if result != FINE else finish(state, start)


@compiled
def _send_if_changed(state: State, change: Change, answers: Ints) -> int:
    h, runs = state.header, state.runs
    h[STATUS] = S_NONE
    i = seek(h, runs, change.first)
    while i < h[TAIL] and runs[i, FIRST] <= change.last:
        if runs[i, WRITE] == change.serial:
            return send(state, change, answers)
        i += 1
    return FINE


@entry_point
def release(state: State, member: int, answers: Ints, start: int) -> int:
    """Release what a member holds, as when it leaves (Kafka: releaseAcquiredRecords).

    What it marked lately as in progress it keeps for a grace period, in which it may come back.
    Arguments and result are those of ``acknowledge``.
    """
    h, runs = state.header, state.runs
    serial = begin_change(h)
    for i in range(h[HEAD], h[TAIL]):
        if runs[i, OWNER] != member or not is_held(runs, i):
            continue
        if _is_fresh(h, runs, i):
            runs[i, DEADLINE] = min(runs[i, DEADLINE], later(h[NOW], h[GRACE]))
            h[NEXT_DEADLINE] = min(h[NEXT_DEADLINE], runs[i, DEADLINE])
        else:
            transition(h, runs, i, AVAILABLE, serial)
    change = Change(serial, LOWEST, h[END])
    join(h, runs, change.first, change.last)
    result = _send_if_changed(state, change, answers)
    return result if result != FINE else finish(state, start)


@compiled
def _is_fresh(header: Ints, runs: Ints, index: int) -> bool:
    """Tell whether a held run was marked less than the staleness threshold ago."""
    if runs[index, STATE] != IN_PROGRESS:
        return False
    return bool(header[NOW] - runs[index, LAST_PROGRESS] < header[STALENESS])
