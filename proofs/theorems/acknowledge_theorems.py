"""Theorems about acknowledgements: what is refused, and any number of batches.

By induction over the list of batches. The step: one batch after any others, of which only their
judgement is known. The fold: batches are judged in order until one must be refused. The end: what
becomes of any judgement.
"""

from itertools import product
from typing import Any

import attrs

from model.errors import ErrorCode
from model.operations import Acknowledge, AcknowledgementBatch, EntryPoint
from model.outcome import Choice
from model.profile import KAFKA, KIP, Profile
from model.states import AcknowledgeType, RecordState
from proofs.theorems.any_partition import AnyPartition, operated, partition_of, places
from proofs.theorems.attempts import attempted, standing_in
from proofs.theorems.controls import becomes, called_with, changes_nothing, leaves, wrong
from proofs.theorems.effects import changes_to, completes, others_wait, reports
from proofs.theorems.operation_cases import (
    ACCEPT,
    ANYBODY,
    MISJUDGED,
    RENEW,
    acknowledged,
    after_acknowledging,
    batch_of,
    is_named,
    is_named_from_the_start,
    may_acknowledge,
    waits_for_its_write,
)
from proofs.theorems.points import Places
from proofs.theorems.records import is_whole
from proofs.theorems.symbolic import conjunction, is_same
from spec import acknowledge, validation
from spec.acknowledge import Judgement
from spec.logic import Term, negate
from spec.partition import SharePartition, Step
from spec.record import Record
from spec.step import transition

NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
INVALID_RECORD_STATE = ErrorCode.INVALID_RECORD_STATE
REFUSALS = {INVALID_REQUEST, INVALID_RECORD_STATE}
Records = dict[Term, Record]


def _forgiven(judgement: Judgement) -> Judgement:
    judgement.answer = NONE
    return judgement


def _one_write_more(state: SharePartition, *_rest: object) -> SharePartition:
    return attrs.evolve(state, next_write=state.next_write + 1)


JUDGE, ONE = "spec.acknowledge:judge", "spec.acknowledge:judge_batch"
WHOLE, VALIDATE = "spec.acknowledge:acknowledge_records", "spec.validation:validate"
LENIENT = wrong(VALIDATE, "finds nothing wrong", becomes(lambda *_of: NONE))
STRICT = wrong(
    VALIDATE,
    "takes everything for a request",
    called_with(lambda of, profile: (attrs.evolve(of, entry=EntryPoint.REQUEST), profile)),
)
FORGETS = wrong(
    ONE,
    "forgets the batches before",
    called_with(lambda state, member, _judged, batch: (state, member, Judgement(0), batch)),
)
FORGIVES = wrong(
    ONE,
    "forgets that a batch before was refused",
    called_with(lambda state, member, judged, batch: (state, member, _forgiven(judged), batch)),
)
ACCEPTS = wrong(JUDGE, "accepts whatever comes", becomes(lambda *_: Judgement(0, NONE, {NONE})))
COUNTS_WRITES = wrong(WHOLE, "counts a write that it does not make", leaves(_one_write_more))
_acknowledge = operated("KIP-932, ShareAcknowledge")


def _malformed_batch(s: AnyPartition, kind: int = ACCEPT) -> tuple[AcknowledgementBatch, Term]:
    """Return a batch of any two offsets, also negative ones, and whether it is well formed."""
    first, last = s.first - s.second, s.last - s.second
    types: Any = Places(s.seq, ((s.offset - first, ACCEPT),), kind)
    right = conjunction(
        kind == ACCEPT, first >= 0, first <= last, (s.seq == 1) | (s.seq == last - first + 1)
    )
    return AcknowledgementBatch(first, last, types), right


@_acknowledge.theorem(
    57, of={"validate": (ACCEPT,), "validate an unknown type": (9,)}, control=LENIENT
)
def request_is_well_formed(s: AnyPartition, kind: int) -> Term:
    """A batch is a range of offsets, with one known type for all or one for each."""
    batch, right = _malformed_batch(s, kind)
    answer = validation.validate(Acknowledge(s.member, (batch,)), KIP)
    return right if answer is NONE else conjunction(answer is INVALID_REQUEST, negate(right))


