"""What replay says of the traces of simulated leaders."""

import gzip
import json
from pathlib import Path

import attrs

from conformance.cluster.simulated import JudgedTraces
from conformance.target import TargetError
from judge.finding import Finding
from replay.plan import Plan
from replay.processes import HereRunner
from replay.run import replay_sources
from replay.sources import SUFFIXES, find_sources

PROFILE = "kafka"
"""The profile that the traces are judged by."""

_SECOND = "a leader epoch had two objects"


def judge_leaders(folder: Path, paused_ms: int) -> JudgedTraces:
    """Replay the traces of a run against specification and implementation.

    The clock is virtual, so timers are late only by what nodes were paused, in ms. Raises
    TargetError if a trace is not whole or cannot be read.
    """
    if not any(folder.rglob(f"*{SUFFIXES[1]}")):
        return JudgedTraces()  # No node became a leader.
    plan = Plan(PROFILE, sweep_ms=paused_ms, max_divergences=100)
    result = replay_sources(HereRunner(), find_sources([folder]), plan)
    recorded = result.recordings
    if result.counts.unreadable or any(r.is_unfinished or r.dropped or r.faults for r in recorded):
        raise TargetError(f"the traces of a run are not whole: {recorded}, {result.problems[:3]}")
    findings = [each for verdict in result.verdicts for each in verdict.divergences]
    if findings:
        begins = _second_objects(folder)
        findings = [_with_cause(each, begins) for each in findings]
    return JudgedTraces(result.counts.events, result.counts.checked, tuple(findings))


def _second_objects(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the first leader epoch and instance of each share-partition that was no first one."""
    first: dict[str, tuple[int, int]] = {}
    for path in folder.rglob(f"*{SUFFIXES[1]}"):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if row.get("instance"):
                    name, place = row["partition"], (row["leader_epoch"], row["instance"])
                    first[name] = min(place, first.get(name, place))
    return first


def _with_cause(finding: Finding, second: dict[str, tuple[int, int]]) -> Finding:
    """Tell apart what follows a second object in a leader epoch: the first may write on."""
    row = json.loads(finding.place.event)
    begin = second.get(row["partition"])
    if begin and (row["leader_epoch"], row["instance"]) >= begin:
        return attrs.evolve(finding, cause=(*finding.probable_cause, _SECOND))
    return finding
