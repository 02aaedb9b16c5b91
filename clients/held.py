"""Acquisitions of records, as the judge follows them through a client."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TypeAlias

import attrs

from clients.duties import Duty
from clients.events import RENEW, Deleted, Granted, Place, place_name


class Fate(Enum):
    """What became of the acknowledgement of an acquisition that was sent last."""

    UNSENT = "was never sent"
    OPEN = "was not answered yet"
    DONE = "succeeded"
    RENEWED = "renewed its lock"
    REFUSED = "was refused"
    REQUEST_REFUSED = "was refused with its whole request"
    CUT = "was cut off"


REPEATABLE = (Fate.UNSENT, Fate.RENEWED, Fate.REQUEST_REFUSED, Fate.CUT)
SUCCEEDED = (Fate.DONE, Fate.RENEWED)
RESENT = (Fate.REQUEST_REFUSED, Fate.CUT)
FAILED = (Fate.REFUSED, Fate.REQUEST_REFUSED, Fate.CUT)


@attrs.define(eq=False)
class Held:
    """One acquisition of one record. Positions are those of events in the record.

    ``moved_on``: where the client sent its next fetch, and so had the answer. ``due``: the type
    that is to be sent, by what the application said. ``lost``: where its lock or session ended, or
    its member gave it up. ``answer``: where it was given. ``is_gap``: it has no
    record, as compaction leaves it; ``is_corrupt``: its batch has a wrong checksum, or the
    application refuses its value. ``broker``: who gave it.
    ``given`` is the type that was sent last. ``renewing``: how often the application said
    RENEW, less how often it was sent and not cut off or refused with its whole request.
    ``renewed``: where that succeeded, until a poll returns the record again; ``passed_over``: one
    did not; ``announced``: a commit told of it. ``untold``: how many acknowledgements succeeded of
    which no callback told yet, renewals too.
    ``said``: where the application said ``due``; ``owed``: of how many no callback had told as it
    was sent; ``confirmed``: a commit told success of it, and no callback had yet. ``named``: its
    place as the application knows it, by the name that a deleted topic had. ``session``: in which
    share session with its broker it was given, counted from 1.
    """

    place: Place
    offset: int
    count: int
    answer: int = 0
    is_gap: bool = False
    broker: int = 1
    is_corrupt: bool = False
    moved_on: int | None = None
    delivered: int | None = None
    due: int | None = None
    lost: int | None = None
    sent: int | None = None
    fate: Fate = Fate.UNSENT
    told_failure: bool = False
    reported: bool = False
    given: int | None = None
    renewing: int = 0
    renewed: int | None = None
    passed_over: bool = False
    announced: bool = False
    untold: int = 0
    said: int = 0
    owed: int = 0
    confirmed: bool = False
    session: int = 0
    named: Place = attrs.field(default=attrs.Factory(lambda self: self.place, takes_self=True))

    def renew(self, position: int | None) -> None:
        """Take note that its lock was renewed: the record is the application's still.

        ``position``: None where no poll is to return it for that, as nobody asked for the renewal.
        """
        self.fate, self.renewed = Fate.RENEWED, position
        self.passed_over = self.announced = False
        if self.due == RENEW:
            self.due = None

    def take_success(self) -> bool:
        """Take note that a callback tells success; return whether there was one to tell.

        What it tells may be a renewal, or another, after which the next one is under way. A poll
        that is the first to tell of a renewal need not return the record.
        """
        may, self.untold = self.untold > 0, max(0, self.untold - 1)
        self.passed_over = self.passed_over and (self.announced or not may)
        return may

    def has_ended(self, here: Iterable["Held"]) -> bool:
        """Whether the client was to know that it has ended, by a later one that its broker gave.

        In the same session it may have had the lock of this one end, which nobody tells it; then
        what it sent nevertheless it may send again.
        """
        later = [held for held in here if held.answer > self.answer]
        anew = any(held.session != self.session for held in later)
        since = any(held.answer > (self.sent or 0) for held in later)
        return (anew and self.fate is Fate.RENEWED) or ((anew or since) and self.fate in RESENT)

    @property
    def where(self) -> str:
        """Its share-partition and offset as a text."""
        return f"{place_name(self.place)} offset {self.offset}"

    @property
    def is_idle(self) -> bool:
        """Whether the client has it still, and neither delivered it nor sent but renewals of it."""
        is_unsaid = self.sent is None or self.given == RENEW
        is_kept = is_unsaid and self.lost is None and not self.is_gap
        return self.delivered is None and is_kept

    @property
    def is_kept_back(self) -> bool:
        """Whether it was renewed and not refused since, still lasts, and a poll left it out.

        Once the application renews it again there is nothing to acknowledge before the answer.
        """
        lasts = self.lost is None and self.fate is not Fate.REFUSED and self.due != RENEW
        return self.renewed is not None and self.passed_over and lasts

    @property
    def waits(self) -> bool:
        """Whether the application has it and has not said what becomes of it."""
        return self.delivered is not None and self.due is None


Violation: TypeAlias = tuple[Duty, str] | tuple[Duty, str, Held]
"""The duty, how it is violated, and the record that it is about, if it is about one."""


@attrs.define
class Holdings:
    """Every acquisition, by share-partition and offset, oldest first."""

    _by_offset: dict[tuple[Place, int], list[Held]] = attrs.field(factory=lambda: defaultdict(list))
    _fresh: list[Held] = attrs.field(factory=list)
    _removed: set[tuple[Place, int]] = attrs.field(factory=set)
    _corrupt: set[tuple[Place, int]] = attrs.field(factory=set)
    _delivered: dict[tuple[Place, int], int] = attrs.field(factory=dict)
    _deleted: dict[str, list[str]] = attrs.field(factory=lambda: defaultdict(list))

    def deliver(self, held: Held, position: int) -> None:
        """Take note that the application has a record."""
        held.delivered = position
        key = held.place, held.answer
        self._delivered[key] = max(held.offset, self._delivered.get(key, -1))

    def is_passed(self, gap: Held) -> bool:
        """Whether a later record that came with it was delivered."""
        return self._delivered.get((gap.place, gap.answer), -1) > gap.offset

    def unreported(self) -> list[Held]:
        """Return the gaps of which nothing was sent before a later record was acknowledged well."""
        done: dict[tuple[Place, int], int] = {}
        for held in self.every():
            if not held.is_gap and held.fate is Fate.DONE and held.due is not None:
                key = held.place, held.answer
                done[key] = max(held.offset, done.get(key, -1))
        return [
            held
            for held in self.every()
            if held.is_gap and held.fate is Fate.UNSENT and held.lost is None
            if done.get((held.place, held.answer), -1) > held.offset
        ]

    def remove(self, place: Place, offsets: Iterable[int]) -> None:
        """Take note of records that compaction removed."""
        self._removed.update((place, offset) for offset in offsets)

    def spoil(self, place: Place, offsets: Iterable[int]) -> None:
        """Take note of records that cannot be read."""
        self._corrupt.update((place, offset) for offset in offsets)

    def grant(
        self,
        granted: Granted,
        lost: int | None = None,
        answer: int = 0,
        broker: int = 1,
        session: int = 0,
    ) -> None:
        """Take note of what an answer gives to the client, which it may have given up.

        What it was given of the same before has ended, by whatever it acknowledged.
        """
        for offset in range(granted.first, granted.last + 1):
            where = granted.place, offset
            for former in self._by_offset[where]:
                if former.lost is None and former.fate in REPEATABLE:
                    former.lost = answer
            held = Held(*where, granted.count, answer, where in self._removed, broker, lost=lost)
            held.is_corrupt, held.session = where in self._corrupt, session
            self._by_offset[where].append(held)
            self._fresh.append(held)

    def move_on(self, position: int, broker: int = 1) -> None:
        """Take note that the client has read every answer of a broker so far."""
        for held in self._fresh:
            if held.broker == broker:
                held.moved_on = position
        self._fresh = [held for held in self._fresh if held.broker != broker]

    def lose(self, position: int, broker: int = 0, place: Place | None = None) -> None:
        """Take note that nothing is held any more: of one broker or, by 0, of any; of a place."""
        for held in self.every():
            if held.lost is None and broker in (0, held.broker) and place in (None, held.place):
                held.lost = position

    def delete(self, position: int, gone: Deleted) -> None:
        """Take note that nothing is held of a deleted topic, which goes by its former name now."""
        for held in [held for held in self.every() if held.place[0] == gone.topic]:
            held.place, held.confirmed = gone.place_of(held.place), False
            held.lost = position if held.lost is None else held.lost
        former = self._by_offset.items()
        later = {(gone.place_of(place), offset): known for (place, offset), known in former}
        self._by_offset = defaultdict(list, later)
        for odd in (self._removed, self._corrupt):
            odd -= {(place, offset) for place, offset in odd if place[0] == gone.topic}
        self._deleted[gone.topic].append(gone.former)

    def known(self, place: Place, offset: int) -> list[Held]:
        """Return the acquisitions that an application may mean, of deleted topics first."""
        topics = (*self._deleted[place[0]], place[0])
        return [held for topic in topics for held in self.of((topic, place[1]), offset)]

    def given_by(self, broker: int, known: list[Held]) -> list[Held]:
        """Return the acquisitions of a record by a broker, latest first.

        Where it was renewed there a poll may have returned that one, and not the one of the same
        delivery count that another broker has given since: what is sent where tells.
        """
        here = [held for held in reversed(known) if held.broker == broker]
        others = [h for h in known if h.broker != broker and h.due is not None and h.sent is None]
        for held in here:
            same = next((other for other in others if other.count == held.count), None)
            if same is None or held.due is not None or held.fate is not Fate.RENEWED:
                continue
            held.due, held.said = same.due, same.said
            if held.renewed is not None:  # Polls returned one of both so far.
                held.renewed = same.delivered = same.due = None
        return here

    def of(self, place: Place, offset: int) -> list[Held]:
        """Return the acquisitions of a record, oldest first."""
        return self._by_offset.get((place, offset), [])

    def every(self) -> Iterator[Held]:
        """Yield every acquisition."""
        for held in self._by_offset.values():
            yield from held
