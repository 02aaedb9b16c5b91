"""The public interface of sharespec, from where it is defined; imported when it is first used."""

from impl.partition import FastSharePartition
from model.profile import KAFKA, KIP, Profile, profile_named
from replay.check import Plan
from replay.generate import Request, generate_traces
from replay.run import replay_sources
from replay.session import SessionError, open_session
from replay.sources import NoSuchTraceError, find_sources
from replay.verdict import Divergence, PartitionVerdict, Problem, Replay, Verdict
from spec.step import apply, new_partition

__all__ = [
    "KAFKA",
    "KIP",
    "Divergence",
    "FastSharePartition",
    "NoSuchTraceError",
    "PartitionVerdict",
    "Plan",
    "Problem",
    "Profile",
    "Replay",
    "Request",
    "SessionError",
    "Verdict",
    "apply",
    "find_sources",
    "generate_traces",
    "new_partition",
    "open_session",
    "profile_named",
    "replay_sources",
]
