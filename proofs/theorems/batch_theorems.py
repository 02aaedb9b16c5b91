"""Theorems about an acknowledgement of any number of batches, by induction over their list.

The step: one batch after any others, of which only their judgement is known. The fold: batches are
judged in order until one must be refused. The end: what becomes of any judgement.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any
from unittest.mock import patch

import attrs

from model.errors import ErrorCode
from model.operations import Acknowledge, AcknowledgementBatch
from model.outcome import Choice
from model.profile import KAFKA, KIP, Profile
from model.states import AcknowledgeType, RecordState
from proofs.theorems.acknowledge_cases import Part, may_acknowledge, one_span
from proofs.theorems.controls import becomes, called_with, leaves
from proofs.theorems.operation_cases import ANYBODY, Place, failed_state, places
from proofs.theorems.operation_situation import (
    OneOperation,
    completes,
    is_possible,
    is_whole,
    kept,
    names_no_others,
    others_wait,
    partition_of,
    reports,
    same_record,
    waits_for_its_write,
)
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Property, Theorem, about, laws
from spec import acknowledge
from spec import record as rules
from spec.acknowledge import Judgement
from spec.logic import Term, negate
from spec.record import Record

_law = laws("KIP-932, ShareAcknowledge")
NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
INVALID_RECORD_STATE = ErrorCode.INVALID_RECORD_STATE
Claim = Callable[[OneOperation], Term]


@attrs.frozen
class Before:
    """What is known of the batches before: whether one named what was never in flight.

    ``beyond``: past the end of the window.
    """

    name: str
    gap: bool = False
    beyond: bool = False

    def judgement(self, s: OneOperation) -> Judgement:
        """Return a judgement of batches that changed or renewed the first record, or neither."""
        judgement = Judgement(s.now + s.lock, INVALID_REQUEST if self.beyond else NONE)
        if s.awaited:
            judgement.changed[s.offset] = earlier(s)
        if s.other_awaited:
            judgement.renewed[s.offset] = _renewed_earlier(s)
        if self.gap:
            judgement.renewed_at_gap = {}
            judgement.allowed |= {INVALID_REQUEST, INVALID_RECORD_STATE}
        judgement.undelivered = s.end if self.beyond else None
        return judgement


EARLIER = (
    Before("after others"),
    Before("after a gap", gap=True),
    Before("after what was never delivered", gap=True, beyond=True),
)


def earlier(s: OneOperation) -> Record:
    """Return the first record as batches before have changed it: the second record will do."""
    return s.other_record


def _renewed_earlier(s: OneOperation) -> Record:
    return attrs.evolve(s.other_record, deadline=s.seq)


def _now(s: OneOperation, place: Place) -> Record:
    """Return the record as the batches before leave it."""
    if place.index == 0 and s.awaited:
        return earlier(s)
    return _renewed_earlier(s) if place.index == 0 and s.other_awaited else place.record


def _judged(s: OneOperation, before: Before, kind: AcknowledgeType) -> tuple[Judgement, bool]:
    judgement, batch = before.judgement(s), Part(one_span, (kind, kind)).batch(s)
    return judgement, acknowledge.judge_batch(partition_of(s), s.member, judgement, batch)


def _expected(
    s: OneOperation, before: Before, kind: AcknowledgeType
) -> tuple[dict[Term, Record], dict[Term, Record], bool]:
    """Return what is changed and what is renewed after the batch, and whether it is refused."""
    start = before.judgement(s)
    changed, renewed = start.changed, start.renewed
    for place in places(s):
        if not conjunction(place.tracked, s.first <= place.offset, place.offset <= s.last):
            continue
        record = _now(s, place)
        if not may_acknowledge(s, record, kind):
            return changed, renewed, True
        if kind is AcknowledgeType.RENEW:
            renewed[place.offset] = rules.renew(record, s.now + s.lock)
        else:
            changed[place.offset] = rules.acknowledge(record, kind, s.limit, failed_state(s))
    return changed, renewed, False


def _adds_the_batch(s: OneOperation, before: Before, kind: AcknowledgeType) -> Term:
    """Whether the batch changes or renews each record that it names, as it was left before."""
    judgement, goes_on = _judged(s, before, kind)
    changed, renewed, refused = _expected(s, before, kind)
    at_fault = judgement.renewed_at_fault
    return conjunction(
        goes_on is not refused,
        _are_equal(judgement.changed, changed),
        _are_equal(judgement.renewed, renewed),
        _are_equal(at_fault or {}, renewed) if refused else at_fault is None,
    )


def _are_equal(some: dict[Term, Record], others: dict[Term, Record]) -> Term:
    if some.keys() != others.keys():
        return False
    return conjunction(*(same_record(some[offset], others[offset]) for offset in some))


def _answers_the_batch(s: OneOperation, before: Before, kind: AcknowledgeType) -> Term:
    """Whether the answers allowed, and this project's, are those of the first that is wrong."""
    judgement, goes_on = _judged(s, before, kind)
    named = s.last >= s.start
    inside = (
        conjunction(negate(p.tracked), s.start <= p.offset, s.first <= p.offset, p.offset <= s.last)
        for p in places(s)
    )
    gap = any([named and s.last >= s.end, *inside])
    beyond = bool(named) and bool(s.last >= s.end)
    allowed = {INVALID_REQUEST, INVALID_RECORD_STATE} if gap or before.gap else set[ErrorCode]()
    refused = INVALID_REQUEST if beyond or before.beyond else INVALID_RECORD_STATE
    answer = refused if beyond or before.beyond or not goes_on else NONE
    first = max(s.first, s.end)
    undelivered = s.end if before.beyond else first
    known = judgement.undelivered
    return conjunction(
        judgement.allowed == (allowed if goes_on else allowed | {INVALID_RECORD_STATE}),
        judgement.answer is answer,
        known == undelivered if beyond or before.beyond else known is None,
        _notes_the_gap(s, before, judgement, gap=gap),
    )


