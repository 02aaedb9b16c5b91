"""The share session of a client, by the epochs that its requests carry."""

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from clients.throttle import Throttle
from model.share_messages import FINAL_EPOCH, INITIAL_EPOCH
from spec.share_session import next_epoch

_GONE = (KafkaError.share_session_not_found, KafkaError.invalid_share_session_epoch)
"""The errors by which the client knows that its session is gone."""


@attrs.define
class Session:
    """What the client knows of its session: the next epoch, None where it has none.

    ``sure`` is False where a connection was cut, or a request failed for another reason: then the
    epoch may have moved on or not. ``abandoned``: it may give its session up, and open another, as
    it was told that its member is gone; ``given_up``: it has not gone on with it since it joined
    again. ``hung_up``: it ended its connection as it closes, and has sent no final epoch, which may
    come on another one where the former was idle for long. ``leaderless``: its broker starts again,
    and Metadata says for a while that nobody leads its partitions, so that it may give up one
    session more than the one that ended. ``opened``: how many it opened.
    """

    epoch: int | None = None
    sure: bool = True
    ended: bool = False
    abandoned: bool = False
    given_up: bool = False
    hung_up: bool = False
    leaderless: bool = False
    opened: int = 0
    throttle: Throttle = attrs.field(factory=Throttle)
    _asked: dict[int, int] = attrs.field(factory=dict)

    def allowed(self) -> set[int]:
        """Return the epochs that the next request may carry."""
        if self.epoch is None:
            return {INITIAL_EPOCH, *((FINAL_EPOCH,) if self.ended else ())}
        if self.sure:
            gives_up = self.abandoned or self.leaderless
            return {self.epoch, FINAL_EPOCH, *((INITIAL_EPOCH,) if gives_up else ())}
        return {INITIAL_EPOCH, FINAL_EPOCH, self.epoch, max(INITIAL_EPOCH, self.epoch - 1)}

    @property
    def is_open(self) -> bool:
        """Whether the client knows that it has a session, and has not given it up."""
        return self.epoch is not None and self.sure and not self.given_up

    def asked(self, number: int, epoch: int, *, is_member: bool = True) -> None:
        """Take note of a request; one that goes on with it after joining again has not given up."""
        self._asked[number] = epoch
        if epoch == INITIAL_EPOCH and self.is_open:
            self.leaderless = False
        self.hung_up = self.hung_up and epoch != FINAL_EPOCH
        if is_member and epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
            self.given_up = False

    def answered(self, number: int, error: int) -> None:
        """Take note of an answer that was sent."""
        epoch = self._asked.pop(number, INITIAL_EPOCH)
        if error in _GONE or (not error and epoch == FINAL_EPOCH):
            self.epoch, self.sure, self.ended = None, True, True
        elif error:
            self._may_have_moved(epoch)
        else:
            self.epoch, self.sure = next_epoch(epoch), True
            self.opened += epoch == INITIAL_EPOCH
            self.abandoned = self.abandoned and epoch != INITIAL_EPOCH
            self.given_up = self.given_up and epoch != INITIAL_EPOCH

    def cut(self, number: int) -> None:
        """Take note of a connection that was cut in place of an answer."""
        self._may_have_moved(self._asked.pop(number, INITIAL_EPOCH))

    def _may_have_moved(self, epoch: int) -> None:
        """Leave open whether the session took the request with this epoch."""
        self.epoch = INITIAL_EPOCH if epoch == FINAL_EPOCH else next_epoch(epoch)
        self.sure = False

    def disconnected(self, *, hung_up: bool = False, restarts: bool = False) -> None:
        """Take note of the end of a connection, which the client may know of, or hung up."""
        ending = FINAL_EPOCH in self._asked.values()
        self.hung_up = self.hung_up or (hung_up and self.is_open and not ending)
        self.sure, self.ended = self.epoch is None, True
        self.leaderless = self.leaderless or restarts
        self.throttle = Throttle()
