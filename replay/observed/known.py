"""What is known of the records of a share-partition at a moment of its history."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs

from model.states import AcknowledgeType
from replay.observed.log_view import LogView, log_view
from replay.observed.observation import Lapse, Observation, SessionEvent, SettingEvent
from replay.observed.record import (
    ALWAYS,
    ANYTHING,
    NEVER,
    PASSED,
    Act,
    Allowance,
    Configurations,
    Lock,
    PossibleState,
    Rules,
    one_of,
    passed,
    reachable,
    recovered,
    stays_until,
)
from replay.observed.requests import REFUSALS, LogRequest, Naming, Sessions, UnderWay, sessions_of
from replay.observed.settings import DELIVERY_LIMITS, Assumed
from replay.observed.spans import END, Spans

_OF_RECORDS = frozenset({Allowance.LOST_REQUEST, Allowance.NEW_LEADER})
"""What changes a record whatever its offset is."""

WIDTH = "share.partition.max.record.locks"
_LIMIT = "share.delivery.count.limit"
MOST_REMEMBERED = 50_000
"""Of how many sets of configurations what is reachable from them is remembered."""
_SETTLES_MS = 10_000
"""How long after its answer an altered configuration may not be in force everywhere (ms)."""

NOTHING_SEEN: Callable[[float], LogView] = functools.partial(log_view, ())
"""What is known of a log of which nothing was observed."""

Piece = tuple[int, int, Configurations, tuple[Act, ...]]


@attrs.frozen
class Premises:
    """What is known before the judging begins.

    ``log_at`` tells what is known of the log by how many ms its times may be wrong; ``events`` are
    what was observed of the sessions, ``seen`` of the share-partition. ``log`` and ``sessions``
    are these with the slack of the settings.
    ``writes_seen``: a log of a share coordinator's broker is among the files. ``complete``: the
    logs of all brokers are. ``dump`` has the records of the share-partition in the state topic.
    ``missing`` are times of which lines may be missing. ``since`` and ``until``: between these
    times the log of every broker has lines.
    """

    settings: Assumed
    log_at: Callable[[float], LogView] = NOTHING_SEEN
    events: tuple[SessionEvent, ...] = ()
    seen: tuple[Observation, ...] = ()
    altered: tuple[SettingEvent, ...] = ()
    writes_seen: bool = False
    complete: bool = False
    dump: tuple[Observation, ...] = ()
    missing: tuple[Lapse, ...] = ()
    since: float = ALWAYS
    until: float = NEVER
    log: LogView = attrs.field(init=False)
    sessions: Sessions = attrs.field(init=False)

    @log.default
    def _log(self) -> LogView:
        return self.log_at(self.settings.slack_ms)

    @sessions.default
    def _sessions(self) -> Sessions:
        return sessions_of(self.events, self.seen, self.settings.slack_ms)

    def with_slack(self, slack_ms: float) -> "Premises":
        """Return the same with another slack."""
        if slack_ms == self.settings.slack_ms:
            return self
        return attrs.evolve(self, settings=attrs.evolve(self.settings, slack_ms=slack_ms))


class Known:
    """The configurations of every record, and the requests under way."""

    def __init__(
        self, given: Premises, locks: Mapping[int, Lock], allowed: frozenset[Allowance]
    ) -> None:
        """Begin in the middle of a history: everything is possible.

        ``allowed`` is what may have happened unseen.
        """
        self.given, self.allowed = given, allowed
        self.locks = dict(locks)
        self.records: Spans[Configurations] = Spans(ANYTHING)
        self.under_way = UnderWay()
        self.undone: Spans[bool] = Spans(value=False)
        self.widened = 0
        self.floor = 0
        self.reached = -1
        self.lowest: int | None = None
        self._start: int | None = None
        self._acts: dict[Naming, tuple[Act, ...]] = {}
        self._memory: dict[object, tuple[float, Configurations]] = {}
        self._remembered: tuple[tuple[int, ...], int] | None = None

    def rules(self, now: float) -> Rules:
        """Return what is known of the configuration at a time, which is not before the last one."""
        self._start = self.given.log.start_at_most(now)
        lost = self.given.sessions.lost(now) if Allowance.LOST_REQUEST in self.allowed else 0
        limits = self.limits(now)
        if self._remembered != (limits, lost) or len(self._memory) > MOST_REMEMBERED:
            self._memory.clear()
            self._remembered = limits, lost
        return Rules(
            now,
            self.locks,
            limits,
            writes_seen=self.given.writes_seen,
            allowed=self.allowed & _OF_RECORDS,
            lost=lost,
        )

    def limits(self, now: float) -> tuple[int, ...]:
        """Return the delivery count limits that may be in force, the least and the greatest."""
        known = set(self.given.settings.limits)
        for event in self.given.altered:
            if event.name != _LIMIT or event.begin > now:
                continue
            value = event.value or ""
            new = {int(value)} if value.isdecimal() else set(DELIVERY_LIMITS)
            known = new if event.end + _SETTLES_MS < now else known | new
        return tuple(sorted({min(known), max(known)}))

    def pieces(self, first: int, last: int) -> Iterator[Piece]:
        """Yield each part of the offsets with its configurations and what is under way there.

        No part is both before and after where the log may start.
        """
        start, parts = self._start, [(first, last)]
        if start is not None and first < start <= last:
            parts = [(first, start - 1), (start, last)]
        for part in parts:
            for low, high, naming in self.under_way.over(*part):
                acts = self._acts_of(naming)
                for begin, end, configurations in self.records.pieces(low, high):
                    yield begin, end, configurations, acts

    def _acts_of(self, here: Naming) -> tuple[Act, ...]:
        if here not in self._acts:
            accepted = [other for other, _ in here if other.accepted and other.changes]
            self._acts[here] = tuple(
                request.act(
                    value, frozenset(b.number for b in accepted if _comes_before(b, request))
                )
                for request, value in here
                if _has_effect(request, value)
            )
        return self._acts[here]

    def reach(self, piece: Piece, rules: Rules) -> Configurations:
        """Return what the records may have become; anything, where that is too much to follow."""
        first, _, configurations, acts = piece
        deleted = self.may_be_deleted(first)
        key = (configurations, acts, deleted)
        until, reached = self._memory.get(key, (ALWAYS, None))
        if reached is None or until <= rules.now:
            if deleted:
                rules = attrs.evolve(rules, allowed=rules.allowed | {Allowance.LOG_START})
            reached = reachable(configurations, acts, rules)
            if reached is None:
                self.widened += 1
                # Any state stands for those after all that is under way, too.
                done = frozenset(act.number for act in acts)
                reached = frozenset({PossibleState(None, done)})
            self._memory[key] = stays_until(configurations, acts, rules), reached
        return reached

    def may_be_deleted(self, first: int) -> bool:
        """Whether the log may have lost an offset by the time of the rules.

        Where nothing later shows where it starts, that is something unseen.
        """
        if self._start is None:
            return Allowance.LOG_START in self.allowed
        return self._start > first

    @property
    def compacted(self) -> bool:
        """Whether records may have vanished from the log."""
        return self.given.settings.compacted or Allowance.COMPACTION in self.allowed

    def may_have_passed(self, offset: int, rules: Rules) -> bool:
        """Whether everything up to an offset may be finished, so that the start offset is past."""
        for piece in self.pieces(self.floor, offset):
            if not passed(self.reach(piece, rules), deleted=False, compacted=self.compacted):
                return False
        return True

    def may_be_in_window(self, offset: int, now: float) -> bool:
        """Whether the window may reach over an offset that was never acquired.

        Of transactions that were aborted a fetch may have read more: it gives none of that.
        """
        reached = self.reached
        for other in self.under_way.acquiring():
            reached = max(reached, other.ranges[-1][1])
        end = self.given.log.plain_in(reached + 1, END)
        if end is None or self.given.log.shrank:
            end = self.end_at_most(now)
        return end is None or offset < end

    def end_at_most(self, now: float) -> int | None:
        """Return an offset at which the log ended, or earlier; None where that is not known."""
        if Allowance.REPEATED_APPEND in self.allowed:
            return self.given.log.listed_end_at_most(now)
        return self.given.log.end_at_most(now)

    def put(self, parts: Sequence[tuple[int, int, Configurations]]) -> None:
        """Replace what is known of contiguous, ascending ranges by their configurations.

        Of sets that are equal one is kept: an object is compared with itself at once.
        """
        self.records.put([(low, high, one_of(each)) for low, high, each in parts])

    def pass_to(self, start: int) -> None:
        """Let the start offset have passed every record before ``start``, whatever was known."""
        behind = self.records.pieces(self.floor, start - 1)
        self.put([(low, high, recovered(before, [PASSED])) for low, high, before in behind])
        self.floor = start

    def undo(self, first: int, last: int) -> None:
        """Note that records may have been complete for a while: a write of it failed.

        A leader reads the delivery complete count of another write some time before that arrives.
        """
        self.undone.put([(first, last, True)])

    def begin_anew(self) -> None:
        """Forget everything: a part of the log is missing."""
        self.records, self.lowest = Spans(ANYTHING), None


def _has_effect(request: LogRequest, value: int) -> bool:
    """Whether a request may change a record; where it was refused only its renewals do."""
    refused = request.seen.status in REFUSALS
    return request.changes and (not refused or value == AcknowledgeType.RENEW)


def _comes_before(other: LogRequest, request: LogRequest) -> bool:
    mine = (request.seen.member, request.seen.broker)
    return (other.seen.member, other.seen.broker) == mine and other.turn < request.turn