def _notes_the_gap(s: OneOperation, before: Before, judgement: Judgement, *, gap: bool) -> Term:
    """Whether the renewals before the first gap are known, and no others."""
    noted = judgement.renewed_at_gap
    if before.gap or not gap:
        return (noted == {}) if before.gap else (noted is None)
    return noted is not None and _are_equal(noted, before.judgement(s).renewed)


def _goes_through_the_batches(s: OneOperation, before: Before) -> Term:
    """Whether batches are judged in their order, on one judgement, until one is refused."""
    batches = tuple(
        AcknowledgementBatch(offset, offset, ()) for offset in (s.offset, s.other, s.elsewhere)
    )
    accepts = (True, s.awaited, s.other_awaited)
    asked: list[tuple[Any, ...]] = []
    partition = partition_of(s)

    def judged(*of: Any) -> Term:  # noqa: ANN401 - as judge_batch
        asked.append(of)
        of[2].answer = INVALID_REQUEST if before.beyond else NONE
        return accepts[len(asked) - 1]

    with patch.object(acknowledge, "judge_batch", judged):
        judgement = acknowledge.judge(partition, Acknowledge(s.member, batches), s.lock)
        nothing = acknowledge.judge(partition, Acknowledge(s.member, ()), s.lock)
    number = 3 if s.awaited else 2
    accepted = conjunction(s.awaited, s.other_awaited, not before.beyond)
    right = [(partition, s.member, judgement, batch) for batch in batches[:number]]
    return conjunction(
        len(asked) == number,
        *(
            all(argument is expected for argument, expected in zip(*pair, strict=True))
            for pair in zip(asked, right, strict=False)
        ),
        (NONE in judgement.allowed) if accepted else (NONE not in judgement.allowed),
        conjunction(judgement.renewed_until == s.lock, nothing.allowed == {NONE}),
        conjunction(not nothing.changed, not nothing.renewed, nothing.answer is NONE),
    )


def _applies_the_judgement(s: OneOperation) -> Term:
    """Whether an accepted judgement's renewals and changes hold, and one write reports changes."""
    judgement = Judgement(s.now + s.lock, NONE, {NONE})
    for place, awaited in zip(places(s), (s.awaited, s.other_awaited), strict=True):
        judgement.renewed[place.offset] = attrs.evolve(place.record, deadline=s.seq)
        if awaited:
            judgement.changed[place.offset] = Record(RecordState.ARCHIVED, s.elapsed, pending=True)
    before = partition_of(s)
    operation, answer = Acknowledge(s.member, ()), waits_for_its_write(s)
    with patch.object(acknowledge, "judge", lambda *_of: judgement):
        step = acknowledge.acknowledge_records(before, operation, Choice(), answer, s.seq)
    after = step.partition
    ends = {
        offset: judgement.changed.get(offset, judgement.renewed[offset])
        for offset in judgement.renewed
    }
    stays = conjunction(
        *(same_record(after.window.records.get(offset), record) for offset, record in ends.items()),
        kept(before, after, "window", "outstanding", "next_write"),
        others_wait(s, after),
        negate(s.elsewhere in after.window.records),
    )
    if not judgement.changed:
        return conjunction(stays, not step.outcome.writes, after.next_write == s.next_write)
    (write,) = step.outcome.writes
    places_of_write = (s.offset, s.other, s.elsewhere)
    return conjunction(
        stays,
        *(reports(write, offset, judgement.changed.get(offset)) for offset in places_of_write),
        write.delivery_complete_count == s.complete + completes(*ends.values()),
    )


