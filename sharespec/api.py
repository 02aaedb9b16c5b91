"""The public interface of sharespec, from where it is defined; imported when it is first used."""

from impl.partition import FastSharePartition
from model.profile import KAFKA, KIP, Profile, profile_named
from replay.frame import Checked, check
from replay.generate import Request, generate_traces
from replay.plan import Plan
from replay.processes import HereRunner
from replay.run import replay_sources
from replay.runner import SessionError
from replay.session import SparkRunner, open_session
from replay.sources import NoSuchTraceError, find_sources
from replay.stream import Batch, check_stream
from replay.verdict import Divergence, PartitionVerdict, Problem, Replay, Verdict
from spec.step import apply, new_partition

__all__ = [
    "KAFKA",
    "KIP",
    "Batch",
    "Checked",
    "Divergence",
    "FastSharePartition",
    "HereRunner",
    "NoSuchTraceError",
    "PartitionVerdict",
    "Plan",
    "Problem",
    "Profile",
    "Replay",
    "Request",
    "SessionError",
    "SparkRunner",
    "Verdict",
    "apply",
    "check",
    "check_stream",
    "find_sources",
    "generate_traces",
    "new_partition",
    "open_session",
    "profile_named",
    "replay_sources",
]
