"""Everything that was observed of the partitions of some topics, judged group by group.

What no broker does that keeps to the rules is looked at again: more slack, or something unseen, may
explain it.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

import attrs

from judge.finding import Finding
from replay.observed.gaps import missing_of
from replay.observed.judge import ObservationJudge
from replay.observed.known import NOTHING_SEEN, Premises
from replay.observed.log_view import log_view
from replay.observed.observation import (
    OF_LOG,
    OF_TOPIC,
    Facts,
    Kind,
    Lapse,
    ListedBroker,
    LogExtent,
    NamedTopic,
    Observation,
    SessionEvent,
    SettingEvent,
    grouped,
    of_kind,
)
from replay.observed.record import ALWAYS, NEVER, Allowance
from replay.observed.settings import Assumed
from replay.observed.state_topic import in_order
from replay.observed.verdict import Doubt, ObservedVerdict
from replay.verdict import Verdict

MORE_SLACK = (2, 5)
"""With how many times the slack a divergence is looked at again."""

MOST_ALONE = 4
"""How many times with missing lines are looked at alone, the last before a divergence."""

_OF_COORDINATOR = frozenset({Kind.WRITE, Kind.READ, Kind.INITIALIZE})


def judged(
    seen: Iterable[Observation], facts: Facts, gaps: Iterable[Lapse], settings: Assumed
) -> Iterator[ObservedVerdict]:
    """Yield a verdict on each share-partition of the observations."""
    names = {each.topic: each.name for each in of_kind(NamedTopic, facts)}
    ids = {each.name: each.topic for each in of_kind(NamedTopic, facts)}
    extents = of_kind(LogExtent, facts)
    sessions = grouped(of_kind(SessionEvent, facts), attrgetter("group"))
    alterations = grouped(of_kind(SettingEvent, facts), attrgetter("group"))
    of_logs = grouped(seen, lambda each: each.kind in OF_LOG)
    logs = grouped(of_logs.get(True, ()), attrgetter("log"))
    share_partitions = grouped(of_logs.get(False, ()), attrgetter("group", "log"))
    for each in of_kind(Observation, facts):
        logs.setdefault(f"{ids.get(each.topic, each.topic)}:{each.partition}", []).append(each)
    # All groups that read a log share what is known of it.
    views = {log: functools.cache(functools.partial(log_view, some)) for log, some in logs.items()}
    gaps = list(gaps)
    nodes = {each.node for each in of_kind(ListedBroker, facts)}
    complete = bool(nodes) and len(nodes) <= len({extent.broker for extent in extents})
    since, until = _reach(extents)
    missing = tuple(missing_of(facts, settings))
    for (group, log), of_both in sorted(share_partitions.items()):
        if not (some := [each for each in of_both if each.kind not in OF_TOPIC]):
            continue
        topic, _, partition = log.rpartition(":")
        brokers = {each.broker for each in some}
        own = [gap for gap in gaps if gap.broker in brokers]
        step = max((gap.step for gap in own), default=0)
        given = Premises(
            attrs.evolve(settings, skew_ms=settings.skew_ms + step),
            views.get(log, NOTHING_SEEN),
            tuple(sessions.get(group, ())),
            tuple(some),
            tuple(alterations.get(group, ())),
            writes_seen=any(each.kind in _OF_COORDINATOR for each in some),
            complete=complete,
            missing=tuple(gap for gap in missing if gap.broker in {"", *brokers}),
            since=since,
            until=until,
            dump=in_order(of_both),
        )
        name = f"{group}:{names.get(topic, topic)}:{partition}"
        yield judge(name, some, given, own)


def _reach(logs: Iterable[LogExtent]) -> tuple[float, float]:
    """Return the times between which the log of each broker has lines."""
    of_brokers = grouped(logs, attrgetter("broker")).values()
    firsts = (min(each.first for each in some) for some in of_brokers)
    lasts = (max(each.last for each in some) for some in of_brokers)
    return max(firsts, default=ALWAYS), min(lasts, default=NEVER)


def judge(
    partition: str, seen: Sequence[Observation], given: Premises, gaps: Sequence[Lapse] = ()
) -> ObservedVerdict:
    """Return the verdict on a share-partition.

    What diverges if all is seen is judged again with more slack, and with what may have happened
    unseen: if that explains it, it is undetermined, by the least that does.
    """

    def again(
        some: Sequence[Allowance], slack: float, missing: Sequence[Lapse] = given.missing
    ) -> ObservationJudge:
        around = [*gaps, *(missing if Allowance.LOST_LINES in some else ())]
        known = given.with_slack(slack)
        return ObservationJudge(partition, seen, known, around, frozenset(some))

    least = given.settings.slack_ms
    if any(each.late for each in seen):
        # One order of what happened that a legal broker can have had is enough.
        on_time = [attrs.evolve(each, late=0) for each in seen]
        prompt = ObservationJudge(partition, on_time, given, gaps).verdict()
        if not prompt.divergence:
            return prompt
    strict = again((), least)
    verdict = strict.verdict()
    if not verdict.divergence:
        return verdict
    unseen, slacks = tuple(_unseen(given)), [least * times for times in MORE_SLACK]
    loosest = again(unseen, slacks[-1])
    if loosest.verdict().divergence:
        most = given.settings.most_findings
        return _certain(strict.verdict(most), loosest.verdict(most))
    lost = _last_missing(given, seen, verdict.divergence)
    for some, slack, missing in [
        *(((), slack, ()) for slack in slacks),
        *(((Allowance.LOST_LINES,), least, (gap,)) for gap in lost),
        *(((one,), least, given.missing) for one in unseen),
    ]:
        explained = again(some, slack, missing).verdict()
        if not explained.divergence:
            return _in_doubt(explained, verdict.divergence, _reasons(some, slack, given, missing))
    reasons = _reasons(unseen, slacks[-1], given, given.missing)
    return _in_doubt(loosest.verdict(), verdict.divergence, reasons)


def _last_missing(
    given: Premises, seen: Iterable[Observation], finding: Finding
) -> Sequence[Lapse]:
    """Return the last times before what diverges of which lines may be missing."""
    where = finding.place.source, finding.place.line
    time = next((each.end for each in seen if (each.source, each.line) == where), NEVER)
    before = (gap for gap in given.missing if gap.begin <= time)
    return sorted(before, key=lambda gap: gap.end, reverse=True)[:MOST_ALONE]


def _certain(verdict: ObservedVerdict, loosest: ObservedVerdict) -> ObservedVerdict:
    """Return what nothing explains, as it shows first where all is seen."""
    ranges = [(each.offset or 0, each.last or 0) for each in loosest.divergences]
    found = [
        each
        for each in verdict.divergences
        if any((each.offset or 0) <= last and first <= (each.last or 0) for first, last in ranges)
    ]
    first, *more = found or loosest.divergences
    return attrs.evolve(loosest, divergence=first, more=tuple(more))


def _in_doubt(
    explained: ObservedVerdict, finding: Finding, reasons: tuple[str, ...]
) -> ObservedVerdict:
    return attrs.evolve(
        explained,
        verdict=Verdict.UNDETERMINED,
        reason="; ".join(reasons),
        doubt=Doubt(reasons, finding),
    )


def _reasons(
    some: Iterable[Allowance], slack: float, given: Premises, missing: Sequence[Lapse]
) -> tuple[str, ...]:
    lost = missing[0].reason if missing else ""
    reasons = [cause.value.format(lost) for cause in some]
    if slack > given.settings.slack_ms:
        reasons.append(f"the host was busy: it conforms with --slack {slack:g}")
    return tuple(reasons)


def _unseen(given: Premises) -> Iterator[Allowance]:
    """Yield what may have happened unseen, as far as anything shows that it may."""
    if given.missing:
        yield Allowance.LOST_LINES
    yield Allowance.LAST_WRITES
    if given.sessions.losses:
        yield Allowance.LOST_REQUEST
    if not (given.writes_seen and given.complete):
        yield Allowance.NEW_LEADER
    if given.settings.compacted is None:
        yield Allowance.COMPACTION
    yield Allowance.LOG_START
    yield Allowance.REPEATED_APPEND
