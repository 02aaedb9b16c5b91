"""The public interface of sharespec; the command is in ``sharespec.cli``.

>>> with open_session() as session:
...     replay = replay_sources(session, find_sources(["traces"]), Plan())

Single operations are in ``spec.step`` and ``impl.partition``, the vocabulary in ``model``.
"""

from impl.partition import FastSharePartition
from model.profile import KAFKA, KIP, Profile, profile_named
from replay.check import Plan
from replay.generate import Request, generate_traces
from replay.run import Replay, replay_sources
from replay.session import SessionError, open_session
from replay.sources import NoSuchTraceError, find_sources
from replay.verdict import Divergence, PartitionVerdict, Problem, Verdict
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
