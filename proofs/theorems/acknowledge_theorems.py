"""Theorems about acknowledgements that are refused (KIP-932, ShareAcknowledge)."""

from collections.abc import Iterator
from typing import Any

import attrs

from model.errors import ErrorCode
from model.guards import Guard
from model.operations import Acknowledge, AcknowledgementBatch, EntryPoint
from model.outcome import Choice
from model.profile import KAFKA, KIP, Profile
from model.states import AcknowledgeType
from proofs.theorems.acknowledge_cases import Part, may_acknowledge, one_span, request
from proofs.theorems.controls import becomes, called_with, leaves
from proofs.theorems.operation_cases import ANYBODY, Place, places
from proofs.theorems.operation_situation import (
    OneOperation,
    Refusal,
    attempted,
    is_possible,
    kept,
    names_no_others,
    partition_of,
    same_record,
    waits_for_its_write,
)
from proofs.theorems.points import Places
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Theorem, about, laws
from spec import acknowledge, validation
from spec import record as rules
from spec.logic import Term, negate
from spec.partition import SharePartition, Step

_law = laws("KIP-932, ShareAcknowledge")
ACCEPT, RENEW = AcknowledgeType.ACCEPT, AcknowledgeType.RENEW
NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
INVALID_RECORD_STATE = ErrorCode.INVALID_RECORD_STATE
KINDS = (ACCEPT, RENEW)


def _acknowledged(
    s: OneOperation, before: SharePartition, operation: Acknowledge, choice: Choice
) -> Step:
    answer = waits_for_its_write(s)
    return acknowledge.acknowledge_records(before, operation, choice, answer, s.seq)


def _part(kind: AcknowledgeType) -> Part:
    return Part(one_span, (kind, kind))


def _is_refusable(s: OneOperation, place: Place, kind: AcknowledgeType) -> Term:
    """Whether the batch names a record that the member may not acknowledge so."""
    named = _part(kind).names(s, place)
    return conjunction(named, negate(may_acknowledge(s, place.record, kind)))


def _has_fault(s: OneOperation, kind: AcknowledgeType) -> Term:
    first, second = (_is_refusable(s, place, kind) for place in places(s))
    return _either(first, second)


def _either(*conditions: Term) -> Term:
    return negate(conjunction(*(negate(condition) for condition in conditions)))


def _names_a_gap(s: OneOperation) -> Term:
    """Whether the batch names an offset from the start offset on where no record is."""
    inside = (
        conjunction(negate(p.tracked), s.start <= p.offset, s.first <= p.offset, p.offset <= s.last)
        for p in places(s)
    )
    return _either(s.last >= s.end, *inside)


def _policy(s: OneOperation, kind: AcknowledgeType) -> Term:
    """Whether the answer of this project is the one that the rules name first."""
    before = partition_of(s)
    step = _acknowledged(s, before, request(s, (_part(kind),)), Choice())
    if s.last >= s.end:
        return step.outcome.status is INVALID_REQUEST
    if _has_fault(s, kind):
        return step.outcome.status is INVALID_RECORD_STATE
    return step.outcome.status in {NONE, ErrorCode.PENDING}


def _refuses(s: OneOperation, kind: AcknowledgeType, profile: Profile) -> Term:
    """Whether a refusal leaves all as it was, but for earlier renewals where the profile says."""
    before = partition_of(s, profile)
    step = _acknowledged(s, before, request(s, (_part(kind),)), Choice())
    if step.outcome.status in {NONE, ErrorCode.PENDING}:
        return True
    survives = profile.renewal_survives_refusal and kind is RENEW
    fault = step.outcome.status is INVALID_RECORD_STATE
    place, other = places(s)
    first = _part(kind).names(s, place) and not _is_refusable(s, place, kind)
    renewed = survives and fault and first
    expected = rules.renew(s.record, s.now + s.lock) if renewed else s.record
    records = step.partition.window.records
    return conjunction(
        kept(before, step.partition, "window"),
        same_record(records.get(s.offset), expected if s.tracked else None),
        same_record(records.get(s.other), other.record if s.other_tracked else None),
        negate(s.elsewhere in records),
        step.partition.window.start_offset == s.start,
        step.partition.window.end_offset == s.end,
        not step.outcome.writes,
    )


def _may_be_refused(s: OneOperation, kind: AcknowledgeType, status: ErrorCode) -> Term:
    """Whether the answer is allowed exactly if something that the batch names deserves it."""
    before = partition_of(s)
    step = attempted(
        lambda: _acknowledged(s, before, request(s, (_part(kind),)), Choice(refusal=status))
    )
    fault = _has_fault(s, kind) if status is INVALID_RECORD_STATE else False
    disabled = negate(before.config.renew_acknowledge_enable) if kind is RENEW else False
    deserved = _either(_names_a_gap(s), fault, disabled)
    if isinstance(step, Refusal):
        return conjunction(negate(deserved), step.guard is Guard.ACKNOWLEDGEMENT_JUDGED)
    return conjunction(deserved, step.outcome.status is status)


def _malformed_batch(s: OneOperation) -> tuple[AcknowledgementBatch, Term]:
    """Return a batch of any two offsets, also negative ones, and whether it is well formed."""
    first, last = s.first - s.second, s.last - s.second
    types = Places(s.seq, ((s.offset - first, ACCEPT),), ACCEPT)
    width = last - first + 1
    right = conjunction(first >= 0, first <= last, (s.seq == 1) | (s.seq == width))
    return AcknowledgementBatch(first, last, types), right  # type: ignore[arg-type] # as a tuple