@_acknowledge.theorem(
    33, of="acknowledge", where=lambda s: negate(_malformed_batch(s)[1]), control=LENIENT
)
def malformed_changes_nothing(s: AnyPartition) -> Term:
    """A malformed request is INVALID_REQUEST, and no more."""
    batch, before = _malformed_batch(s)[0], partition_of(s)
    for choice in (Choice(), Choice(refusal=INVALID_REQUEST)):
        step = acknowledged(s, before, batch, choice)
        if step.outcome.status is not INVALID_REQUEST or step.partition is not before:
            return False
    others = (Choice(refusal=status) for status in (NONE, INVALID_RECORD_STATE))
    steps = [attempted(lambda: acknowledged(s, before, batch, choice)) for choice in others]  # noqa: B023 - called at once
    return steps == [MISJUDGED] * 2


@_acknowledge.theorem(
    57,
    of={
        "validate a request (kip)": (KIP, EntryPoint.REQUEST),
        "validate a request (kafka)": (KAFKA, EntryPoint.REQUEST),
        "validate within the broker": (KIP, EntryPoint.SHARE_PARTITION),
    },
    control=lambda _profile, entry: LENIENT if entry is EntryPoint.REQUEST else STRICT,
)
def batches_ascend(s: AnyPartition, profile: Profile, entry: EntryPoint) -> Term:
    """Batches of a request ascend; under kafka two may share an offset."""
    spans = (s.first, s.last), (s.second, s.second_last)
    batches = tuple(AcknowledgementBatch(*span, (ACCEPT,)) for span in spans)
    answer = validation.validate(Acknowledge(s.member, batches, entry), profile)
    if entry is EntryPoint.SHARE_PARTITION:
        return answer is NONE
    after = s.second >= s.last if profile.batches_may_share_an_offset else s.second > s.last
    return after if answer is NONE else negate(after)


@attrs.frozen
class BatchesBefore:
    """What is known of the batches before: whether one named what was never in flight.

    ``beyond``: past the end of the window.
    """

    gap: bool = False
    beyond: bool = False

    def judgement(self, s: AnyPartition) -> Judgement:
        """Return a judgement of batches that changed or renewed the first record, or neither."""
        judgement = Judgement(s.now + s.lock, INVALID_REQUEST if self.beyond else NONE)
        if s.awaited:
            judgement.changed[s.offset] = s.other_record
        if s.other_awaited:
            judgement.renewed[s.offset] = _renewed(s, s.other_record)
        if self.gap:
            judgement.renewed_at_gap = {}
            judgement.allowed |= REFUSALS
        judgement.undelivered = s.end if self.beyond else None
        return judgement


AFTER_OTHERS = BatchesBefore()
BEFORE = {
    "after others": (AFTER_OTHERS,),
    "after a gap": (BatchesBefore(gap=True),),
    "after what was never delivered": (BatchesBefore(gap=True, beyond=True),),
}


def _renewed(s: AnyPartition, record: Record) -> Record:
    return attrs.evolve(record, deadline=s.seq)


def _is_after_others(s: AnyPartition, *_of: object) -> Term:
    """Whether the batches before can have left the first record so: as the second one is."""
    return is_whole(s.other_record)


def _are_equal(some: Records, others: Records) -> Term:
    if some.keys() != others.keys():
        return False
    return conjunction(*(is_same(some[offset], others[offset]) for offset in some))


