"""What is remembered of each step: what consumers know, and when records gave a sign of life."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

import attrs

from model import operations as ops
from model.errors import ErrorCode
from model.outcome import Outcome
from model.states import RecordState
from proofs.hazards.draft_consumer import Given, receive
from proofs.hazards.machine import MachineView
from proofs.hazards.world import HazardMoment, HazardMove, HazardPast

T = TypeVar("T")


def remember(moment: HazardMoment) -> HazardPast:
    """Return what is remembered after a step; ``moment.after.past`` is from before it."""
    past = moment.after.past
    if _loses_a_write(moment):
        past = attrs.evolve(past, is_write_lost=True)
    for request, outcome in zip(moment.requests, moment.outcomes, strict=True):
        match request:
            case ops.Acquire():
                past = _given(past, moment, request.member, outcome)
            case ops.MarkInProgress():
                past = _marked(past, moment)
            case ops.Acknowledge():
                past = _acknowledged(past, moment, request, outcome)
            case ops.CompleteWrite():
                past = _answered(past, request)
    return _blocked(_moved(past, moment), moment)


def _loses_a_write(moment: HazardMoment) -> bool:
    """Whether a write of the step fails, or one has no answer when the leader changes."""
    abandoned = moment.act.move is HazardMove.FAIL_OVER and moment.before.view.waiting
    statuses = {write.status for outcome in moment.outcomes for write in outcome.writes}
    answers = {r.status for r in moment.requests if isinstance(r, ops.CompleteWrite)}
    return bool(abandoned or (statuses | answers) - {ErrorCode.NONE, ErrorCode.PENDING})


def offsets_marked(moment: HazardMoment) -> Iterator[tuple[int, ErrorCode, int]]:
    """Yield each offset of the marks of a step, its answer, and the delivery marked by its holder.

    The delivery is the one that the member was given, not what the request or the leader says.
    """
    for request, outcome in zip(moment.requests, moment.outcomes, strict=True):
        if isinstance(request, ops.MarkInProgress):
            for batch, code in zip(request.batches, outcome.marked, strict=True):
                for offset in range(batch.first, batch.last + 1):
                    token = (offset, batch.leader_epoch, batch.acquisition)
                    yield offset, code, _delivery(moment, request.member, token)


def _delivery(moment: HazardMoment, member: str, token: tuple[int, int, int]) -> int:
    marks = [g for c in moment.before.past.consumers if c.member == member for g in c.marks]
    if moment.act.given is not None:
        marks.append(moment.act.given)
    named = (g for g in marks if (g.offset, g.leader_epoch, g.acquisition) == token)
    return next(named).delivery


def _given(past: HazardPast, moment: HazardMoment, member: str, outcome: Outcome) -> HazardPast:
    now, epoch = moment.after.view.now, moment.before.view.durable.leader_epoch
    number = 0 if outcome.acquisition is None else outcome.acquisition
    taken = [o for range_ in outcome.acquired for o in range(range_.first, range_.last + 1)]
    new = tuple(Given(offset, epoch, number, past.deliveries[offset]) for offset in taken)
    kept = past.given
    if HazardMove.OLD_MARK not in moment.world.moves:
        kept = tuple((m, g) for m, g in kept if m != member or g.offset not in taken)
    consumers = tuple(receive(c, new) if c.member == member else c for c in past.consumers)
    return attrs.evolve(
        past,
        fetches=past.fetches + bool(taken),
        deliveries=_changed(past.deliveries, {o: past.deliveries[o] + 1 for o in taken}),
        sign=_changed(past.sign, dict.fromkeys(taken, now)),
        first_mark=_changed(past.first_mark, dict.fromkeys(taken)),
        given=kept + tuple((member, given) for given in new),
        unseen=past.unseen - set(taken),
        consumers=consumers,
    )


def _marked(past: HazardPast, moment: HazardMoment) -> HazardPast:
    now, records = moment.after.view.now, moment.after.view.records
    held = {
        offset
        for offset, code, _ in offsets_marked(moment)
        if code is ErrorCode.NONE and records[offset].state is RecordState.IN_PROGRESS
    }
    first = {offset: past.first_mark[offset] or now for offset in held}
    return attrs.evolve(
        past,
        sign=_changed(past.sign, dict.fromkeys(held, now)),
        first_mark=_changed(past.first_mark, first),
        unseen=past.unseen - held,
    )


def _acknowledged(
    past: HazardPast, moment: HazardMoment, request: ops.Acknowledge, outcome: Outcome
) -> HazardPast:
    """Forget what was acknowledged; remember what its owner accepted for good, or may have."""
    done = {(request.member, batch.first) for batch in request.batches}
    past = attrs.evolve(
        past, given=tuple((m, g) for m, g in past.given if (m, g.offset) not in done)
    )
    consumers = tuple(
        attrs.evolve(
            c, unacknowledged=tuple(g for g in c.unacknowledged if (c.member, g.offset) not in done)
        )
        for c in past.consumers
    )
    past = attrs.evolve(past, consumers=consumers)
    records = moment.before.view.records
    offsets = {o for member, o in done if records[o].is_held and records[o].owner == member}
    if moment.act.move in (HazardMove.RELEASE, HazardMove.REJECT):
        return past
    if outcome.status is ErrorCode.NONE:
        return attrs.evolve(past, confirmed=past.confirmed | offsets)
    if outcome.status is ErrorCode.PENDING:
        waiting = tuple((write.id, offset) for write in outcome.writes for offset in offsets)
        return attrs.evolve(past, accepting=past.accepting + waiting)
    return past


def _answered(past: HazardPast, request: ops.CompleteWrite) -> HazardPast:
    offsets = {offset for id_, offset in past.accepting if id_ == request.id}
    past = attrs.evolve(past, accepting=tuple(a for a in past.accepting if a[0] != request.id))
    if request.status is ErrorCode.NONE:
        return attrs.evolve(past, confirmed=past.confirmed | offsets)
    return past


def _moved(past: HazardPast, moment: HazardMoment) -> HazardPast:
    """Remember who comes and goes, and that leaders change."""
    act, view = moment.act, moment.before.view
    match act.move:
        case HazardMove.LEAVE:
            held = {o for o, record in enumerate(view.records) if record.owner == act.member}
            departures = (*past.departures, (act.member, view.now))
            return attrs.evolve(past, departures=departures, unseen=past.unseen | held)
        case HazardMove.RETURN:
            return attrs.evolve(
                past, departures=tuple(a for a in past.departures if a[0] != act.member)
            )
        case HazardMove.FAIL_OVER:
            nothing = (None,) * len(past.sign)
            return attrs.evolve(
                past, failed_over=True, accepting=(), sign=nothing, first_mark=nothing
            )
        case HazardMove.READ_AGAIN:
            nothing = (None,) * len(past.sign)
            return attrs.evolve(past, has_read_again=True, sign=nothing, first_mark=nothing)
        case HazardMove.DOWNGRADE:
            return attrs.evolve(past, failed_over=True, is_over=True)
    return past


def _blocked(past: HazardPast, moment: HazardMoment) -> HazardPast:
    view, limit = moment.after.view, moment.world.config.partition_max_record_locks
    is_full = view.end - view.start >= limit and view.end < len(view.records)
    if not is_full or _has_available(view):
        return attrs.evolve(past, blocked=None) if past.blocked is not None else past
    return past if past.blocked is not None else attrs.evolve(past, blocked=view.now)


def _has_available(view: MachineView) -> bool:
    window = view.records[view.start : view.end]
    return any(r.state is RecordState.AVAILABLE and not r.pending for r in window)


def _changed(values: tuple[T, ...], changes: Mapping[int, T]) -> tuple[T, ...]:
    return tuple(changes.get(offset, value) for offset, value in enumerate(values))
