"""What a journal holds: what a broker saw of one client, and what its application did.

Times are in ms since the journal began; error codes are Kafka's numbers, and names where a driver
gives them.
"""

from typing import TypeAlias

import attrs

Place: TypeAlias = tuple[str, int]
"""The name of a topic, and a partition of it."""


def place_name(place: Place) -> str:
    """Return a place as text, such as ``t-0``."""
    return f"{place[0]}-{place[1]}"


GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
UNREADABLE = "unreadable"
"""The value that an application with a deserializer refuses."""


@attrs.frozen
class Acknowledgement:
    """A batch of acknowledgements: one type for all of its offsets, or one for each."""

    place: Place
    first: int
    last: int
    types: tuple[int, ...]


@attrs.frozen
class Granted:
    """Offsets that an answer says are acquired, with their delivery count."""

    place: Place
    first: int
    last: int
    count: int


@attrs.frozen
class Event:
    """What happened, and when."""

    at_ms: int


@attrs.frozen
class Asked(Event):
    """A ShareFetch or a ShareAcknowledge to a broker, before it takes effect.

    ``fetches``: it asks for records, at most ``max_records`` of them. ``named`` are the partitions
    that a fetch adds to the session, ``forgotten`` those it takes out. ``says_renewal``: it says
    that it renews (IsRenewAck), and asks for no records with it.
    """

    number: int
    member: str
    epoch: int
    fetches: bool
    max_records: int = 0
    acknowledgements: tuple[Acknowledgement, ...] = ()
    broker: int = 1
    named: tuple[Place, ...] = ()
    forgotten: tuple[Place, ...] = ()
    says_renewal: bool = False

    @property
    def renews(self) -> bool:
        """Whether an acknowledgement of it renews."""
        return any(RENEW in batch.types for batch in self.acknowledgements)


@attrs.frozen
class Answered(Event):
    """The answer to a request: its error, what it acquired, and how acknowledgements fared.

    ``elsewhere``: partitions that another broker leads, with its id, or -1 where it is not named.
    ``throttle_ms``: how long the client is to send nothing.
    """

    number: int
    error: int = 0
    granted: tuple[Granted, ...] = ()
    refused: tuple[tuple[Place, int], ...] = ()
    elsewhere: tuple[tuple[Place, int], ...] = ()
    throttle_ms: int = 0


@attrs.frozen
class Cut(Event):
    """A connection that was cut in place of an answer."""

    number: int
    took_effect: bool


@attrs.frozen
class Compacted(Event):
    """A batch was appended that has no records at these offsets.

    Compaction removed them, or they are control records, which are none of an application's.
    """

    place: Place
    offsets: frozenset[int]


@attrs.frozen
class Corrupted(Event):
    """A batch was appended that cannot be read; these are its offsets."""

    place: Place
    offsets: frozenset[int]


@attrs.frozen
class Lost(Event):
    """What the member held it holds no more: its session ended, or its locks did.

    ``broker``: of which broker that was; 0 is any.
    """

    why: str
    broker: int = 0


@attrs.frozen
class Moved(Event):
    """Another broker leads a partition; what the former leader gave of it nobody holds any more."""

    place: Place
    broker: int


@attrs.frozen
class Deleted(Event):
    """A topic was deleted: what was of it goes by the ``former`` name, and nobody holds any of it.

    Another topic may be created by its name.
    """

    topic: str
    former: str

    def place_of(self, place: Place) -> Place:
        """Return where a partition is since then, by the former name if it was of the topic."""
        return (self.former, place[1]) if place[0] == self.topic else place


@attrs.frozen
class Drained(Event):
    """Polls have brought whatever there was, or nothing for so many ms though there was something.

    That is what a fetch of the ``waiting`` partitions could get, or what the client was given and
    did not deliver or release.
    """

    starved_ms: int = 0
    waiting: tuple[Place, ...] = ()


@attrs.frozen
class Heartbeat(Event):
    """A heartbeat with its answer: the error, or the member epoch that it gives.

    ``assigned`` are the partitions that it assigns, None where they are as before.
    ``throttle_ms``: how long the client is to send nothing to that broker; ``interval_ms``: when
    the next heartbeat is due; ``late_ms``: how much later it is answered than it took effect.
    """

    member: str
    epoch: int
    error: int = 0
    given: int = 0
    assigned: tuple[Place, ...] | None = None
    broker: int = 1
    throttle_ms: int = 0
    interval_ms: int = 0
    late_ms: int = 0


@attrs.frozen
class Waited(Event):
    """The harness waited for heartbeats that were due, so many ms, and they did not come."""

    waited_ms: int


@attrs.frozen
class Called(Event):
    """The application begins a call; ``record`` and ``type`` are what it acknowledges."""

    call: str
    timeout_ms: int = 0
    place: Place = ("", 0)
    offset: int = -1
    type: int = 0


@attrs.frozen
class Delivered:
    """A record as a poll returned it. Its value tells its offset (``records.value_of``)."""

    place: Place
    offset: int
    count: int
    value: str | None


@attrs.frozen
class Completed:
    """What a callback said of acknowledgements; None is success."""

    place: Place
    offsets: tuple[int, ...]
    error: str | None


@attrs.frozen
class Returned(Event):
    """A call has returned: with an error, with records, with results of a commit.

    ``completed`` is what callbacks said meanwhile.
    """

    call: str
    error: str | None = None
    records: tuple[Delivered, ...] = ()
    results: tuple[tuple[Place, str | None], ...] = ()
    completed: tuple[Completed, ...] = ()


@attrs.frozen
class Ended(Event):
    """A call never returned: the client's process ended, or said nothing for too long."""

    call: str
    why: str

    @property
    def text(self) -> str:
        """What happened."""
        return f"{self.call} did not return: {self.why}"


@attrs.frozen
class Settings:
    """How the client is set up: explicit or implicit, its acquire mode, and max.poll.records.

    ``callbacks``: its driver tells what callbacks said of acknowledgements. ``recycles``: it gives
    the memory of records back once they are acknowledged. ``listens``: a function is given each
    record, and acknowledges it as it returns or throws. ``renews_itself``: unasked, the client
    renews the locks of what its application has.
    """

    explicit: bool = False
    record_limit: bool = False
    max_poll_records: int = 500
    callbacks: bool = True
    recycles: bool = False
    listens: bool = False
    renews_itself: bool = False


@attrs.frozen
class ClientRecord:
    """Everything that happened, in order; ``full`` where more happened than was kept."""

    settings: Settings
    events: tuple[Event, ...]
    full: bool = False