@_acknowledge.theorem(
    11,
    32,
    of={f"acknowledge by {kind.name} after others": (kind,) for kind in (ACCEPT, RENEW)},
    where=_is_after_others,
    control=ANYBODY,
)
def batch_is_judged_after_those_before(s: AnyPartition, kind: AcknowledgeType) -> Term:
    """A batch acts on each record that it names as the batches before left it, and on no other."""
    judgement, expected = AFTER_OTHERS.judgement(s), AFTER_OTHERS.judgement(s)
    goes_on = acknowledge.judge_batch(partition_of(s), s.member, judgement, batch_of(s, kind))
    changed, renewed = expected.changed, expected.renewed
    refused = False
    for place in places(s):
        if refused or not is_named(s, place):
            continue
        record = changed.get(place.offset) or renewed.get(place.offset) or place.record
        refused = not may_acknowledge(s, record, kind)
        if not refused:
            into = renewed if kind is RENEW else changed
            into[place.offset] = after_acknowledging(s, record, kind)
    at_fault = judgement.renewed_at_fault
    return conjunction(
        goes_on is not refused,
        _are_equal(judgement.changed, changed),
        _are_equal(judgement.renewed, renewed),
        _are_equal(at_fault or {}, renewed) if refused else at_fault is None,
    )


@_acknowledge.theorem(
    57,
    of={f"acknowledge by RENEW {name}": of for name, of in BEFORE.items()},
    where=lambda s, _before: conjunction(
        _is_after_others(s), negate(s.awaited), negate(s.other_tracked)
    ),
    control=lambda before: FORGIVES if before.beyond else FORGETS,
)
def batch_adds_the_answers_it_deserves(s: AnyPartition, before: BatchesBefore) -> Term:
    """What may be answered is what the first batch deserves that is wrong."""
    judgement = before.judgement(s)
    goes_on = acknowledge.judge_batch(partition_of(s), s.member, judgement, batch_of(s, RENEW))
    beyond = bool(s.last >= s.start) and bool(s.last >= s.end)
    named = (place for place in places(s) if negate(place.tracked))
    gap = beyond or any(is_named_from_the_start(s, place) for place in named)
    allowed = set(REFUSALS) if gap or before.gap else set[ErrorCode]()
    refused = INVALID_REQUEST if beyond or before.beyond else INVALID_RECORD_STATE
    answer = refused if beyond or before.beyond or not goes_on else NONE
    undelivered = s.end if before.beyond else max(s.first, s.end)
    known, noted = judgement.undelivered, judgement.renewed_at_gap
    first_gap = (gap and not before.gap) or (beyond and not before.beyond)
    return conjunction(
        judgement.allowed == (allowed if goes_on else allowed | {INVALID_RECORD_STATE}),
        judgement.answer is answer,
        known == undelivered if beyond or before.beyond else known is None,
        noted == ({} if before.gap else None)
        if not first_gap
        else noted is not None and _are_equal(noted, before.judgement(s).renewed),
    )


@_acknowledge.theorem(32, 57, of="acknowledge three batches", control=ACCEPTS)
def batches_are_judged_in_order(s: AnyPartition) -> Term:
    """Batches are judged in order, each after those before, until one is refused."""
    offsets = s.offset, s.other, s.elsewhere
    kinds = ((RENEW,), (ACCEPT,), (ACCEPT,))
    batches = tuple(map(AcknowledgementBatch, offsets, offsets, kinds))
    accepts = (True, s.awaited, s.other_awaited)
    asked: list[tuple[Any, ...]] = []
    partition = partition_of(s)

    def judged(*of: Any) -> Term:  # noqa: ANN401 - as judge_batch
        asked.append(of)
        of[2].answer = INVALID_REQUEST if s.dead_letter_queue else NONE
        return accepts[len(asked) - 1]

    with standing_in(acknowledge, judge_batch=judged):
        judgement = acknowledge.judge(partition, Acknowledge(s.member, batches), s.lock)
        nothing = acknowledge.judge(partition, Acknowledge(s.member, ()), s.lock)
    right = [(partition, s.member, judgement, batch) for batch in batches[: 3 if s.awaited else 2]]
    accepted = conjunction(s.awaited, s.other_awaited, negate(s.dead_letter_queue))
    refusable = conjunction(s.renewable, s.elsewhere > s.other)
    return conjunction(
        len(asked) == len(right),
        *(
            all(argument is expected for argument, expected in zip(*pair, strict=True))
            for pair in zip(asked, right, strict=False)
        ),
        (NONE in judgement.allowed) if accepted else (NONE not in judgement.allowed),
        judgement.allowed - {NONE} == (set() if refusable else REFUSALS),
        conjunction(judgement.renewed_until == s.lock, nothing.allowed == {NONE}),
        conjunction(not nothing.changed, not nothing.renewed, nothing.answer is NONE),
    )


