"""Apache Kafka's coordinators: what is known of the newest release, and an older one."""

import pytest

from conformance.campaign import Limits, campaign, replayed
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.releases import NEWEST
from conformance.subjects import TargetChoice, opened
from conformance.target import Hello, TargetError
from tests.conformance.unbuilt import opened_or_skipped
from tools.documents.findings import known_of

SHARE, GROUP = "kafka-coordinator", "kafka-group-coordinator"
KITS = {name: TargetChoice(name).kit for name in (SHARE, GROUP)}
KNOWN = {name: known_of(name) for name in KITS}
ADDED = "start offset 0 is due, and one that is new beside others starts at -1"
MENDED = {
    SHARE: {"FindPartition: a key is refused"},
    GROUP: {
        f"FIRST_OFFSET: heartbeat: {ADDED}",
        "GROUP_EPOCH_STAYS: heartbeat",
    },
}
"""Causes of what release 4.1.2 shows, and a later one mended."""


def test_a_release_that_does_not_exist_is_told_in_one_line() -> None:
    said = r"'4\.9\.9' cannot be driven; allowed: 4\.0\.0, "
    with pytest.raises(TargetError, match=said), opened(TargetChoice(SHARE, version="4.9.9")):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("version", ["4.1.2", NEWEST])
@pytest.mark.parametrize("name", KITS)
def test_a_release_shows_what_is_known_and_what_a_later_one_mended(name: str, version: str) -> None:
    kit, known = KITS[name], KNOWN[name]
    with opened_or_skipped(TargetChoice(name, silence=60, version=version)) as target:
        hello = target.hello()
        assert hello.version == version
        limits = Limits(sequences=150, examples=1, shrink_seconds=0)
        found = campaign(target, limits, kit, known=known)
        causes = {": ".join(fault.deviation.probable_cause) for fault in found.faults}
        if version == NEWEST:
            assert causes == set()
            names = {each.name for each in known}
            assert found.met.keys() == names if name == SHARE else {*found.met} <= names
            assert all(each.fault for each in replayed(target, hello, known, kit))
        else:
            assert causes >= MENDED[name]


def test_a_release_without_what_a_sequence_needs_is_not_asked() -> None:
    can = GroupCapabilities(initializes=False, offsets=False)
    old, kit = Hello("old", "4.0.2", "kafka", can), KITS[GROUP]
    needs = {known.name: kit.lacking(old, known.sequence) for known in KNOWN[GROUP]}
    assert needs["altered-offsets-keep-the-group-epoch"] == "needs offsets"
    assert needs["initialization-tried-again-starts-at-0"] == "needs initializes"
    assert all(needs.values())
