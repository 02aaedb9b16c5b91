"""Apache Kafka's group coordinator: what is known of the newest release, and an older one."""

from contextlib import closing

import pytest

from conformance.campaign import Campaign, Limits, campaign, replayed
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.coordinators.named import COORDINATORS, coordinator_target
from conformance.coordinators.target import CoordinatorHello
from conformance.known import read_known
from conformance.releases import NEWEST
from conformance.target import TargetError
from tests.conformance.unbuilt import skip_unbuilt

NAME = "kafka-group-coordinator"
KIT = COORDINATORS[NAME].kit
KNOWN = read_known(COORDINATORS[NAME].known, KIT.read)


def searched(version: str) -> Campaign[object]:
    try:
        target = coordinator_target(NAME, 60, version)
    except TargetError as error:
        skip_unbuilt(error)
    with closing(target):
        hello = target.hello()
        assert hello.version == version
        if version == NEWEST:
            assert all(each.fault for each in replayed(target, hello, KNOWN, KIT))
        limits = Limits(sequences=150, examples=1, shrink_seconds=0)
        return campaign(target, limits, KIT, known=KNOWN)


@pytest.mark.slow
def test_the_newest_release_shows_what_is_known_and_nothing_else() -> None:
    assert searched(NEWEST).faults == ()


@pytest.mark.slow
def test_an_older_release_shows_what_a_later_one_mended() -> None:
    causes = {": ".join(fault.deviation.probable_cause) for fault in searched("4.1.2").faults}
    assert "FIRST_OFFSET: heartbeat: start offset 0 is due" in causes
    assert "GROUP_EPOCH_STAYS: heartbeat" in causes


def test_a_release_without_what_a_sequence_needs_is_not_asked() -> None:
    old = CoordinatorHello(
        "old", "4.0.2", "kafka", GroupCapabilities(initializes=False, offsets=False)
    )
    needs = {known.name: KIT.lacking(old, known.sequence) for known in KNOWN}
    assert needs["altered-offsets-keep-the-group-epoch"] == "needs offsets"
    assert needs["initialization-tried-again-starts-at-0"] == "needs initializes"
    assert all(needs.values())
