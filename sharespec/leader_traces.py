"""What replay says of the traces of leaders in a cluster, simulated or real."""

from collections.abc import Sequence
from pathlib import Path

from conformance.cluster.simulated import JudgedTraces
from conformance.target import TargetError
from replay.plan import Plan
from replay.processes import HereRunner
from replay.run import replay_sources
from replay.sources import SUFFIXES, find_sources
from replay.verdict import Replay

PROFILE = "kafka"
"""The profile that the traces are judged by."""


def judge_leaders(folder: Path, paused_ms: int) -> JudgedTraces:
    """Replay the traces of a run against specification and implementation.

    The clock is virtual, so timers are late only by what nodes were paused, in ms. Raises
    TargetError if a trace is not whole or cannot be read.
    """
    if not any(folder.rglob(f"*{SUFFIXES[1]}")):
        return JudgedTraces()  # No node became a leader.
    result = replay_leaders([folder], paused_ms)
    recorded = result.recordings
    if result.counts.unreadable or any(r.is_unfinished or r.dropped or r.faults for r in recorded):
        raise TargetError(f"the traces of a run are not whole: {recorded}, {result.problems[:3]}")
    findings = tuple(each for verdict in result.verdicts for each in verdict.divergences)
    return JudgedTraces(result.counts.events, result.counts.checked, findings)


def replay_leaders(folders: Sequence[Path], sweep_ms: int) -> Replay:
    """Replay what leaders recorded on several nodes, whose timers may be so many ms late.

    Raises NoSuchTraceError if nothing was recorded.
    """
    plan = Plan(PROFILE, sweep_ms=sweep_ms, max_divergences=100)
    return replay_sources(HereRunner(), find_sources(folders), plan)