def _both_are_tracked(s: AnyPartition, *_of: object) -> Term:
    return conjunction(s.tracked, s.other_tracked)


def _end(s: AnyPartition, before: SharePartition, judgement: Judgement, choice: Choice) -> Step:
    """Return the step of an acknowledgement that was judged so."""
    operation, answer = Acknowledge(s.member, ()), waits_for_its_write(s)
    with standing_in(acknowledge, judge=lambda *_of: judgement):
        return transition(before, operation, choice, (answer,), s.seq)


@_acknowledge.theorem(
    11,
    33,
    of={
        f"refuse batches by {status.name} ({profile.name})": (profile, status)
        for profile, status in product((KIP, KAFKA), (INVALID_REQUEST, INVALID_RECORD_STATE))
    },
    where=_both_are_tracked,
    control=COUNTS_WRITES,
)
def refusal_leaves_renewals_before_its_cause(
    s: AnyPartition, profile: Profile, status: ErrorCode
) -> Term:
    """A refusal changes nothing, but that under kafka the renewals before its cause hold."""
    renewed, other_renewed = _renewed(s, s.record), _renewed(s, s.other_record)
    judgement = Judgement(s.now + s.lock, status, {status})
    if s.awaited:
        judgement.renewed_at_gap = {s.offset: renewed}
    if s.other_awaited:
        judgement.renewed_at_fault = {s.other: other_renewed}
    before = partition_of(s, profile)
    steps = [_end(s, before, judgement, of) for of in (Choice(refusal=status), Choice())]
    forbidden = attempted(lambda: _end(s, before, judgement, Choice(refusal=NONE)))
    fault = status is INVALID_RECORD_STATE and bool(s.other_awaited)
    survives = profile.renewal_survives_refusal
    record = renewed if survives and not fault and s.awaited else s.record
    other = other_renewed if survives and fault else s.other_record
    return conjunction(
        forbidden == MISJUDGED,
        *(step.outcome.status is status and not step.outcome.writes for step in steps),
        *(changes_to(s, before, step.partition, (record, other)) for step in steps),
    )


@_acknowledge.theorem(
    32, of="acknowledge batches", where=_both_are_tracked, control=changes_nothing(WHOLE)
)
def judgement_is_applied_whole(s: AnyPartition) -> Term:
    """If no batch is refused, all renewals and changes hold, and one write reports the changes."""
    judgement = Judgement(s.now + s.lock, NONE, {NONE})
    for place, awaited in zip(places(s), (s.awaited, s.other_awaited), strict=True):
        judgement.renewed[place.offset] = _renewed(s, place.record)
        if awaited:
            judgement.changed[place.offset] = Record(RecordState.ARCHIVED, s.elapsed, pending=True)
    before = partition_of(s)
    step = _end(s, before, judgement, Choice())
    after, ends = step.partition, judgement.renewed | judgement.changed
    stays = conjunction(
        changes_to(s, before, after, ends.values(), "outstanding", "next_write"),
        others_wait(s, after),
    )
    if not judgement.changed:
        return conjunction(stays, not step.outcome.writes, after.next_write == s.next_write)
    (write,) = step.outcome.writes
    changed = ((offset, judgement.changed.get(offset)) for offset in (*ends, s.elsewhere))
    return conjunction(
        stays,
        *(reports(write, offset, record) for offset, record in changed),
        write.delivery_complete_count == s.complete + completes(*ends.values()),
    )
