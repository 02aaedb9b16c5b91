"""Whether more slack, or something unseen, explains what no broker does that keeps to the rules."""

from collections.abc import Iterable, Iterator, Sequence

import attrs

from judge.finding import Finding
from replay.observed.facts import Gap
from replay.observed.judge import Judge
from replay.observed.known import Given
from replay.observed.observation import Observation
from replay.observed.record import Allowance
from replay.observed.verdict import Doubt, ObservedVerdict
from replay.verdict import Verdict

MORE_SLACK = (2, 5)
"""With how many times the slack a divergence is looked at again."""


def judge(
    partition: str, seen: Sequence[Observation], given: Given, gaps: Sequence[Gap] = ()
) -> ObservedVerdict:
    """Return the verdict on a share-partition.

    What diverges if all is seen is judged again with more slack, and with what may have happened
    unseen: if that explains it, it is undetermined, by the least that does.
    """

    def again(some: Sequence[Allowance], slack: float) -> ObservedVerdict:
        around = [*gaps, *(given.missing if Allowance.LOST_LINES in some else ())]
        known = given.with_slack(slack)
        return Judge(partition, seen, known, around, frozenset(some)).verdict()

    least = given.settings.slack_ms
    if any(each.late for each in seen):
        # One order of what happened that a legal broker can have had is enough.
        on_time = [attrs.evolve(each, late=0) for each in seen]
        prompt = Judge(partition, on_time, given.with_slack(least), gaps).verdict()
        if not prompt.divergence:
            return prompt
    verdict = again((), least)
    if not verdict.divergence:
        return verdict
    unseen, slacks = tuple(_unseen(given)), [least * times for times in MORE_SLACK]
    loosest = again(unseen, slacks[-1])
    if loosest.divergence:
        return _certain(verdict, loosest)
    for some, slack in [*(((), slack) for slack in slacks), *(((one,), least) for one in unseen)]:
        explained = again(some, slack)
        if not explained.divergence:
            return _in_doubt(explained, verdict.divergence, _reasons(some, slack, given))
    return _in_doubt(loosest, verdict.divergence, _reasons(unseen, slacks[-1], given))


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


def _reasons(some: Iterable[Allowance], slack: float, given: Given) -> tuple[str, ...]:
    missing = given.missing[0].reason if given.missing else ""
    reasons = [cause.value.format(missing) for cause in some]
    if slack > given.settings.slack_ms:
        reasons.append(f"the host was busy: it conforms with --slack {slack:g}")
    return tuple(reasons)


def _unseen(given: Given) -> Iterator[Allowance]:
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
