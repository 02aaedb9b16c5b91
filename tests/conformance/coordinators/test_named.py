"""Apache Kafka's share coordinator: what is known of the newest release, and an older one."""

from contextlib import closing

import pytest

from conformance.campaign import Limits, campaign, replayed
from conformance.coordinators.named import COORDINATORS, coordinator_target
from conformance.known import read_known
from conformance.releases import NEWEST
from conformance.target import TargetError
from tests.conformance.unbuilt import skip_unbuilt

NAME = "kafka-coordinator"
KIT = COORDINATORS[NAME].kit
KNOWN = read_known(COORDINATORS[NAME].known, KIT.read)


def test_a_release_that_does_not_exist_is_told_in_one_line() -> None:
    with pytest.raises(TargetError, match=r"'4\.9\.9' cannot be driven; allowed: 4\.0\.0, "):
        coordinator_target(NAME, 1, "4.9.9")


@pytest.mark.slow
@pytest.mark.parametrize(("version", "shown"), [("4.1.2", "COORDINATOR_IS_FOUND"), (NEWEST, None)])
def test_a_release_shows_the_fault_that_a_later_one_mended(version: str, shown: str | None) -> None:
    try:
        target = coordinator_target(NAME, 60, version)
    except TargetError as error:
        skip_unbuilt(error)
    with closing(target):
        hello = target.hello()
        assert hello.version == version
        limits = Limits(sequences=150, examples=1, shrink_seconds=0)
        found = campaign(target, limits, KIT, known=KNOWN)
        assert {fault.deviation.name for fault in found.faults} >= ({shown} if shown else set())
        if version == NEWEST:
            assert found.faults == ()
            assert found.met.keys() == {known.name for known in KNOWN}
            assert all(each.fault for each in replayed(target, hello, KNOWN, KIT))
