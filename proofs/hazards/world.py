"""What can happen in a small world, and what is remembered of it."""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import attrs

from model import operations as ops
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Outcome
from proofs.hazards.draft_consumer import MOST_WAITING, Consumer, Given
from proofs.hazards.draft_readings import Readings
from proofs.hazards.machine import Machine, MachineView

BEGAN = 1_800_000_000_000
"""When worlds begin, in ms on the brokers' clocks: a time of this century, as they really have."""


class HazardMove(Enum):
    """A kind of thing that can happen, told of a member and an offset."""

    FETCH = "{m} fetches"
    MARK = "{m} marks {o}"
    OLD_MARK = "{m} marks {o}, for its former delivery"
    ACCEPT = "{m} accepts {o}"
    RELEASE = "{m} releases {o}"
    REJECT = "{m} rejects {o}"
    LEAVE = "{m} leaves"
    RETURN = "{m} comes back"
    ANSWER = "the write is answered {answer}"
    WAIT = "{number:,} ms pass"
    FAIL_OVER = "a new leader takes over"
    READ_AGAIN = "the leader reads the state again"
    DOWNGRADE = "a leader of an older version takes over"
    CALL_MARK = "{m} calls markInProgress({o})"
    POLL = "{m} calls poll()"


@attrs.frozen
class HazardWorld:
    """The bounds within which everything is tried.

    ``quantum``: waits are multiples of it, up to ``until`` in all (ms); with ``leaps`` of many at
    once, which makes runs short, without of one only, which visits the same states one by one.
    ``records`` in the log, of which a fetch takes at most ``take``. ``slow``: the moves whose
    write may be answered later, with one of ``answers``. ``explicit`` and ``most_marks`` are about
    consumers: how they acknowledge, and how many marks may wait in them for poll().
    """

    moves: frozenset[HazardMove]
    quantum: int = 0
    until: int = 0
    records: int = 1
    take: int = 1
    members: tuple[str, ...] = ("A",)
    fetches: int = 1
    config: SharePartitionConfig = SharePartitionConfig()
    slow: frozenset[HazardMove] = frozenset()
    answers: tuple[ErrorCode, ...] = (ErrorCode.NONE,)
    explicit: bool = True
    most_marks: int = MOST_WAITING
    leaps: bool = False


@attrs.frozen
class HazardAct:
    """One thing that happens: a row of a run. ``given`` is the delivery which it is about."""

    move: HazardMove
    member: str = ""
    given: Given | None = None
    answer: ErrorCode = ErrorCode.NONE
    number: int = 0

    @property
    def text(self) -> str:
        """What happens, in words."""
        offset = self.given.offset if self.given else ""
        words = {"m": self.member, "o": offset, "number": self.number}
        return self.move.value.format(answer=self.answer.name, **words)


@attrs.frozen
class HazardPast:
    """What is remembered of a run.

    Of each offset: ``deliveries`` so far, ``sign``: when its delivery last gave a sign of life,
    ``first_mark``: when it was first marked, both None without one.
    ``given``: what consumers have in hand, the newest delivery last. ``confirmed``: offsets whose
    acceptance was answered with success. ``departures``: who is away, since when.
    ``unseen``: offsets whose holder left and has not marked them since. ``is_write_lost``: a write
    was answered with an error, or was outstanding when the leader changed. ``blocked``: since when
    nothing can be fetched though records wait.
    """

    deliveries: tuple[int, ...]
    sign: tuple[int | None, ...]
    first_mark: tuple[int | None, ...]
    fetches: int = 0
    given: tuple[tuple[str, Given], ...] = ()
    confirmed: frozenset[int] = frozenset()
    accepting: tuple[tuple[int, int], ...] = ()
    departures: tuple[tuple[str, int], ...] = ()
    unseen: frozenset[int] = frozenset()
    failed_over: bool = False
    is_write_lost: bool = False
    has_read_again: bool = False
    is_over: bool = False
    consumers: tuple[Consumer, ...] = ()
    blocked: int | None = None

    @property
    def away(self) -> dict[str, int]:
        """Who is away, and since when (ms)."""
        return dict(self.departures)


@attrs.frozen
class HazardState:
    """A state of the world.

    ``answers``: the codes that the last step was answered with. ``broken``: how it broke the
    property, if it did.
    """

    system: Any
    past: HazardPast
    view: MachineView = attrs.field(eq=False)
    answers: tuple[ErrorCode, ...] = attrs.field(default=(), eq=False)
    broken: str | None = None


@attrs.frozen
class HazardMoment:
    """One step: what happened, what was answered, and how it was before and after."""

    world: HazardWorld
    before: HazardState
    act: HazardAct
    requests: tuple[ops.Operation, ...]
    outcomes: tuple[Outcome, ...]
    after: HazardState


HazardProperty = Callable[[HazardMoment], Iterator[str]]
"""Yields how a step breaks what should hold."""


@attrs.frozen
class Setting:
    """A world, the machine that runs in it, how its consumers behave, and what should hold."""

    world: HazardWorld
    machine: Machine
    readings: Readings
    holds: HazardProperty
