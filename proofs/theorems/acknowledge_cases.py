"""Acknowledgements as theorems speak of them: one batch or two, with one type or one for each."""

from collections.abc import Callable
from itertools import pairwise

import attrs

from model.errors import ErrorCode
from model.guards import Guard
from model.operations import Acknowledge, AcknowledgementBatch
from model.outcome import Choice
from model.states import AcknowledgeType, RecordState
from proofs.theorems.operation_cases import (
    ANYBODY,
    OperationCase,
    Place,
    failed_state,
    places,
)
from proofs.theorems.operation_situation import OneOperation, is_owned_by, waits_for_its_write
from proofs.theorems.points import Places
from proofs.theorems.symbolic import conjunction
from spec import acknowledge
from spec import record as rules
from spec.logic import Term, negate
from spec.partition import SharePartition, Step
from spec.record import Record

ACCEPT, RELEASE, RENEW = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.RENEW
NONE = ErrorCode.NONE


@attrs.frozen
class Part:
    """A batch of an acknowledgement: its range, and the types of the situation's two offsets.

    ``each``: the batch has a type for each offset.
    """

    span: Callable[[OneOperation], tuple[Term, Term]]
    kinds: tuple[AcknowledgeType, AcknowledgeType]
    each: bool = False

    def batch(self, s: OneOperation) -> AcknowledgementBatch:
        """Return the batch itself."""
        first, last = self.span(s)
        if not self.each:
            return AcknowledgementBatch(first, last, self.kinds[:1])
        offsets = zip((s.offset - first, s.other - first), self.kinds, strict=True)
        types = Places(last - first + 1, tuple(offsets), ACCEPT)
        return AcknowledgementBatch(first, last, types)  # type: ignore[arg-type] # as a tuple

    def names(self, s: OneOperation, place: Place) -> Term:
        """Return whether the batch names a record of the window."""
        first, last = self.span(s)
        return conjunction(place.tracked, first <= place.offset, place.offset <= last)


@attrs.frozen
class Acknowledged:
    """A record after an acknowledgement; ``changed``: it was not only renewed."""

    record: Record
    named: bool = False
    changed: bool = False


def request(s: OneOperation, parts: tuple[Part, ...]) -> Acknowledge:
    """Return the acknowledgement."""
    return Acknowledge(s.member, tuple(part.batch(s) for part in parts))


def may_acknowledge(s: OneOperation, record: Record, kind: AcknowledgeType) -> Term:
    """Return whether the member may acknowledge the record by that type."""
    mine = is_owned_by(record, s.member)
    if kind is not RENEW:
        return mine
    return conjunction(mine, s.renewable, record.state == RecordState.ACQUIRED)


def acknowledged(s: OneOperation, place: Place, parts: tuple[Part, ...]) -> Acknowledged | None:
    """Return the record after each batch in turn, or None if one must be refused."""
    after = Acknowledged(place.record)
    for part in parts:
        if not part.names(s, place):
            continue
        kind = part.kinds[place.index]
        if not may_acknowledge(s, after.record, kind):
            return None
        if kind is RENEW:
            renewed = rules.renew(after.record, s.now + s.lock)
            after = Acknowledged(renewed, named=True, changed=after.changed)
        else:
            ended = rules.acknowledge(after.record, kind, s.limit, failed_state(s))
            after = Acknowledged(ended, named=True, changed=True)
    return after


def _operate(s: OneOperation, before: SharePartition, parts: tuple[Part, ...]) -> Step:
    choice, answer = Choice(refusal=NONE), waits_for_its_write(s)
    return acknowledge.acknowledge_records(before, request(s, parts), choice, answer, s.seq)


def _accepts(s: OneOperation, parts: tuple[Part, ...]) -> Term:
    if any(acknowledged(s, place, parts) is None for place in places(s)):
        return False
    return conjunction(*(part.span(s)[1] < s.end for part in parts))


def _refuses(s: OneOperation, parts: tuple[Part, ...]) -> Guard:
    """Return what refuses: a record that may not change, or else offsets past the window's end."""
    if any(acknowledged(s, place, parts) is None for place in places(s)):
        return Guard.ACKNOWLEDGEMENT_JUDGED
    return Guard.ACKNOWLEDGED_WAS_DELIVERED


def _change(s: OneOperation, place: Place, parts: tuple[Part, ...]) -> Record | None:
    after = acknowledged(s, place, parts)
    return after.record if after is not None and after.named else None


def _writes(s: OneOperation, place: Place, parts: tuple[Part, ...]) -> Term:
    after = acknowledged(s, place, parts)
    return after is not None and after.changed


def _case(
    name: str, *parts: Part, given: Callable[[OneOperation], Term] = lambda _s: True
) -> OperationCase:
    return OperationCase(
        name,
        "KIP-932, ShareAcknowledge",
        lambda s, before: _operate(s, before, parts),
        lambda s, place: _change(s, place, parts),
        ANYBODY,
        lambda s: _accepts(s, parts),
        lambda s: _refuses(s, parts),
        writes=lambda s, place: _writes(s, place, parts),
        waits=True,
        given=given,
    )


def one_span(s: OneOperation) -> tuple[Term, Term]:
    """Return the range of the first batch."""
    return s.first, s.last


def _second_span(s: OneOperation) -> tuple[Term, Term]:
    return s.second, s.second_last


def _twice(first: AcknowledgeType, second: AcknowledgeType) -> OperationCase:
    return _case(
        f"acknowledge by {first.name}, then by {second.name}",
        Part(one_span, (first, first)),
        Part(_second_span, (second, second)),
        given=_names_one,
    )


def _names_one(s: OneOperation) -> Term:
    """Whether both batches can name the first offset alone."""
    return conjunction(negate(s.other_tracked), s.last < s.other, s.second_last < s.other)


def _are_single(s: OneOperation) -> Term:
    """Whether the first batch is the first offset, and the second batch the second."""
    single = conjunction(s.first == s.offset, s.last == s.offset, s.start <= s.offset)
    return conjunction(single, s.second == s.other, s.second_last == s.other)


ACKNOWLEDGEMENTS = (
    *(_case(f"acknowledge by {k.name}", Part(one_span, (k, k))) for k in AcknowledgeType),
    *(
        _case(
            f"acknowledge by {k.name} and others by ACCEPT", Part(one_span, (k, ACCEPT), each=True)
        )
        for k in (RENEW, RELEASE)
    ),
    *(_twice(first, second) for first, second in pairwise((RENEW, RENEW, ACCEPT, RENEW))),
    _case(
        "acknowledge one by RENEW, another by ACCEPT",
        Part(one_span, (RENEW, RENEW)),
        Part(_second_span, (ACCEPT, ACCEPT)),
        given=_are_single,
    ),
)
"""The acknowledgements of one batch or two; ``batch_theorems`` are about any number."""
