"""Acknowledge and release: records of a member end their acquisition."""

from typing import NamedTuple

from impl import layout as at
from impl.jit import compiled, entry_point
from impl.locks import check_claim, lock_end
from impl.rows import Ints
from impl.runs import cut_out, is_held, join, seek
from impl.state import State
from impl.window import finish, later
from impl.writes import UNDO, Reported, begin_change, send, settle, transition
from model.guards import Guard

_JUDGED = at.verdict(Guard.ACKNOWLEDGEMENT_JUDGED)
_WAS_DELIVERED = at.verdict(Guard.ACKNOWLEDGED_WAS_DELIVERED)


class AcknowledgedRuns(NamedTuple):
    """What a member sent.

    ``batches``: (first, last, from, to) each, the latter two delimiting its ``types``.
    ``is_request``: whether it comes from a request, which is validated more strictly.
    """

    member: int
    is_request: int
    batches: Ints
    types: Ints


class _Judgement(NamedTuple):
    """The verdict on the batches, and the runs that judging them changed.

    ``unknown``: the first batch that reaches past the window's end, or if none does the first that
    touches offsets never in flight; ``failed``: the first batch with a record that cannot be
    acknowledged, and ``failed_at`` its offset. The number of batches where there is none.
    ``policy`` is the answer where none was chosen. The changed runs lie in [first, last], which is
    empty if none changed.
    """

    unknown: int
    failed: int
    failed_at: int
    policy: int
    first: int
    last: int


@compiled
def _is_malformed(sent: AcknowledgedRuns, shared_offset: int) -> bool:
    """Tell whether it is malformed in any state (Kafka: validateAcknowledgementBatches)."""
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
            if sent.types[j] < 0 or sent.types[j] > at.RENEW:
                return True
    return False


@compiled
def _type_from(sent: AcknowledgedRuns, batch: int, offset: int, last: int) -> tuple[int, int]:
    """Return the type at ``offset``, and the last offset until ``last`` that shares it."""
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
    i, offset = seek(h, runs, first), first
    while offset <= last:
        if i == h[at.TAIL] or runs[i, at.FIRST] > offset:
            return True
        offset = runs[i, at.LAST] + 1
        i += 1
    return False


@compiled
def _state_after(header: Ints, kind: int) -> int:
    """Return the state that a type leads to: a rejected record may go to a dead-letter queue."""
    if kind == at.ACCEPT:
        return at.ACKNOWLEDGED
    if kind == at.REJECT:
        given_up: int = header[at.GIVEN_UP]
        return given_up
    return at.AVAILABLE if kind == at.RELEASE else at.ARCHIVED


@compiled
def _apply_type(state: State, member: int, kind: int, part: Reported) -> int:
    """Apply an acknowledge type to a range; return the first offset where it fails, or -1.

    A RENEW is only judged here; ``_renew`` applies it. It fails on a record that is IN_PROGRESS,
    whose lock marks extend.
    """
    h, runs = state.header, state.runs
    i = cut_out(h, runs, part.first, part.last)
    while i < h[at.TAIL] and runs[i, at.FIRST] <= part.last:
        refused = kind == at.RENEW and (not h[at.RENEWAL] or runs[i, at.STATE] == at.IN_PROGRESS)
        if not is_held(runs, i) or runs[i, at.OWNER] != member or refused:
            offset: int = runs[i, at.FIRST]
            return offset
        if kind != at.RENEW:
            transition(h, runs, i, _state_after(h, kind), part.serial)
        i += 1
    return at.NOWHERE


@compiled
def _apply_batch(state: State, sent: AcknowledgedRuns, batch: int, part: Reported) -> int:
    """Apply a batch, of which ``part`` is in the window; return where it fails, or -1."""
    offset = part.first
    while offset <= part.last:
        kind, last = _type_from(sent, batch, offset, part.last)
        failed_at = _apply_type(state, sent.member, kind, Reported(part.serial, offset, last))
        if failed_at != at.NOWHERE:
            return failed_at
        offset = last + 1
    return at.NOWHERE


