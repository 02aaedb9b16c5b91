"""Coordinators that the kit can start itself, by name, with their known deviations."""

from pathlib import Path

import attrs

from conformance.coordinators.group_kit import GROUP_COORDINATORS
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.coordinators.share_kit import SHARE_COORDINATORS
from conformance.coordinators.share_scene import ShareCapabilities
from conformance.cores.kafka import kafka_driver
from conformance.cores.protocol import DriverTarget
from conformance.kit import AnyKit

_KAFKA = Path(__file__).parents[1] / "targets" / "kafka"


@attrs.frozen
class NamedCoordinator:
    """A coordinator of Apache Kafka: the kit that drives it, and what its driver is.

    ``capabilities`` is the class of what it can do, ``main`` the driver's class in Java, ``known``
    the file of its known deviations.
    """

    kit: AnyKit
    capabilities: type[attrs.AttrsInstance]
    main: str
    known: Path


COORDINATORS = {
    "kafka-coordinator": NamedCoordinator(
        SHARE_COORDINATORS,
        ShareCapabilities,
        "CoordinatorDriver",
        _KAFKA / "known-share-coordinator.toml",
    ),
    "kafka-group-coordinator": NamedCoordinator(
        GROUP_COORDINATORS,
        GroupCapabilities,
        "GroupDriver",
        _KAFKA / "known-group-coordinator.toml",
    ),
}
"""Each coordinator by its name."""


def coordinator_target(
    name: str, seconds: float, version: str
) -> DriverTarget[attrs.AttrsInstance]:
    """Start a coordinator of ``COORDINATORS``, as ``kafka_target`` does. Raises TargetError."""
    coordinator = COORDINATORS[name]
    return kafka_driver(coordinator.main, coordinator.capabilities, seconds, version=version)
