"""A member that joins for a moment, by whose heartbeats the settings of its group show."""

from uuid import uuid4

from conformance.wire.allowed import INTERVAL, TIMEOUT
from conformance.wire.asks import WireBriefMember
from conformance.wire.explain import AnswerMismatch, WireDifference
from conformance.wire.target import GroupTopic, HeartbeatReply, WireCapabilities, WireTarget
from model.errors import ErrorCode
from spec.group_membership import JOINING, LEAVING

TRIES, PAUSE_MS = 10, 500
"""How often, and after which pauses (ms), a member joins until altered settings are in force."""
SILENCE_MS = 2000
"""How late a silent member may be removed (ms)."""
_HEARTBEAT = "heartbeat"
_NONE, _UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID


class Visit:
    """One such member. ``said`` is the answer that counts: the last before the settings go.

    ``left_ms``: when it had left, of the monotonic clock. The group needs another member, so that
    it is not empty when this one has gone.
    """

    said: HeartbeatReply
    left_ms: float

    def __init__(
        self, target: WireTarget, place: GroupTopic, can: WireCapabilities, ask: WireBriefMember
    ) -> None:
        """Send nothing yet. ``can`` has a heartbeat interval that a group can have."""
        self._target, self._place, self._member = target, place, str(uuid4())
        self._silent = ask.silent and can.timeout_ms > 0
        nth = 0 if self._silent else ask.nth % len(can.heartbeats_ms)
        self._interval, self._timeout = can.heartbeats_ms[nth], can.timeout_ms

    @property
    def name(self) -> str:
        """What was asked, as a search counts it."""
        return f"ShareGroupHeartbeat{' after silence' if self._silent else ''}"

    def texts(self) -> tuple[str, str]:
        """Return what was done and what was answered, in words."""
        asked = f"a member joins the group, whose own heartbeat interval is {self._interval} ms"
        if self._silent:
            asked += f", and is silent for longer than its own session timeout, {self._timeout} ms"
        return asked, self._told()

    def judged(self) -> list[AnswerMismatch]:
        """Alter the group's settings, join, and remove them again; return what is wrong.

        Raises TargetError.
        """
        settings = {INTERVAL: str(self._interval)}
        if self._silent:
            settings[TIMEOUT] = str(self._timeout)
        self._target.set_group(self._place, settings)
        wrong = self._wrong()
        self._target.set_group(self._place, dict.fromkeys(settings))
        self._leave()
        return wrong

    def _wrong(self) -> list[AnswerMismatch]:
        for _try in range(TRIES):
            self._beat(JOINING)
            if self.said.error is _NONE and self.said.interval_ms == self._interval:
                joined = self.said
                self._beat(joined.epoch)
                if self._is_late(joined):
                    return []
                break
            if self.said.error is ErrorCode.GROUP_MAX_SIZE_REACHED:
                return []
            self._target.wait(PAUSE_MS)
        if self.said.error is not _NONE or self.said.interval_ms != self._interval:
            return [self._mismatch(WireDifference.GROUP_INTERVAL, f"{self._interval} ms")]
        if self._silent:
            self._target.wait(self._timeout + SILENCE_MS)
            self._beat(self.said.epoch)
            if self.said.error is not _UNKNOWN:
                return [self._mismatch(WireDifference.SILENT_LEAVES, _UNKNOWN.name)]
        return []

    def _is_late(self, joined: HeartbeatReply) -> bool:
        """Whether this machine was slower than the timeout, so that the member is none any more."""
        took = self.said.received_ms - joined.sent_ms
        return self._silent and self.said.error is _UNKNOWN and took >= self._timeout

    def _leave(self) -> None:
        """Leave, once the settings are those of before: members that join later need them."""
        last = self.said
        for _try in range(TRIES):
            self._beat(JOINING)
            if self.said.interval_ms != self._interval:
                break
            self._target.wait(PAUSE_MS)
        self._beat(LEAVING)
        self.said, self.left_ms = last, self.said.received_ms

    def _beat(self, epoch: int) -> None:
        self.said = self._target.heartbeat(self._place, self._member, epoch)

    def _mismatch(self, kind: WireDifference, expected: str) -> AnswerMismatch:
        return AnswerMismatch(kind, _HEARTBEAT, self._told(), expected)

    def _told(self) -> str:
        said = self.said
        return said.error.name if said.error is not _NONE else f"{said.interval_ms} ms"
