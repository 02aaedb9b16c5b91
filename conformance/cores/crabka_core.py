"""The core of crabka's share-partition leader, as a target in virtual time."""

import shlex
from pathlib import Path

from conformance.build import build
from conformance.cores.process import core_target
from conformance.cores.protocol import DriverTarget
from conformance.cores.target import Capabilities
from conformance.wire.servers import CRABKA

_PROJECT = Path(__file__).parents[1] / "targets" / "crabka"
KNOWN = _PROJECT / "known-core.toml"
"""The known deviations of crabka's core."""


def crabka_core_target(seconds: float, project: Path = _PROJECT) -> DriverTarget[Capabilities]:
    """Start the driver, and build it first if a source is newer than the last build.

    Raises TargetError if cargo is missing, or the registry of crates cannot be reached.
    """
    project = build(project, CRABKA)
    return core_target(shlex.quote(str(project / "target" / "debug" / "core")), seconds)
