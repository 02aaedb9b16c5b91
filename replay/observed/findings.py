"""What was found in request logs as verdicts of a replay, as known faults and reports have them."""

from judge.finding import FindingKind
from model.guards import Guard
from replay.observed.run import Observed
from replay.observed.verdict import ObservedVerdict, Outcome, Wrong
from replay.verdict import Divergence, PartitionVerdict, Replay, Verdict, counted

ENGINE = "request log"
"""What stands for the engine in a divergence that was found from outside."""

_VERDICTS = {
    Outcome.CONFORMS: Verdict.CONFORMS,
    Outcome.DIVERGES: Verdict.DIVERGES,
    Outcome.UNDETERMINED: Verdict.UNKNOWN,
    Outcome.UNKNOWN: Verdict.UNKNOWN,
}


def as_replay(result: Observed) -> Replay:
    """Return the result of a replay that says the same."""
    verdicts = [_verdict(each) for each in result.verdicts]
    return Replay(
        tuple(verdicts),
        (),
        counted(verdicts, []),
        result.seconds,
        interrupted=not result.whole,
        runner=result.runner,
    )


def divergence_of(partition: str, wrong: Wrong) -> Divergence:
    """Return a finding as a divergence; its line stands for the number of its event."""
    place = f"{wrong.source}:{wrong.line}"
    return Divergence(
        partition,
        wrong.line,
        wrong.source,
        wrong.line,
        ENGINE,
        FindingKind.GUARD if wrong.name in Guard.__members__ else FindingKind.DIFFERENCE,
        wrong.name,
        wrong.sentence,
        "",
        wrong.detail,
        "",
        "",
        "",
        offset=wrong.first,
        headline=wrong.detail,
        operation=wrong.operation,
        event_text=next((each.what for each in wrong.evidence if each.place == place), ""),
        operations_before=wrong.operations_before,
    )


def _verdict(each: ObservedVerdict) -> PartitionVerdict:
    judged = each.requests + each.writes
    divergences = tuple(divergence_of(each.partition, wrong) for wrong in each.findings)
    return PartitionVerdict(
        each.partition,
        _VERDICTS[each.outcome],
        judged + each.unchecked,
        judged,
        "; ".join(each.doubt.reasons) if each.doubt else "",
        divergences[0] if divergences else None,
        more=divergences[1:],
    )