@compiled
def _judge(state: State, sent: AcknowledgedRuns, serial: int) -> _Judgement:
    """Judge the batches in order: a later one sees the changes of an earlier one.

    Offsets below the start offset are ignored.
    """
    h = state.header
    number = sent.batches.shape[0]
    unknown, policy, low, high = number, at.S_NONE, at.MAX, -1
    for i in range(number):
        first, last = max(sent.batches[i, 0], h[at.START]), sent.batches[i, 1]
        if last >= h[at.END] and policy == at.S_NONE:
            policy, unknown = at.S_INVALID_REQUEST, i
        elif unknown == number and _touches_unknown(state, first, last):
            unknown = i
        last = min(last, h[at.END] - 1)
        low, high = min(low, first), max(high, last)
        failed_at = _apply_batch(state, sent, i, Reported(serial, first, last))
        if failed_at != at.NOWHERE:
            policy = at.S_INVALID_RECORD_STATE if policy == at.S_NONE else policy
            return _Judgement(unknown, i, failed_at, policy, low, high)
    return _Judgement(unknown, number, at.NOWHERE, policy, low, high)


@compiled
def _touches_undelivered(header: Ints, sent: AcknowledgedRuns) -> bool:
    """Tell whether a batch reaches the end offset: nothing from there on was ever delivered."""
    for i in range(sent.batches.shape[0]):
        if sent.batches[i, 1] >= header[at.END]:
            header[at.WHERE] = max(sent.batches[i, 0], header[at.END])
            return True
    return False


@compiled
def _may_be_rejected(header: Ints, sent: AcknowledgedRuns, status: int) -> bool:
    """Tell whether the request itself, whatever its records, is at fault in either of two ways.

    KIP-932 wants ranges that ascend and do not overlap, and renewals can be switched off: which
    error that is no KIP says.
    """
    if status not in (at.S_INVALID_REQUEST, at.S_INVALID_RECORD_STATE):
        return False
    for i in range(sent.batches.shape[0]):
        if i > 0 and sent.batches[i, 0] <= sent.batches[i - 1, 1]:
            return True
        for j in range(sent.batches[i, 2], sent.batches[i, 3]):
            if sent.types[j] == at.RENEW and not header[at.RENEWAL]:
                return True
    return False


@compiled
def _is_allowed(judgement: _Judgement, batches: int, status: int) -> bool:
    if status == at.S_NONE:
        return judgement.failed == batches
    touched = judgement.unknown < batches
    if status == at.S_INVALID_REQUEST:
        return touched
    return status == at.S_INVALID_RECORD_STATE and (touched or judgement.failed < batches)


@compiled
def _renew(state: State, sent: AcknowledgedRuns, batches: int, below: int) -> None:
    """Renew the locks of the first ``batches``, and of the next one those ``below`` an offset.

    A record that the same request acknowledges afterwards gets the new deadline too, in case its
    write fails (KIP-1222).
    """
    h, runs = state.header, state.runs
    deadline = lock_end(h)
    for batch in range(min(batches + 1, sent.batches.shape[0])):
        offset, end = sent.batches[batch, 0], min(sent.batches[batch, 1], h[at.END] - 1)
        if batch == batches:
            end = min(end, below - 1)
        while offset <= end:
            kind, last = _type_from(sent, batch, offset, end)
            if kind == at.RENEW:
                i = cut_out(h, runs, offset, last)
                while i < h[at.TAIL] and runs[i, at.FIRST] <= last:
                    runs[i, at.DEADLINE] = deadline
                    i += 1
                join(h, runs, offset, last)
                h[at.NEXT_DEADLINE] = min(h[at.NEXT_DEADLINE], deadline)
            offset = last + 1


