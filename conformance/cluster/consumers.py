"""What Kafka's own share consumer owes to its application: pure functions of a history."""

from collections import Counter
from collections.abc import Iterator

import attrs

from conformance.cluster.history import (
    ApplicationSaid,
    ApplicationTold,
    ClusterEvent,
    LeaderAnswered,
    LeaderAsked,
    LeaderAtRest,
    RecordsPolled,
    RecordsReceived,
)
from conformance.cluster.letters import cluster_finding
from judge.finding import Finding

LIMIT_MS = 15_000
"""After how many ms polls must have returned something, or an application been told."""

_NONE, _RENEW = "NONE", 4
_Key = tuple[str, int, int]


@attrs.define
class ShareConsumers:
    """What is known of the consumers of a run; keys are (member, partition, offset).

    ``waiting`` has what a consumer received and no poll returned, since when, and the line: less
    what it acknowledges as no record; ``polled`` when polls returned something last;
    ``answered`` how often leaders answered an acknowledgement without an error, less how often the
    application was told so; ``said`` when an application acknowledged what it was not told of yet;
    ``seen`` when a consumer did something last; ``renews`` are those that renewed something when
    they acknowledged last.
    """

    waiting: dict[_Key, tuple[int, str]] = attrs.field(factory=dict)
    polled: dict[str, int] = attrs.field(factory=dict)
    asked: dict[int, LeaderAsked] = attrs.field(factory=dict)
    answered: Counter[_Key] = attrs.field(factory=Counter)
    said: dict[_Key, tuple[int, str]] = attrs.field(factory=dict)
    seen: dict[str, int] = attrs.field(factory=dict)
    renews: set[str] = attrs.field(factory=set)


def _keys(what: ApplicationSaid | LeaderAsked) -> Iterator[_Key]:
    for first, last, _type in what.batches:
        for offset in range(first, last + 1):
            yield what.member, what.partition, offset


def judge_consumers(run: ShareConsumers, event: ClusterEvent, seq: int) -> Iterator[Finding]:
    """Yield what a consumer does wrong with this event."""
    match event.what:
        case RecordsReceived(member, partition, ranges):
            run.polled.setdefault(member, event.ms)
            offsets = (o for first, last in ranges for o in range(first, last + 1))
            keys = ((member, partition, offset) for offset in offsets)
            run.waiting |= dict.fromkeys(keys, (event.ms, event.line))
        case RecordsPolled():
            yield from _judge_polled(run, event, event.what, seq)
        case ApplicationSaid():
            _note_said(run, event, event.what)
        case LeaderAsked():
            run.asked[event.what.id] = event.what
            for key in _keys(event.what):
                run.waiting.pop(key, None)
        case LeaderAnswered(id_, error):
            asked = run.asked.pop(id_, None)
            if asked is not None and error == _NONE:
                run.answered.update(_keys(asked))
        case ApplicationTold():
            yield from _judge_told(run, event, event.what, seq)
        case LeaderAtRest(partition):
            yield from _judge_untold(run, event, partition, seq)
        case _:
            pass


def _note_said(run: ShareConsumers, event: ClusterEvent, what: ApplicationSaid) -> None:
    run.said |= dict.fromkeys(_keys(what), (event.ms, event.line))
    if run.seen.get(what.member) != event.ms:
        run.renews.discard(what.member)
    if any(type_ == _RENEW for *_range, type_ in what.batches):
        run.renews.add(what.member)
    run.seen[what.member] = event.ms


def _judge_polled(
    run: ShareConsumers, event: ClusterEvent, what: RecordsPolled, seq: int
) -> Iterator[Finding]:
    """Judge polls that return nothing.

    What came last in an answer whose records a poll returned may be no record, and so may be all of
    one answer.
    """
    member = what.member
    run.seen[member] = event.ms
    if what.offsets:
        run.polled[member] = event.ms
        for key in [key for key in run.waiting if key[:2] == (member, what.partition)]:
            del run.waiting[key]
    nothing_ms = event.ms - run.polled.get(member, event.ms)
    late = {
        line: key[2]
        for key, (ms, line) in run.waiting.items()
        if key[0] == member and min(nothing_ms, event.ms - ms) >= LIMIT_MS
    }
    if late and (what.error or len(late) > 1):
        (line, offset), name = next(iter(late.items())), "POLLS_GO_ON"
        cause = what.error or ("after a renewal" if member in run.renews else "")
        recorded = f"nothing in {nothing_ms} ms"
        yield cluster_finding(event, seq, offset, name, recorded, "records", line, cause=cause)


def _judge_told(
    run: ShareConsumers, event: ClusterEvent, what: ApplicationTold, seq: int
) -> Iterator[Finding]:
    run.seen[what.member] = event.ms
    for offset in what.offsets:
        key = what.member, what.partition, offset
        _ms, line = run.said.pop(key, (0, ""))
        if what.error != _NONE:
            continue
        run.answered[key] -= 1
        if run.answered[key] < 0:
            recorded, cause = "told that it succeeded", "no leader answered so"
            found = cluster_finding(
                event, seq, offset, "TOLD_AS_ANSWERED", recorded, cause, line, cause=cause
            )
            yield found


def _judge_untold(
    run: ShareConsumers, event: ClusterEvent, partition: int, seq: int
) -> Iterator[Finding]:
    """Judge what applications that go on were never told, some time after they acknowledged it."""
    for (member, place, offset), (ms, line) in run.said.items():
        goes_on = event.ms - run.seen[member] < LIMIT_MS
        if place == partition and goes_on and event.ms - ms >= LIMIT_MS:
            name, cause = "TOLD_AS_ANSWERED", "never told"
            yield cluster_finding(event, seq, offset, name, cause, "told", line, cause=cause)