def _validates(s: OneOperation) -> Term:
    batch, right = _malformed_batch(s)
    answer = validation.validate(Acknowledge(s.member, (batch,)), KIP)
    return right if answer is NONE else conjunction(answer is INVALID_REQUEST, negate(right))


def _knows_the_types(_s: OneOperation) -> Term:
    """Whether each acknowledge type is known, and no other number."""
    known = tuple(AcknowledgeType)
    answers = {
        kind: validation.validate(
            Acknowledge("member", (AcknowledgementBatch(0, 0, (kind,)),)), KIP
        )
        for kind in range(min(known) - 1, max(known) + 2)
    }
    return all((answers[kind] is NONE) == (kind in known) for kind in answers)


def _orders(s: OneOperation, profile: Profile, entry: EntryPoint) -> Term:
    """Whether batches of a request must come after each other, and others need not."""
    batches = (
        AcknowledgementBatch(s.first, s.last, (ACCEPT,)),
        AcknowledgementBatch(s.second, s.second_last, (ACCEPT,)),
    )
    answer = validation.validate(Acknowledge(s.member, batches, entry), profile)
    if entry is EntryPoint.SHARE_PARTITION:
        return answer is NONE
    after = s.second >= s.last if profile.batches_may_share_an_offset else s.second > s.last
    return after if answer is NONE else negate(after)


def _malformed_changes_nothing(s: OneOperation) -> Term:
    batch, _right = _malformed_batch(s)
    before = partition_of(s)
    for choice in (Choice(), Choice(refusal=INVALID_REQUEST)):
        step = _acknowledged(s, before, Acknowledge(s.member, (batch,)), choice)
        if step.outcome.status is not INVALID_REQUEST or step.partition is not before:
            return False
    others = (NONE, INVALID_RECORD_STATE)
    judged = Refusal(Guard.ACKNOWLEDGEMENT_JUDGED)
    operation = Acknowledge(s.member, (batch,))
    return all(
        attempted(lambda: _acknowledged(s, before, operation, Choice(refusal=status))) == judged  # noqa: B023 - called at once
        for status in others
    )


def _is_malformed(s: OneOperation) -> Term:
    return conjunction(is_possible(s), negate(_malformed_batch(s)[1]))


POLICY = _law(
    "answer_of_this_project",
    "This project refuses offsets beyond the window first, then records that may not change.",
)
REFUSED = _law(
    "refusal_changes_nothing",
    "A request that is refused changes no record, but for earlier renewals under kafka.",
    11,
    33,
)
DESERVED = _law(
    "refusal_is_deserved",
    "A request may be refused exactly if it names a record that may not change, or none, "
    "or renewals that are not enabled.",
)
WELL_FORMED = _law(
    "request_is_well_formed",
    "A batch is a range of offsets, with one type for all or one for each.",
)
TYPES = _law("types_are_known", "There are five acknowledge types.")
ASCENDING = _law(
    "batches_ascend", "Batches of a request ascend; under kafka two may share an offset."
)
MALFORMED = _law(
    "malformed_changes_nothing", "A malformed request is INVALID_REQUEST, and no more."
)
LENIENT = Control(
    "validate finds nothing wrong", "spec.validation:validate", becomes(lambda *_of: NONE)
)
NEVER_ALLOWED = Control(
    "_check_answer allows everything", "spec.acknowledge:_check_answer", becomes(lambda *_of: None)
)


def _forgetful(state: SharePartition, *_rest: Any) -> SharePartition:  # noqa: ANN401 - any argument
    return attrs.evolve(state, next_write=state.next_write + 1)


def _refusals() -> Iterator[Theorem]:
    for kind in KINDS:
        name = f"acknowledge by {kind.name}"
        yield _theorem(POLICY, name, about(_policy, kind), ANYBODY)
        for status in (INVALID_REQUEST, INVALID_RECORD_STATE):
            claim = about(_may_be_refused, kind, status)
            yield _theorem(DESERVED, f"{name}, {status.name}", claim, NEVER_ALLOWED)
        for profile in (KIP, KAFKA):
            yield _theorem(
                REFUSED,
                f"{name} ({profile.name})",
                about(_refuses, kind, profile),
                Control(
                    "acknowledge_records counts a write that it does not make",
                    "spec.acknowledge:acknowledge_records",
                    leaves(_forgetful),
                ),
            )


def _theorem(stated: Any, name: str, claim: Any, control: Control) -> Theorem:  # noqa: ANN401 - a property, a claim
    return Theorem(
        stated, name, OneOperation, is_possible, claim, control, runnable=names_no_others
    )


def _validations() -> Iterator[Theorem]:
    yield Theorem(WELL_FORMED, "validate", OneOperation, is_possible, _validates, LENIENT)
    yield Theorem(TYPES, "validate", OneOperation, is_possible, _knows_the_types, LENIENT)
    for profile in (KIP, KAFKA):
        yield Theorem(
            ASCENDING,
            f"validate a request ({profile.name})",
            OneOperation,
            is_possible,
            about(_orders, profile, EntryPoint.REQUEST),
            LENIENT,
        )
    yield Theorem(
        ASCENDING,
        "validate within the broker",
        OneOperation,
        is_possible,
        about(_orders, KIP, EntryPoint.SHARE_PARTITION),
        Control(
            "validate takes everything for a request",
            "spec.validation:validate",
            called_with(
                lambda operation, profile: (
                    attrs.evolve(operation, entry=EntryPoint.REQUEST),
                    profile,
                )
            ),
        ),
    )
    yield Theorem(
        MALFORMED,
        "acknowledge",
        OneOperation,
        _is_malformed,
        _malformed_changes_nothing,
        LENIENT,
    )


ACKNOWLEDGE_THEOREMS = (*_refusals(), *_validations())
