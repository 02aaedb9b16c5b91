"""Everything that was observed of the partitions of some topics, judged group by group."""

from collections.abc import Iterable, Iterator

import attrs

from replay.observed.doubts import judge
from replay.observed.facts import Facts, Gap, LogExtent
from replay.observed.gaps import missing_of
from replay.observed.known import Given
from replay.observed.observation import OF_LOG, OF_TOPIC, Kind, Observation
from replay.observed.record import ALWAYS, NEVER
from replay.observed.settings import Settings
from replay.observed.state_topic import in_order
from replay.observed.verdict import ObservedVerdict

_OF_COORDINATOR = frozenset({Kind.WRITE, Kind.READ, Kind.INITIALIZE})


def judged(
    seen: Iterable[Observation], facts: Facts, gaps: Iterable[Gap], settings: Settings
) -> Iterator[ObservedVerdict]:
    """Yield a verdict on each share-partition of the observations."""
    names = dict(facts.names)
    ids = {name: topic for topic, name in facts.names}
    logs: dict[str, list[Observation]] = {}
    share_partitions: dict[tuple[str, str], list[Observation]] = {}
    dumped: dict[tuple[str, str], list[Observation]] = {}
    for each in seen:
        if each.kind in OF_LOG:
            logs.setdefault(each.log, []).append(each)
        elif each.kind in OF_TOPIC:
            dumped.setdefault((each.group, each.log), []).append(each)
        else:
            share_partitions.setdefault((each.group, each.log), []).append(each)
    for each in facts.named:
        logs.setdefault(f"{ids.get(each.topic, each.topic)}:{each.partition}", []).append(each)
    gaps = list(gaps)
    complete = bool(facts.nodes) and len(facts.nodes) <= len(
        {extent.broker for extent in facts.logs}
    )
    since, until = _reach(facts.logs)
    missing = tuple(missing_of(facts))
    for (group, log), some in sorted(share_partitions.items()):
        topic, _, partition = log.rpartition(":")
        brokers = {each.broker for each in some}
        own = [gap for gap in gaps if gap.broker in brokers]
        step = max((gap.step for gap in own), default=0)
        given = Given(
            attrs.evolve(settings, skew_ms=settings.skew_ms + step),
            tuple(logs.get(log, ())),
            tuple(event for event in facts.sessions if event.group == group),
            tuple(some),
            tuple(event for event in facts.settings if event.group == group),
            writes_seen=any(each.kind in _OF_COORDINATOR for each in some),
            complete=complete,
            missing=tuple(gap for gap in missing if gap.broker in {"", *brokers}),
            since=since,
            until=until,
            dump=in_order(dumped.get((group, log), ())),
        )
        name = f"{group}:{names.get(topic, topic)}:{partition}"
        yield judge(name, some, given, own)


def _reach(logs: Iterable[LogExtent]) -> tuple[float, float]:
    """Return the times between which the log of each broker has lines."""
    firsts: dict[str, float] = {}
    lasts: dict[str, float] = {}
    for each in logs:
        firsts[each.broker] = min(each.first, firsts.get(each.broker, NEVER))
        lasts[each.broker] = max(each.last, lasts.get(each.broker, ALWAYS))
    return max(firsts.values(), default=ALWAYS), min(lasts.values(), default=NEVER)
