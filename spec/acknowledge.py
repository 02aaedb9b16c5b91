"""Acknowledging records: batches are judged in order and applied all or none (KIP-932)."""

from collections.abc import Iterator
from itertools import pairwise

import attrs

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.guards import Guard
from model.operations import Acknowledge, AcknowledgementBatch
from model.outcome import Answer, Choice, Outcome
from model.states import AcknowledgeType
from spec import kafka
from spec.expire import granted_until
from spec.partition import SharePartition, Step, require
from spec.record import Record, acknowledge, can_renew, failed_state, is_held_by, renew
from spec.validation import validate
from spec.window import Window, replace
from spec.writes import write_and_wait

NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
INVALID_RECORD_STATE = ErrorCode.INVALID_RECORD_STATE


@attrs.define
class Judgement:
    """What may be answered to an acknowledgement, and what each answer does.

    ``renewed_until`` is when the locks end that it renews. ``answer`` is the policy's; ``allowed``
    are all that the rules allow. ``changed`` and ``renewed`` are the records if it is accepted.
    ``undelivered`` is the first offset past the window's end that a batch names: nobody has been
    given it. ``renewed_at_fault`` and ``renewed_at_gap`` are the renewals made before the first
    record that cannot be acknowledged, and before the first batch that names an offset which was
    never in flight: past the window's end if one does, as a gap inside it may be passed over
    (``kafka.kept_renewals``).
    """

    renewed_until: int
    answer: ErrorCode = NONE
    allowed: set[ErrorCode] = attrs.Factory(set)
    changed: dict[int, Record] = attrs.Factory(dict)
    renewed: dict[int, Record] = attrs.Factory(dict)
    renewed_at_fault: dict[int, Record] | None = None
    renewed_at_gap: dict[int, Record] | None = None
    undelivered: int | None = None


def acknowledge_records(
    partition: SharePartition, operation: Acknowledge, choice: Choice, answer: Answer, seq: int
) -> Step:
    """Acknowledge batches of records (KIP-932, ShareAcknowledge).

    Guard: each record is held by the member (``record.is_held_by``), and one that is renewed is not
    IN_PROGRESS (``record.can_renew``). Offsets below the start offset are passed over, whoever
    names them. Offsets that were never in flight are passed over, or the request is refused: that
    is the implementation's choice inside the window. Past its end nothing was delivered, and the
    request is refused. A request that is at fault whatever its records (``is_refusable``) may be.
    Effect: accepted, every record changes as ``record.acknowledge`` or ``record.renew`` says;
    refused, none does, except that under the profile kafka earlier renewals hold.
    Delivery count: unchanged.
    Persistence: one write with all changes; none if there are only renewals.
    """
    malformed = validate(operation, partition.profile)
    if malformed is not NONE:
        _check_answer(choice, {malformed})
        return Step(partition, Outcome(malformed))
    judgement = judge(partition, operation, granted_until(partition, choice))
    _check_delivered(choice, judgement)
    _check_answer(choice, judgement.allowed)
    status = judgement.answer if choice.refusal is None else choice.refusal
    if status is not NONE:
        at_fault = judgement.renewed_at_fault if status is INVALID_RECORD_STATE else None
        kept = kafka.kept_renewals(partition.profile, judgement.renewed_at_gap, at_fault)
        refused = attrs.evolve(partition, window=replace(partition.window, kept))
        return Step(refused, Outcome(status))
    partition = attrs.evolve(partition, window=replace(partition.window, judgement.renewed))
    if not judgement.changed:
        return Step(partition, Outcome())
    return write_and_wait(partition, judgement.changed, answer, seq)


def judge(partition: SharePartition, operation: Acknowledge, renewed_until: int = 0) -> Judgement:
    """Judge the batches in order; each meets what earlier batches changed (Kafka: acknowledge)."""
    judgement = Judgement(renewed_until)
    if is_refusable(operation, partition.config):
        judgement.allowed |= {INVALID_REQUEST, INVALID_RECORD_STATE}
    for batch in operation.batches:
        if not judge_batch(partition, operation.member, judgement, batch):
            return judgement
    if judgement.answer is NONE:
        judgement.allowed.add(NONE)
    return judgement


