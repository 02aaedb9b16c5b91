"""The public interface of sharespec, from where it is defined; imported when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

import replay
import serve
from impl.partition import FastSharePartition
from judge.finding import Finding
from model.profile import KAFKA, KIP, Profile, profile_named
from replay.generate import Request, generate_traces
from replay.plan import Plan
from replay.processes import HereRunner, SessionError
from replay.result_schema import result_tables
from replay.run import replay_sources
from replay.sources import NoSuchTraceError, find_sources
from replay.verdict import PartitionVerdict, Problem, Replay, Verdict
from sharespec.extras import what_to_install
from spec.step import apply, new_partition

if TYPE_CHECKING:
    from replay.distant import replay_distant
    from replay.frame import Checked, check
    from replay.session import SparkRunner, open_session, ship
    from replay.stream import Batch, check_stream
    from serve.running import ServedBroker, serving

__all__ = [
    "KAFKA",
    "KIP",
    "Batch",
    "Checked",
    "FastSharePartition",
    "Finding",
    "HereRunner",
    "NoSuchTraceError",
    "PartitionVerdict",
    "Plan",
    "Problem",
    "Profile",
    "Replay",
    "Request",
    "ServedBroker",
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
    "replay_distant",
    "replay_sources",
    "result_tables",
    "serving",
    "ship",
]

_LATE = {
    "Batch": f"{replay.__name__}.stream",
    "Checked": f"{replay.__name__}.frame",
    "ServedBroker": f"{serve.__name__}.running",
    "SparkRunner": f"{replay.__name__}.session",
    "check": f"{replay.__name__}.frame",
    "check_stream": f"{replay.__name__}.stream",
    "open_session": f"{replay.__name__}.session",
    "replay_distant": f"{replay.__name__}.distant",
    "serving": f"{serve.__name__}.running",
    "ship": f"{replay.__name__}.session",
}
"""The modules that have what takes long to load, or needs Spark, which is an extra."""


def __getattr__(name: str) -> object:
    """Return what is loaded late.

    Raises ImportError, with what to install, where an extra is missing.
    """
    if name not in _LATE:
        raise AttributeError(f"sharespec has no {name}")
    try:
        return getattr(import_module(_LATE[name]), name)
    except ModuleNotFoundError as error:
        text = what_to_install(error, f"sharespec.{name}")
        if text is None:
            raise
        raise ImportError(text, name=error.name) from None
