"""The membership of a client, by its heartbeats and what they are answered."""

from collections import defaultdict
from collections.abc import Iterator

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from clients.duties import Duty
from clients.events import Heartbeat
from clients.pulse import Pulse
from clients.throttle import UNDERWAY_MS, Throttle
from conformance.wire.codec import error_name
from spec.group_membership import JOINING, LEAVING

REFUSALS = (KafkaError.unknown_member_id, KafkaError.fenced_member_epoch)
"""The errors by which a member is told that it is none any more."""

UNHEARD = (
    KafkaError.coordinator_load_in_progress,
    KafkaError.coordinator_not_available,
    KafkaError.not_coordinator,
)
"""The errors of who does not look at a heartbeat: it is no coordinator, or not yet."""

MOST_MISDIRECTED, MISDIRECTED_MS = 3, 1000
"""More heartbeats in a row, for longer, go to no broker that is not the coordinator.

librdkafka asks for the coordinator each 500 ms at most, in which time ten times as many heartbeats
are due here as with the interval that a cluster has.
"""


@attrs.define
class Membership:
    """What a client knows of its membership.

    ``member`` is its id, None before its first heartbeat. ``epoch`` is what the next heartbeat is
    to carry, ``before`` what the last one carried, ``answered`` is when that was answered, in ms,
    and ``sure`` is False where the answer may be lost; ``parted``: it was so as the client began to
    close. ``refusal`` is the error by which it was
    told that it is no member, until it joins.
    ``misdirected`` counts heartbeats to a broker that is not the coordinator, since the last other,
    and ``astray`` is when the first of them came, in ms; ``told`` is whether it was reported.
    ``unheard`` is the error by which nobody looked at the last one, or 0.
    ``throttles``: by broker, how long heartbeats to it are to wait. ``pulse``: when they are due.
    """

    member: str | None = None
    epoch: int = JOINING
    before: int = JOINING
    answered: int = -UNDERWAY_MS
    sure: bool = True
    parted: bool = False
    refusal: int = 0
    misdirected: int = 0
    astray: int = 0
    told: bool = False
    unheard: int = 0
    throttles: dict[int, Throttle] = attrs.field(factory=lambda: defaultdict(Throttle))
    pulse: Pulse = attrs.field(factory=Pulse)

    def take(self, beat: Heartbeat) -> Iterator[tuple[Duty, str]]:
        """Take note of a heartbeat and its answer; yield what it violates, and how."""
        yield from self.identified(beat.member, "a heartbeat")
        yield from self._numbered(beat)
        if beat.epoch != LEAVING:
            yield from self.pulse.take(beat)
        self.before, self.answered = beat.epoch, beat.at_ms + beat.late_ms
        self.sure = True
        self.unheard = beat.error if beat.error in UNHEARD else 0
        self.misdirected = self.misdirected + 1 if beat.error == KafkaError.not_coordinator else 0
        self.astray = beat.at_ms if self.misdirected <= 1 else self.astray
        late = beat.at_ms - self.astray > MISDIRECTED_MS
        if late and self.misdirected > MOST_MISDIRECTED and not self.told:
            self.told = True
            text = f"{self.misdirected} heartbeats in a row go to a broker that is no coordinator"
            yield Duty.COORDINATOR, text
        if beat.epoch == LEAVING:
            self.epoch, self.refusal = JOINING, 0
        elif beat.error in REFUSALS:
            self.epoch, self.refusal = JOINING, beat.error
        elif not beat.error:
            self.epoch, self.refusal = beat.given, 0

    def identified(self, member: str, what: str) -> Iterator[tuple[Duty, str]]:
        """Judge the member id of a request."""
        if not member.strip():
            yield Duty.MEMBER_ID, f"{what} has a member id that is blank"
        elif self.member is not None and member != self.member:
            text = f"{what} has the member id {member!r:.80}, and not {self.member!r:.80}"
            yield Duty.MEMBER_ID, text
        if self.member is None:
            self.member = member

    def _numbered(self, beat: Heartbeat) -> Iterator[tuple[Duty, str]]:
        """Judge the member epoch of a heartbeat."""
        # A heartbeat that was sent before the last answer was read carries what that one carried.
        knows = self.sure and beat.at_ms - self.answered >= UNDERWAY_MS
        allowed = {self.epoch, LEAVING} if knows else {self.epoch, self.before, LEAVING}
        if beat.epoch in allowed:
            return
        if self.refusal:
            text = f"member epoch {beat.epoch} after {error_name(self.refusal)}, where 0 is due"
            yield Duty.REJOINS, text
        else:
            text = f"a heartbeat has member epoch {beat.epoch}, where {self.epoch} is due"
            yield Duty.MEMBER_EPOCH, text

    def missed(self, waited_ms: int) -> Iterator[tuple[Duty, str]]:
        """Judge that no heartbeat came while the harness waited for it."""
        if self.refusal:
            text = f"no heartbeat in {waited_ms} ms after {error_name(self.refusal)}"
            yield Duty.REJOINS, text
        elif self.unheard:
            text = f"no heartbeat reached the coordinator in {waited_ms} ms"
            yield Duty.COORDINATOR, f"{text} after {error_name(self.unheard)}"

    def closes(self, at_ms: int) -> Iterator[tuple[Duty, str]]:
        """Take note that the client begins to close; judge that it has heartbeat until then."""
        self.parted = not self.sure
        yield from self.pulse.silent(at_ms)
        self.pulse.cut()

    def cut(self) -> None:
        """Take note of the end of a connection: the last answer may not have come."""
        self.sure = False
        self.throttles.clear()
        self.pulse.cut()