def is_refusable(operation: Acknowledge, config: SharePartitionConfig) -> bool:
    """Whether it may be refused as a request, whatever state its records are in.

    KIP-932: "the ranges must be non-overlapping", in ascending order. And it may name renewals
    that are not enabled. The KIPs name the error of neither.
    """
    batches = operation.batches
    overlap = any(later.first <= batch.last for batch, later in pairwise(batches))
    renews = any(AcknowledgeType.RENEW in batch.types for batch in batches)
    return overlap or (renews and not config.renew_acknowledge_enable)


def judge_batch(
    partition: SharePartition, member: str, judgement: Judgement, batch: AcknowledgementBatch
) -> bool:
    """Add a batch to the judgement of those before it; return False where it must be refused."""
    window = partition.window
    if batch.last < window.start_offset:
        return True
    if _untracked(window, batch) is not None:
        judgement.allowed |= {INVALID_REQUEST, INVALID_RECORD_STATE}
        is_beyond = batch.last >= window.end_offset and judgement.answer is NONE
        if is_beyond or judgement.renewed_at_gap is None:
            judgement.renewed_at_gap = dict(judgement.renewed)
        if is_beyond:
            judgement.undelivered = max(batch.first, window.end_offset)
            judgement.answer = INVALID_REQUEST
    if all(_apply(partition, member, judgement, *part) for part in _each(window, batch)):
        return True
    judgement.allowed.add(INVALID_RECORD_STATE)
    judgement.renewed_at_fault = dict(judgement.renewed)
    if judgement.answer is NONE:
        judgement.answer = INVALID_RECORD_STATE
    return False


def _apply(
    partition: SharePartition, member: str, judgement: Judgement, offset: int, kind: int
) -> bool:
    record = judgement.changed.get(offset) or judgement.renewed.get(offset)
    record = record or partition.window.records[offset]
    if not is_held_by(record, member):
        return False
    config = partition.config
    if kind != AcknowledgeType.RENEW:
        failed = failed_state(config.dead_letter_queue)
        judgement.changed[offset] = acknowledge(record, kind, config.delivery_count_limit, failed)
        return True
    if not (config.renew_acknowledge_enable and can_renew(record, member)):
        return False
    judgement.renewed[offset] = renew(record, judgement.renewed_until)
    return True


def _each(window: Window, batch: AcknowledgementBatch) -> Iterator[tuple[int, int]]:
    first, end = max(batch.first, window.start_offset), min(batch.last + 1, window.end_offset)
    one_for_all = len(batch.types) == 1
    for offset in range(first, end):
        if offset in window.records:
            yield offset, batch.types[0 if one_for_all else offset - batch.first]


def _untracked(window: Window, batch: AcknowledgementBatch) -> int | None:
    if batch.last >= window.end_offset:
        return batch.last
    first = max(batch.first, window.start_offset)
    return next((o for o in range(first, batch.last + 1) if o not in window.records), None)


def _check_delivered(choice: Choice, judgement: Judgement) -> None:
    beyond = judgement.undelivered is not None and judgement.renewed_at_fault is None
    detail = f"offset {judgement.undelivered} lies past the end of the window"
    accepted = choice.refusal is NONE
    require(not (beyond and accepted), Guard.ACKNOWLEDGED_WAS_DELIVERED, detail)


def _check_answer(choice: Choice, allowed: set[ErrorCode]) -> None:
    if choice.refusal is not None:
        names = ", ".join(sorted(code.name for code in allowed))
        detail = f"the answer {choice.refusal.name}, where the rules allow {names}"
        require(choice.refusal in allowed, Guard.ACKNOWLEDGEMENT_JUDGED, detail)