@compiled
def _refuse(state: State, sent: AcknowledgedRuns, judgement: _Judgement, status: int) -> None:
    """Undo the changes of judging; renewals before the point of failure may survive."""
    h = state.header
    h[at.STATUS] = status
    if not h[at.RENEWAL_SURVIVES]:
        return
    if status == at.S_INVALID_RECORD_STATE and judgement.failed < sent.batches.shape[0]:
        _renew(state, sent, judgement.failed, judgement.failed_at)
    elif judgement.unknown < sent.batches.shape[0]:
        _renew(state, sent, judgement.unknown, at.LOWEST)


@entry_point
def acknowledge(
    state: State, sent: AcknowledgedRuns, refusal: int, answers: Ints, start: int
) -> int:
    """Acknowledge all of the batches or none (KIP-932, ShareAcknowledge; Kafka: acknowledge).

    ``refusal``: the chosen answer or UNSET. ``answers``: (id or -1, status) of its write.
    ``start``: the start offset chosen after it. Returns a verdict.
    """
    h = state.header
    if _is_malformed(sent, h[at.SHARED_OFFSET]):
        h[at.STATUS] = at.S_INVALID_REQUEST
        return _JUDGED if refusal not in (at.UNSET, at.S_INVALID_REQUEST) else finish(state, start)
    result = check_claim(h)
    if result != at.FINE:
        return result
    serial = begin_change(h)
    judgement = _judge(state, sent, serial)
    status = judgement.policy if refusal == at.UNSET else refusal
    number = sent.batches.shape[0]
    if not (_is_allowed(judgement, number, status) or _may_be_rejected(h, sent, status)):
        h[at.WHERE] = judgement.failed_at
        return _JUDGED
    if status == at.S_NONE and _touches_undelivered(h, sent):
        return _WAS_DELIVERED
    change = Reported(serial, judgement.first, judgement.last)
    if status != at.S_NONE:
        settle(h, state.runs, change, UNDO)
        _refuse(state, sent, judgement, status)
        return finish(state, start)
    _renew(state, sent, number, at.LOWEST)
    result = _send_if_changed(state, change, answers)
    return result if result != at.FINE else finish(state, start)


@compiled
def _send_if_changed(state: State, change: Reported, answers: Ints) -> int:
    h, runs = state.header, state.runs
    h[at.STATUS] = at.S_NONE
    i = seek(h, runs, change.first)
    while i < h[at.TAIL] and runs[i, at.FIRST] <= change.last:
        if runs[i, at.WRITE] == change.serial:
            return send(state, change, answers)
        i += 1
    return at.FINE


@entry_point
def release(state: State, member: int, answers: Ints, written: int, start: int) -> int:
    """Release the records of a member that leaves (Kafka: releaseAcquiredRecords).

    It keeps those that it marked recently as in progress for a grace period, to come back in. What
    the start offset has passed is not in the window; with ``written`` a leader writes it all the
    same, where the profile allows that. Other arguments and result are those of ``acknowledge``.
    """
    h, runs = state.header, state.runs
    serial = begin_change(h)
    for i in range(h[at.HEAD], h[at.TAIL]):
        if runs[i, at.OWNER] != member or not is_held(runs, i):
            continue
        if _is_fresh(h, runs, i):
            runs[i, at.DEADLINE] = min(runs[i, at.DEADLINE], later(h[at.NOW], h[at.GRACE]))
            h[at.NEXT_DEADLINE] = min(h[at.NEXT_DEADLINE], runs[i, at.DEADLINE])
        else:
            transition(h, runs, i, at.AVAILABLE, serial)
    change = Reported(serial, at.LOWEST, h[at.END])
    join(h, runs, change.first, change.last)
    result = _send_if_changed(state, change, answers)
    if written and h[at.PASSED_RELEASED] and h[at.WRITES_TAIL] == 0:
        result = send(state, change, answers)
    return result if result != at.FINE else finish(state, start)


@compiled
def _is_fresh(header: Ints, runs: Ints, index: int) -> bool:
    """Tell whether a held run was marked less than the staleness threshold ago."""
    if runs[index, at.STATE] != at.IN_PROGRESS:
        return False
    return bool(header[at.NOW] - runs[index, at.LAST_PROGRESS] < header[at.STALENESS])
