"""What replay says of a recorded trace."""

from judge.finding import Finding
from replay.verdict import Verdict
from tests.recorder.account import Trace
from tests.replay.samples import replayed


def findings(trace: Trace) -> list[Finding]:
    """Return the first finding on each share-partition, its leaders one after another."""
    assert trace.folder
    verdicts = replayed(trace.folder).verdicts
    assert Verdict.UNREADABLE not in {each.verdict for each in verdicts}, verdicts
    return [finding for each in verdicts for finding in each.divergences]


def conforms(trace: Trace) -> bool:
    """Return whether the rules allow all of it; show the first that they do not."""
    found = findings(trace)
    for finding in found:
        print(finding)  # noqa: T201 - for the report of a test that fails
    return bool(trace.rows) and not found