def _refuses_the_judgement(s: OneOperation, status: ErrorCode, profile: Profile) -> Term:
    """Whether a refusal leaves the renewals before its cause, where the profile says so."""
    renewed = attrs.evolve(s.record, deadline=s.seq), attrs.evolve(s.other_record, deadline=s.seq)
    judgement = Judgement(s.now + s.lock, allowed={INVALID_REQUEST, INVALID_RECORD_STATE})
    if s.awaited:
        judgement.renewed_at_gap = {s.offset: renewed[0]}
    if s.other_awaited:
        judgement.renewed_at_fault = {s.other: renewed[1]}
    before, operation = partition_of(s, profile), Acknowledge(s.member, ())
    with patch.object(acknowledge, "judge", lambda *_of: judgement):
        step = acknowledge.acknowledge_records(
            before, operation, Choice(refusal=status), waits_for_its_write(s), s.seq
        )
    fault = status is INVALID_RECORD_STATE and bool(s.other_awaited)
    survives = profile.renewal_survives_refusal
    record = renewed[0] if survives and not fault and s.awaited else s.record
    other = renewed[1] if survives and fault else s.other_record
    records = step.partition.window.records
    return conjunction(
        step.outcome.status is status,
        same_record(records.get(s.offset), record),
        same_record(records.get(s.other), other),
        kept(before, step.partition, "window"),
        not step.outcome.writes,
    )


def _both_are_tracked(s: OneOperation) -> Term:
    return conjunction(is_possible(s), s.tracked, s.other_tracked)


def _is_earlier(s: OneOperation) -> Term:
    """Whether the batches before can have left the first record so."""
    return conjunction(is_possible(s), is_whole(earlier(s)))


def _is_renewed_earlier(s: OneOperation) -> Term:
    """Whether the batches before have renewed the first record, or not named it."""
    return conjunction(_is_earlier(s), negate(s.awaited), negate(s.other_tracked))


STEP = _law(
    "batch_is_judged_after_those_before",
    "A batch acts on each record that it names as the batches before left it, and on no other.",
    11,
    32,
)
ALLOWED = _law(
    "batch_adds_the_answers_it_deserves",
    "What may be answered is what the first batch deserves that is wrong.",
)
FOLD = _law(
    "batches_are_judged_in_order",
    "Batches are judged in their order, each by what those before did, until one is refused.",
)
LEFT_RENEWED = _law(
    "refusal_leaves_renewals_before_its_cause",
    "A refusal changes nothing, but that under kafka the renewals before its cause hold.",
    33,
)
APPLIED = _law(
    "judgement_is_applied_whole",
    "If no batch is refused, all renewals and changes hold, and one write reports the changes.",
    32,
)
FORGETS = Control(
    "judge_batch forgets the batches before",
    "spec.acknowledge:judge_batch",
    called_with(lambda state, member, _judged, batch: (state, member, Judgement(0), batch)),
)


def _forgiven(judgement: Judgement) -> Judgement:
    judgement.answer = NONE
    return judgement


FORGIVES = Control(
    "judge_batch forgets that a batch before was refused",
    "spec.acknowledge:judge_batch",
    called_with(lambda state, member, judged, batch: (state, member, _forgiven(judged), batch)),
)
ACCEPTS = Control(
    "judge accepts whatever comes",
    "spec.acknowledge:judge",
    becomes(lambda *_of: Judgement(0, NONE, {NONE})),
)


def _theorems() -> Iterator[Theorem]:
    for kind in (AcknowledgeType.ACCEPT, AcknowledgeType.RENEW):
        claim = about(_adds_the_batch, EARLIER[0], kind)
        name = f"acknowledge by {kind.name} {EARLIER[0].name}"
        yield _theorem(STEP, name, _is_earlier, claim, ANYBODY)
    for before in EARLIER:
        name = f"acknowledge by RENEW {before.name}"
        claim = about(_answers_the_batch, before, AcknowledgeType.RENEW)
        control = FORGIVES if before.beyond else FORGETS
        yield _theorem(ALLOWED, name, _is_renewed_earlier, claim, control)
        name = f"acknowledge three batches {before.name}"
        yield _theorem(FOLD, name, is_possible, about(_goes_through_the_batches, before), ACCEPTS)
    unchanged = Control(
        "acknowledge_records changes nothing",
        "spec.acknowledge:acknowledge_records",
        leaves(lambda state, *_rest: state),
    )
    counted = Control(
        "acknowledge_records counts a write that it does not make",
        "spec.acknowledge:acknowledge_records",
        leaves(lambda state, *_rest: attrs.evolve(state, next_write=state.next_write + 1)),
    )
    for profile, status in product((KIP, KAFKA), (INVALID_REQUEST, INVALID_RECORD_STATE)):
        name = f"refuse batches by {status.name} ({profile.name})"
        claim = about(_refuses_the_judgement, status, profile)
        yield _theorem(LEFT_RENEWED, name, _both_are_tracked, claim, counted)
    yield _theorem(
        APPLIED, "acknowledge batches", _both_are_tracked, _applies_the_judgement, unchanged
    )


def _theorem(stated: Property, name: str, given: Claim, claim: Claim, control: Control) -> Theorem:
    return Theorem(stated, name, OneOperation, given, claim, control, runnable=names_no_others)


BATCH_THEOREMS = tuple(_theorems())
