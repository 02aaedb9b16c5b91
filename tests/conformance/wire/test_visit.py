"""A member that joins for a moment shows the settings that its group has of its own."""

from collections.abc import Mapping

import attrs
import pytest

from conformance.campaign import play
from conformance.wire import asks
from conformance.wire.kit import BROKERS
from conformance.wire.target import GroupTopic, HeartbeatReply, WireCapabilities
from conformance.wire.visit import PAUSE_MS, TRIES
from model.errors import ErrorCode
from tests.conformance.wire.worlds import CONFIG
from tests.doubles.broker_faults import BrokerFault, WireFault
from tests.doubles.spec_broker import CAPABILITIES, SpecBroker
from tools.promises.behaviour import HONEST

NONE, UNKNOWN, FULL = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
)
SILENT = asks.WireBriefMember(silent=True)


class Visited(SpecBroker):
    """A broker that notes what members it had, and answers some heartbeats as is said."""

    def __init__(
        self,
        fault: BrokerFault = HONEST,
        said: Mapping[int, HeartbeatReply] | None = None,
        can: WireCapabilities = CAPABILITIES,
        late_ms: float = 0,
    ) -> None:
        super().__init__(fault, can=can)
        self.said, self.epochs, self.late_ms = said or {}, list[int](), late_ms
        self.settings: list[Mapping[str, str | None]] = []

    def heartbeat(self, place: GroupTopic, member: str, epoch: int) -> HeartbeatReply:
        self.epochs.append(epoch)
        now = super().heartbeat(place, member, epoch)
        told = self.said.get(len(self.epochs))
        took = self.late_ms if told else 0
        told = told or now
        return attrs.evolve(told, sent_ms=now.sent_ms, received_ms=now.received_ms + took)

    def set_group(self, place: GroupTopic, settings: Mapping[str, str | None]) -> None:
        self.settings.append(settings)
        super().set_group(place, settings)


def visited(broker: Visited, ask: asks.WireBriefMember) -> tuple[str, str, str] | None:
    """Return the rule that is broken with what was told and what was due."""
    found = play(broker, broker.hello(), (asks.WireOpen(CONFIG), ask), BROKERS)[2]
    return next(((each.name, each.recorded, each.expected) for each in found), None)


@pytest.mark.parametrize("ask", [asks.WireBriefMember(0), asks.WireBriefMember(1), SILENT])
def test_a_member_is_told_the_interval_of_its_group_until_it_goes(
    ask: asks.WireBriefMember,
) -> None:
    broker = Visited()
    assert visited(broker, ask) is None
    altered, removed = broker.settings
    assert removed == dict.fromkeys(altered)
    assert altered["share.heartbeat.interval.ms"] == ("15000" if ask.nth else "500")
    assert altered.get("share.session.timeout.ms") == ("1000" if ask.silent else None)
    assert [epoch for epoch in broker.epochs if epoch < 1] == [0, 0, -1]


@pytest.mark.parametrize(
    ("fault", "ask", "found"),
    [
        (WireFault.INTERVAL_IS_DEFAULT, SILENT, ("GROUP_INTERVAL", "5000 ms", "500 ms")),
        (
            WireFault.INTERVAL_IS_TOLD_ONCE,
            asks.WireBriefMember(1),
            ("GROUP_INTERVAL", "5000 ms", "15000 ms"),
        ),
        (WireFault.TIMEOUT_IS_DEFAULT, SILENT, ("SILENT_LEAVES", "500 ms", "UNKNOWN_MEMBER_ID")),
        (WireFault.TIMEOUT_IS_DEFAULT, asks.WireBriefMember(), None),
        (WireFault.BRIEF_IS_REMOVED, SILENT, ("GROUP_INTERVAL", "UNKNOWN_MEMBER_ID", "500 ms")),
        (WireFault.BRIEF_IS_REMOVED, asks.WireBriefMember(), None),
    ],
)
def test_a_setting_of_a_group_that_is_ignored_shows(
    fault: WireFault, ask: asks.WireBriefMember, found: tuple[str, str, str] | None
) -> None:
    broker = Visited(fault)
    assert visited(broker, ask) == found
    assert broker.epochs[-1] == -1
    assert set(broker.settings[-1].values()) == {None}


def test_altered_settings_may_be_in_force_later() -> None:
    stale = HeartbeatReply(NONE, 3, 5000, 0, 0)
    broker = Visited(said=dict.fromkeys(range(1, TRIES), stale))
    assert visited(broker, asks.WireBriefMember()) is None
    late = Visited(said=dict.fromkeys(range(1, TRIES + 1), stale))
    assert visited(late, asks.WireBriefMember()) == ("GROUP_INTERVAL", "5000 ms", "500 ms")
    assert TRIES * PAUSE_MS == 5000


def test_a_member_that_is_not_let_in_is_a_deviation_but_where_the_group_is_full() -> None:
    refused = HeartbeatReply(ErrorCode.INVALID_REQUEST, 0, 0, 0, 0)
    never = Visited(said=dict.fromkeys(range(1, TRIES + 1), refused))
    assert visited(never, asks.WireBriefMember()) == ("GROUP_INTERVAL", "INVALID_REQUEST", "500 ms")
    full = Visited(said={1: attrs.evolve(refused, error=FULL)})
    assert visited(full, asks.WireBriefMember()) is None


def test_a_machine_slower_than_the_timeout_is_no_deviation() -> None:
    gone = HeartbeatReply(UNKNOWN, 0, 0, 0, 0)
    assert visited(Visited(said={2: gone}, late_ms=1000), SILENT) is None
    assert visited(Visited(said={2: gone}, late_ms=900), SILENT) is not None
    assert visited(Visited(said={2: gone}), asks.WireBriefMember()) is not None


def test_settings_that_go_late_are_waited_for() -> None:
    stale = HeartbeatReply(NONE, 3, 500, 0, 0)
    broker = Visited(said={3: stale, 4: stale})
    assert visited(broker, asks.WireBriefMember()) is None
    assert [epoch for epoch in broker.epochs if epoch < 1] == [0, 0, 0, 0, -1]


def test_a_broker_that_cannot_is_not_asked() -> None:
    cannot = Visited(can=attrs.evolve(CAPABILITIES, heartbeats_ms=(), timeout_ms=0))
    assert visited(cannot, SILENT) is None
    assert not cannot.epochs
    unbearable = Visited(can=attrs.evolve(CAPABILITIES, timeout_ms=0))
    assert visited(unbearable, SILENT) is None
    assert unbearable.settings[0].keys() == {"share.heartbeat.interval.ms"}
