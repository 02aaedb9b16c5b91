"""``python -m tests.conformance.reach KIT...`` writes what searches reach into ``reach.toml``.

Which rules bound which operations is in the table of rules.
"""

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from conformance import goals
from conformance.campaign import Limits, campaign
from conformance.coordinators.group_kit import GROUP_COORDINATORS
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.coordinators.share_kit import SHARE_COORDINATORS
from conformance.coordinators.share_scene import ShareCapabilities
from conformance.cores.builtin import EngineTarget
from conformance.cores.kit import CORES
from conformance.cores.protocol import DriverTarget
from conformance.wire.kit import BROKERS
from tests.doubles.group_coordinator import GroupCoordinatorDouble
from tests.doubles.share_coordinator import DoubleCoordinator
from tests.doubles.spec_broker import SpecBroker

TABLE = Path(goals.__file__).with_name("reach.toml")
LEAST = 3
"""How often a search must come by what others should reach."""

_FOREVER = 1e6

SEARCHES: dict[str, Callable[[], dict[str, int]]] = {
    "core": lambda: campaign(EngineTarget("spec"), Limits(_FOREVER, 1500), CORES, 1).exercised,
    "broker": lambda: campaign(SpecBroker(), Limits(_FOREVER, 200), BROKERS, 1).exercised,
    "coordinator": lambda: (
        campaign(
            DriverTarget(DoubleCoordinator(), ShareCapabilities),
            Limits(_FOREVER, 300),
            SHARE_COORDINATORS,
            1,
        ).exercised
    ),
    "group": lambda: (
        campaign(
            DriverTarget(GroupCoordinatorDouble(""), GroupCapabilities),
            Limits(_FOREVER, 300),
            GROUP_COORDINATORS,
            1,
        ).exercised
    ),
}


def written(kit: str, counts: dict[str, int]) -> None:
    """Replace the list of a kit in the table, and leave the rest as it stands."""
    often = (name for name, count in counts.items() if count >= LEAST)
    names = sorted(name for name in often if " is bounded by " not in name)
    listed = "".join(f'    "{name}",\n' for name in names)
    head, rest = TABLE.read_text("utf-8").split(f"[{kit}]\nreaches = [", 1)
    text = f"{head}[{kit}]\nreaches = [\n{listed}]{rest.split(']', 1)[1]}"
    tomllib.loads(text)
    TABLE.write_text(text, "utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        written(name, SEARCHES[name]())
