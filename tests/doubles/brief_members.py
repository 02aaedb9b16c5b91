"""Heartbeats of a broker under test, and the settings that its groups have of their own."""

from collections.abc import Mapping
from types import ModuleType, SimpleNamespace

from conformance.wire.messages import Message, request
from conformance.wire.target import GroupTopic, HeartbeatReply
from model.errors import ErrorCode
from serve.node import Cluster
from tests.doubles.broker_faults import (
    BrokerFault,
    faulty_heartbeat,
    faulty_removal,
    faulty_settings,
)

NAME, MEMBER = "t", "-"
"""The topic, and the member that the group needs."""
LEAST = {
    "group.share.min.heartbeat.interval.ms": 500,
    "group.share.min.session.timeout.ms": 1000,
}
"""Settings of the broker: the least that a group may have."""


class BriefMembers:
    """The part of a broker under test that serves members which join for a moment."""

    _cluster: Cluster
    _coordination: ModuleType
    _fault: BrokerFault
    _clock: float

    def _reply(self, asked: Message, connection: str = "") -> SimpleNamespace:
        raise NotImplementedError

    def set_group(self, place: GroupTopic, settings: Mapping[str, str | None]) -> None:
        """Alter settings of the group, which are in force at once."""
        own = {**self._cluster.settings.get(place.group, {})}
        for name, value in faulty_settings(self._fault, settings).items():
            own.pop(name, None)
            own |= {name: value} if value is not None else {}
        self._cluster.settings[place.group] = own

    def throttle(self, *, on: bool) -> float:  # noqa: ARG002 - of the Protocol
        """Do nothing: it has no quotas."""
        return self._clock

    def heartbeat(self, place: GroupTopic, member: str, epoch: int) -> HeartbeatReply:
        """Answer a heartbeat; before it remove who was silent, but not whom the group needs."""
        group = self._cluster.groups[place.group]
        group.members[MEMBER].heard = self._cluster.real_clock()
        for _removed in self._coordination.expel(self._cluster):
            pass
        sent = self._clock
        said = self._reply(
            request(
                "share_group_heartbeat",
                1,
                group_id=place.group,
                member_id=member,
                member_epoch=epoch,
                subscribed_topic_names=None if epoch else [NAME],
            )
        )
        told, error = faulty_heartbeat(self._fault, said.heartbeat_interval, epoch), said.error_code
        if faulty_removal(self._fault, self._cluster.settings.get(place.group, {}), epoch):
            error = ErrorCode.UNKNOWN_MEMBER_ID
        return HeartbeatReply(ErrorCode(error), said.member_epoch, told, sent, self._clock)
