"""The membership of our small share consumer: its heartbeats, in a thread and over a connection."""

import threading
from types import SimpleNamespace
from typing import Any

from conformance.target import TargetError
from conformance.wire.connection import Address, Bounds, Wire
from conformance.wire.messages import request
from tests.doubles.share_faults import Fault

GROUP, MEMBER = "g", "m"
REFUSALS = (25, 110)
JOIN, LEAVE = 0, -1


class ShareMember:
    """A member of a group, which joins again where it is told that it is none."""

    def __init__(self, address: str, topics: list[str], fault: Fault | None) -> None:
        """Send nothing yet."""
        self.id, self.epoch = MEMBER, JOIN
        self._topics, self._fault = topics, fault
        self._wire = Wire(Address.parse(address), Bounds(seconds=60))
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._interval = 0.0
        self._thread = threading.Thread(target=self._beat_on, name="heartbeats")

    def join(self) -> list[SimpleNamespace]:
        """Join, go on with heartbeats, and return what it is assigned. Raises TargetError."""
        answer = self._beat(JOIN)
        if answer.error_code:
            raise TargetError(f"it cannot join: error {answer.error_code}")
        self._take(answer)
        self._thread.start()
        assigned: list[SimpleNamespace] = answer.assignment.topic_partitions
        return assigned

    def leave(self) -> None:
        """Leave the group, if it is in it."""
        self._stop()
        if self.epoch != JOIN or self._fault is Fault.STAYS_AT_ZERO:
            self._beat(LEAVE)

    def close(self) -> None:
        """Close the connection."""
        self._stop()
        self._wire.close()

    def _stop(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _beat_on(self) -> None:
        """Send heartbeats until it is stopped, or the broker is."""
        while not self._over.wait(self._interval):
            try:
                answer = self._beat(self.epoch)
                if answer.error_code in REFUSALS:
                    if self._fault is Fault.NEVER_REJOINS:
                        return
                    self._refused()
                else:
                    self._take(answer)
            except TargetError:
                return

    def _take(self, answer: Any) -> None:  # noqa: ANN401 - a response
        """Take the member epoch and the interval of an answer."""
        self._interval = answer.heartbeat_interval / 1000
        if self._fault is not Fault.STAYS_AT_ZERO:
            self.epoch = answer.member_epoch

    def _refused(self) -> None:
        """Join again with the next heartbeat, which comes at once."""
        if self._fault is Fault.OLD_EPOCH:
            return
        self._interval, self.epoch = 0, JOIN
        if self._fault is Fault.NEW_MEMBER_ID:
            self.id += "2"

    def _beat(self, epoch: int) -> Any:  # noqa: ANN401 - a response
        """Send a heartbeat. Raises TargetError."""
        asked = request(
            "share_group_heartbeat",
            1,
            group_id=GROUP,
            member_id=self.id,
            member_epoch=epoch,
            rack_id=None,
            subscribed_topic_names=self._topics if epoch == JOIN else None,
        )
        with self._lock:
            return self._wire.ask("c", asked).body
