"""What Kafka's own share consumer owes to its application: pure functions of a history."""

from collections.abc import Iterator

from conformance.cluster.history import (
    ApplicationSaid,
    ApplicationTold,
    LeaderAnswered,
    LeaderAsked,
    LeaderAtRest,
    RecordsPolled,
    RecordsReceived,
)
from conformance.cluster.run_state import NONE, MemberKey, RunState, offsets_of
from judge.finding import Finding
from model.states import AcknowledgeType

_UNTOLD, _MOVED = "never told", "its leader has moved since"

LIMIT_MS = 15_000
"""After how many ms polls must have returned something, or an application been told."""


def _keys(what: ApplicationSaid | LeaderAsked | RecordsReceived) -> Iterator[MemberKey]:
    ranges = what.ranges if isinstance(what, RecordsReceived) else what.batches
    return ((what.member, what.partition, offset) for offset, *_ in offsets_of(ranges))


def note_received(run: RunState, what: RecordsReceived) -> None:
    """Note what a consumer has, and no poll returned yet."""
    run.polled.setdefault(what.member, run.ms)
    run.waiting |= dict.fromkeys(_keys(what), (run.ms, run.line))


def note_acknowledged(run: RunState, what: LeaderAsked) -> None:
    """Note that no poll will return what a consumer acknowledges."""
    for key in _keys(what):
        run.waiting.pop(key, None)


def note_succeeded(run: RunState, what: LeaderAnswered) -> None:
    """Note of what an application may be told that it succeeded.

    Also where a connection of its member is gone: it may have asked over the next one.
    """
    asked, _ = run.asked.get(what.id, (run.unheard.get(what.id), {}))
    if what.error == NONE and asked is not None and what.id not in run.succeeded:
        run.succeeded.add(what.id)
        run.answered.update(_keys(asked))


def note_said(run: RunState, what: ApplicationSaid) -> None:
    """Note what an application acknowledges."""
    run.said |= {
        (what.member, what.partition, offset): (run.ms, run.line, kind)
        for offset, kind in offsets_of(what.batches)
    }
    if run.seen.get(what.member) != run.ms:
        run.renews.discard(what.member)
    if any(kind == AcknowledgeType.RENEW for *_range, kind in what.batches):
        run.renews.add(what.member)
    run.seen[what.member] = run.ms


def judge_polled(run: RunState, what: RecordsPolled) -> Iterator[Finding]:
    """Judge polls that return nothing.

    What came last in an answer whose records a poll returned may be no record, and so may be all of
    one answer.
    """
    member = what.member
    run.seen[member] = run.ms
    run.threw[member] = what.error
    if what.offsets:
        run.polled[member] = run.ms
        for key in [key for key in run.waiting if key[:2] == (member, what.partition)]:
            del run.waiting[key]
    nothing_ms = run.ms - run.polled.get(member, run.ms)
    late = {
        line: key[1:]
        for key, (ms, line) in run.waiting.items()
        if key[0] == member and min(nothing_ms, run.ms - ms) >= LIMIT_MS
    }
    if late and (what.error or len(late) > 1):
        # Polls that return nothing are of no partition: what they leave is.
        line, (run.partition, offset) = next(iter(late.items()))
        cause = what.error or _starved_cause(run, member)
        recorded = f"nothing in {nothing_ms} ms"
        yield run.found("POLLS_GO_ON", offset, recorded, "records", line, cause=cause)


def _starved_cause(run: RunState, member: str) -> str:
    """Return why polls may return nothing: a renewal that is pending for good, or one before."""
    for key, (ms, _, kind) in run.said.items():
        is_renewed = key[0] == member and kind == AcknowledgeType.RENEW
        if is_renewed and _untold_cause(run, key, ms) == _MOVED:
            return f"after a renewal that is never told, as {_MOVED}"
    return "after a renewal" if member in run.renews else ""


def judge_told(run: RunState, what: ApplicationTold) -> Iterator[Finding]:
    """Judge what an application is told: success only where a leader has answered so."""
    run.seen[what.member] = run.ms
    for offset in what.offsets:
        key = what.member, what.partition, offset
        _, line, _ = run.said.pop(key, (0, "", 0))
        if what.error != NONE:
            continue
        run.answered[key] -= 1
        if run.answered[key] < 0:
            texts = "told that it succeeded", "no leader answered so"
            yield run.found("TOLD_AS_ANSWERED", offset, *texts, line, cause=texts[1])


def judge_untold(run: RunState, what: LeaderAtRest) -> Iterator[Finding]:
    """Judge what applications that go on were never told, some time after they acknowledged it."""
    for (member, partition, offset), (ms, line, _) in run.said.items():
        goes_on = run.ms - run.seen[member] < LIMIT_MS
        if partition == what.partition and goes_on and run.ms - ms >= LIMIT_MS:
            # What polls that throw do not send is not answered.
            cause = run.threw.get(member) or _untold_cause(run, (member, partition, offset), ms)
            yield run.found("TOLD_AS_ANSWERED", offset, _UNTOLD, "told", line, cause=cause)


def _untold_cause(run: RunState, said: MemberKey, ms: int) -> str:
    """Return why an application may not be told what it said: who gave it that leads no longer."""
    member, partition, offset = said
    gave = [
        key[2]
        for key, holder in run.holders.items()
        if key[:2] == (partition, offset) and holder.member == member and holder.ms <= ms
    ]
    epochs = (epoch for led, _node, epoch in run.began if led == partition)
    return _MOVED if gave and max(gave) < max(epochs, default=-1) else _UNTOLD
