"""The membership of our small share consumer: its heartbeats, in a thread and over a connection."""

import threading
import time
from types import SimpleNamespace
from typing import Any

from conformance.target import TargetError
from conformance.wire.connection import Address, Bounds, Wire
from conformance.wire.messages import request
from tests.doubles.share_faults import Fault
from tests.doubles.share_seats import asked_again

GROUP, MEMBER = "g", "m"
REFUSALS = (25, 110)
NOT_COORDINATOR = 16
UNHEARD = (14, 15)
JOIN, LEAVE = 0, -1
_FAITHFUL = Fault.STAYS_WITH_COORDINATOR
_PAUSE, _TRIES = 0.01, 1000


class ShareMember:
    """A member of a group, which joins again where it is told that it is none."""

    def __init__(self, address: str, topics: list[str], fault: Fault | None) -> None:
        """Send nothing yet."""
        self.id, self.epoch = MEMBER, JOIN
        self._topics, self._fault = topics, fault
        first = Address.parse(address.split(",", maxsplit=1)[0])
        self._wire = Wire(first, Bounds(seconds=60))
        self._coordinator: Wire | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._interval = self._quiet_until = 0.0
        self._told = topics
        self.assigned: list[SimpleNamespace] = []
        self._thread = threading.Thread(target=self._beat_on, name="heartbeats")

    def join(self) -> list[SimpleNamespace]:
        """Join, go on with heartbeats, and return what it is assigned. Raises TargetError."""
        for _ in range(_TRIES):
            answer = self._beat(JOIN)
            if answer.error_code not in UNHEARD:
                break
            time.sleep(_PAUSE)
        if answer.error_code:
            raise TargetError(f"it cannot join: error {answer.error_code}")
        self._take(answer)
        self._thread.start()
        return self.assigned

    def subscribe(self, topics: list[str]) -> None:
        """Tell the next heartbeat of other topics."""
        self._topics = topics

    def leave(self) -> None:
        """Leave the group, if it is in it."""
        self._stop()
        if self.epoch != JOIN or self._fault is Fault.STAYS_AT_ZERO:
            self._beat(LEAVE)

    def close(self) -> None:
        """Close the connection."""
        self._stop()
        self._wire.close()
        if self._coordinator is not None:
            self._coordinator.close()

    def _stop(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _beat_on(self) -> None:
        """Send heartbeats until it is stopped, or the broker is."""
        while not self._over.wait(self._interval):
            if self._fault is not Fault.BEATS_ON:
                self._over.wait(self._quiet_until - time.monotonic())
            try:
                answer = self._beat(self.epoch)
                if answer.error_code in REFUSALS:
                    if self._fault is Fault.NEVER_REJOINS:
                        return
                    self._refused()
                elif not answer.error_code:
                    self._take(answer)
                elif self._fault is Fault.STOPS_WHILE_LOADING:
                    return
            except TargetError:
                return

    def _take(self, answer: Any) -> None:  # noqa: ANN401 - a response
        """Take the member epoch and the interval of an answer."""
        told = answer.heartbeat_interval / 1000
        if self._fault is Fault.KEEPS_LONGEST:
            told = max(told, self._interval)
        if not (self._fault is Fault.KEEPS_INTERVAL and self._interval):
            self._interval = told
        if answer.assignment is not None:
            self.assigned = answer.assignment.topic_partitions
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
        topics = self._topics  # which may change before the answer is here
        asked = request(
            "share_group_heartbeat",
            1,
            group_id=GROUP,
            member_id=self.id,
            member_epoch=epoch,
            subscribed_topic_names=None if self._told == topics and epoch != JOIN else topics,
        )
        with self._lock:
            while True:
                coordinator = self._coordinator or self._sought()
                body = asked_again(coordinator, asked)
                self._quiet_until = time.monotonic() + body.throttle_time / 1000
                stays = self._fault is Fault.LEAVES_ONCE and epoch == LEAVE
                if body.error_code != NOT_COORDINATOR or self._fault is _FAITHFUL or stays:
                    if body.error_code not in UNHEARD:
                        self._told = topics
                    return body
                coordinator.close()
                self._coordinator = None

    def _sought(self) -> Wire:
        """Find the coordinator, which may take some time. Raises TargetError."""
        asked = request("find_coordinator", 5, key_type=0, coordinator_keys=[GROUP])
        for _ in range(_TRIES):
            (answer,) = asked_again(self._wire, asked).coordinators
            if not answer.error_code:
                address = Address(answer.host, answer.port)
                self._coordinator = Wire(address, Bounds(seconds=60))
                return self._coordinator
            time.sleep(_PAUSE)
        raise TargetError("there is no coordinator")
