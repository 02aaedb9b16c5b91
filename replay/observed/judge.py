"""The judge of one share-partition: goes through what was observed of it in time.

A request may take effect at any time while it is under way. When it ends, the configurations stay
in which it did; hidden events may come between. No configuration: no legal broker answers so.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import attrs

from judge.finding import Finding, FindingPlace
from judge.words import clock_text, printable
from model.guards import Difference, Guard
from model.ranges import join_neighbours
from model.states import AcknowledgeType, RecordState
from replay.observed.checks import Offers, check_acquire, check_fenced, check_write, is_newer
from replay.observed.durable import Durables
from replay.observed.known import Known, Piece, Premises
from replay.observed.observation import OF_LOG, Kind, Lapse, Observation
from replay.observed.record import (
    ALWAYS,
    ANYTHING,
    Allowance,
    Configurations,
    Effect,
    Lock,
    Rules,
    completed,
    is_unsaved,
    may_be_finished,
    passed,
    possible_text,
    recovered,
)
from replay.observed.requests import JUDGED, LogRequest, bounds, lock_of, received_by, requests_of
from replay.observed.state_topic import Joined, join, learn
from replay.observed.verdict import DivergedError, ObservedVerdict
from replay.verdict import Verdict, place
from spec.record import UNDELIVERED, is_acquirable, is_held_by

MOST_EVIDENCE = 8
"""How many requests a divergence names."""

_OPERATIONS = {
    Kind.ACQUIRE: "acquire",
    Kind.ACKNOWLEDGE: "acknowledge",
    Kind.WRITE: "complete_write",
    Kind.READ: "initialize",
}
"""What a trace calls the event that an observation shows."""

Happening = tuple[float, int, int, Observation | None, Callable[[], None]]


def leader_of(seen: Iterable[Observation]) -> str:
    """Return the broker that answers most of the members' requests."""
    brokers: dict[str, int] = {}
    for each in seen:
        brokers[each.broker] = brokers.get(each.broker, 0) + (1 if each.member else 0)
    return max(brokers, key=lambda name: (brokers[name], name), default="")


class ObservationJudge:
    """Goes through what was observed of a share-partition; ``allowed`` may have happened unseen."""

    def __init__(
        self,
        partition: str,
        seen: Sequence[Observation],
        given: Premises,
        gaps: Sequence[Lapse],
        allowed: frozenset[Allowance] = frozenset(),
    ) -> None:
        """Begin with nothing being known."""
        self._partition, self._given, self._gaps = partition, given, gaps
        self._seen = [each for each in seen if each.kind not in OF_LOG]
        self._leader = leader_of(self._seen)
        self._leaders = [each for each in self._seen if each.kind is Kind.READ]
        self._apart = any(each.broker != self._leader for each in self._seen)
        settings = given.settings
        self._requests = requests_of(self._seen, settings, gaps, self._leader)
        self._known = Known(given, _locks(self._requests, given), allowed)
        self._durables = Durables(self._known, self._leader)
        self._judged = self._writes = 0
        self._findings: list[Finding] = []
        self._operations: set[str] = set()
        self._now = self._anew = ALWAYS
        self._last_write = max(
            (
                received_by(each, settings, self._leader)
                for each in self._seen
                if each.kind is Kind.WRITE
            ),
            default=ALWAYS,
        )
        self._offers = Offers(self._known)
        self._reads: list[tuple[float, float]] = []
        self._joined = Joined()
        self._learnt = False
        self._course = self._goes_on()

    def verdict(self, most: int = 1) -> ObservedVerdict:
        """Return the verdict where nothing else may have happened, by so many findings at most.

        Asked again for more, it goes on from there.
        """
        while len(self._findings) < most and next(self._course, False):
            pass
        judged = self._judged + self._writes
        writes = [each for each in self._seen if each.kind is Kind.WRITE]
        verdict = Verdict.CONFORMS if judged else Verdict.UNDETERMINED
        return ObservedVerdict(
            self._partition,
            Verdict.DIVERGES if self._findings else verdict,
            len(self._requests) + len(writes),
            judged,
            divergence=next(iter(self._findings), None),
            more=tuple(self._findings[1:]),
            writes=self._writes,
            widened=self._known.widened,
            durable=len(self._joined.places),
        )

    def _goes_on(self) -> Iterator[bool]:
        """Let one thing happen after the other, each with what it diverges in."""
        with self._finding(None):
            self._joined = join(self._given.dump, self._seen, self._given.settings)
        yield True
        for time, _, _, each, happen in sorted(self._happenings(), key=lambda one: one[:3]):
            self._now = time
            if each is not None:
                self._operations.add(_OPERATIONS.get(each.kind, each.kind))
            with self._finding(each):
                happen()
            yield True

    @contextmanager
    def _finding(self, each: Observation | None) -> Iterator[None]:
        """Take what diverges, forget everything, and go on."""
        try:
            yield
        except DivergedError as error:
            found = attrs.evolve(
                error.finding,
                place=FindingPlace(self._partition),
                evidence=self._evidence(error.finding),
                operations_before=tuple(sorted(self._operations | set(self._unasked()))),
            )
            if each is not None:
                found = attrs.evolve(
                    found,
                    seq=each.line,
                    operation=_OPERATIONS.get(each.kind, each.kind),
                    event_text=next(_texts(each, found.offset or 0), ""),
                    place=FindingPlace(self._partition, each.source, each.line),
                )
            self._findings.append(found)
            self._begin_anew()

    def _unasked(self) -> Iterator[str]:
        """Yield what a trace would show that may have happened without a member's request."""
        log = self._given.log
        yield "advance_time"
        if log.start_at_least(self._now):
            yield "advance_log_start"
        if not log.plain.issuperset(log.bases):
            yield "archive_aborted"
        if self._given.settings.compacted is not False:
            yield "compact"

    def _happenings(self) -> Iterable[Happening]:
        settings = self._given.settings
        two_clocks = any(each.broker != self._leader for each in self._seen)
        for request in self._requests:
            begin, end = request.begin, request.end
            yield begin, 0, request.number, None, partial(self._known.under_way.begin, request)
            yield end, 2, request.turn, request.seen, partial(self._ended, request)
            if _is_saved_by_write(request) and self._shows_writes(request):
                later = end + settings.slack_ms + settings.skew_ms * two_clocks + 3
                check = partial(self._check_saved, request, later)
                yield later, 3, request.number, request.seen, check
        for nth, each in enumerate(self._seen):
            if each.kind is Kind.WRITE:
                time = received_by(each, settings, self._leader)
                yield time, 1, nth, each, partial(self._wrote, each, time)
                if each in self._joined.places:
                    _, time = bounds(each, settings, self._leader)
                    yield time, 1, nth, each, partial(self._learn, each, time)
            elif each.kind in (Kind.READ, Kind.INITIALIZE, Kind.DELETE, Kind.SUMMARY):
                begin, time = bounds(each, settings, self._leader)
                yield time, 1, nth, each, partial(self._take, each, time)
                if each.kind is Kind.READ:
                    self._reads.append((begin, time))
                    read = partial(self._durables.begin_reading, each, begin)
                    yield begin, 0, 0, None, read
        for nth, gap in enumerate(self._gaps):
            yield gap.end, 4, nth, None, self._begin_anew

    def _shows_writes(self, request: LogRequest) -> bool:
        """Whether the logs have each write that came between a request and its answer.

        What came before a log begins, or after one ends, is not in it.
        """
        given, settings = self._given, self._given.settings
        margin = settings.slack_ms + 1 + self._apart * settings.skew_ms
        seen = request.seen
        within = seen.earliest - margin > given.since and seen.end + margin < given.until
        return given.writes_seen and within and not request.blind

    def _begin_anew(self) -> None:
        self._known.begin_anew()
        self._durables.begin_anew()
        self._learnt, self._anew = False, self._now

    def _learn(self, each: Observation, now: float) -> None:
        """Take what was durable once a write was, where nothing from before it is known.

        Unless the share-partition was made anew while the write was under way, or that was in a
        gap: where the log has a time twice, what became durable before may come later in it.
        """
        skew = self._given.settings.skew_ms
        anew = (event for event in self._seen if event.kind in (Kind.INITIALIZE, Kind.DELETE))
        begin = each.earliest - self._given.settings.slack_ms - skew
        if self._learnt or self._is_in_gap(begin, now):
            return
        if any(event.end >= begin and event.begin <= now + skew for event in anew):
            return
        self._learnt = True
        durable = self._joined.durable_after(self._joined.places[each])
        self._durables.learn(durable)
        learn(self._known, durable, now)

    def _ended(self, request: LogRequest) -> None:
        try:
            self._judge(request, self._known.rules(request.end))
        finally:
            self._known.under_way.end(request)

    def _judge(self, request: LogRequest, rules: Rules) -> None:
        if request.blind:
            for first, last, _ in request.ranges:
                self._known.put([(first, last, ANYTHING)])
        else:
            self._judged += 1
            if request.seen.status in JUDGED:
                self._check_refused(request, rules)
            if request.acquires:
                check_acquire(self._known, request)
            if request.changes:
                named = join_neighbours((first, last, True) for first, last, _ in request.ranges)
                for first, last, _ in named:
                    self._effect(request, first, last, rules)
            if request.acquires:
                self._offers.note(request)
            elif request.changes and request.effect is Effect.UNDONE:
                for first, last, _ in request.ranges:
                    self._known.undo(first, last)

    def _effect(self, request: LogRequest, first: int, last: int, rules: Rules) -> None:
        changed: list[tuple[int, int, Configurations]] = []
        known = self._known
        for piece in known.pieces(first, last):
            act = next((act for act in piece[3] if act.number == request.number), None)
            if act is None:
                changed.append(piece[:3])
                continue
            after = completed(known.reach(piece, rules), act)
            if not request.acquires:
                after |= self._ignored(piece, request, rules)
            if not after and self._overlaps_read(request, request.end):
                # The leader of before may have served it.
                after = recovered(piece[2], [each.record for each in piece[2] if each.record])
            if not after:
                raise _refused(piece, request, known, rules)
            changed.append((piece[0], piece[1], after))
        known.put(changed)
        if request.acquires:
            known.reached = max(known.reached, last)
            known.lowest = first if known.lowest is None else min(known.lowest, first)

    def _ignored(self, piece: Piece, request: LogRequest, rules: Rules) -> Configurations:
        """Return the configurations in which an acknowledgement does not concern the records.

        They are before the start offset, or were never in flight.
        """
        known, last = self._known, piece[1]
        if request.effect is not Effect.CERTAIN:
            return frozenset()
        others = [each for each in known.reach(piece, rules) if request.number not in each.done]
        fresh = frozenset(
            attrs.evolve(each, record=UNDELIVERED)
            for each in others
            if each.record is None or each.record == UNDELIVERED
        )
        if fresh and not known.may_be_in_window(last, rules.now):
            fresh = frozenset()
        ended = frozenset(each for each in others if may_be_finished(each))
        if ended and known.may_have_passed(last, rules):
            fresh |= passed(ended, deleted=False, compacted=False)
        return fresh

    def _overlaps_read(self, request: LogRequest, until: float) -> bool:
        return any(begin < until and request.begin <= end for begin, end in self._reads)

    def _check_refused(self, request: LogRequest, rules: Rules) -> None:
        """Refuse an acknowledgement that was refused though all its records were held.

        Only where each record was held by the member in every configuration, all the time.
        """
        if any(kind == AcknowledgeType.RENEW for _, _, kind in request.ranges):
            return
        if not request.ranges:
            return
        member = request.seen.member
        for first, last, _ in request.ranges:
            for piece in self._known.pieces(first, last):
                for each in self._known.reach(piece, rules):
                    if each.record is None or not is_held_by(each.record, member):
                        return
        first, last, _ = request.ranges[0]
        detail = f"{member} was refused ({request.seen.status}) while it held every record"
        raise DivergedError(Guard.ACKNOWLEDGEMENT_JUDGED, first, last, detail)

    def _wrote(self, each: Observation, now: float) -> None:
        in_gap = self._is_in_gap(each.earliest, max(now, each.end))
        if not in_gap:
            self._durables.wrote(each)
        if in_gap or not each.timed:
            return
        newer = [read for read in self._leaders if is_newer(read, each)]
        check_fenced(newer, each, self._known)
        if any(bounds(read, self._given.settings, self._leader)[0] <= now for read in newer):
            return  # Nobody follows any more what that leader knows.
        self._writes += 1
        check_write(self._known, each, now)
        if each.status != 0:
            for first, last, _, _ in each.ranges:
                self._known.undo(first, last)

    def _take(self, each: Observation, now: float) -> None:
        if not self._is_in_gap(each.earliest, now):
            self._durables.take(each)

    def _is_in_gap(self, begin: float, end: float) -> bool:
        return any(gap.begin <= end and gap.end >= begin for gap in self._gaps)

    def _check_saved(self, request: LogRequest, now: float) -> None:
        """Refuse an answer that came before the state it reports was written.

        Where a write of it may be in a gap, or was forgotten, nothing is known; nor where the next
        leader may have read meanwhile, as nobody follows the writes of the former then.
        """
        allowed = self._known.allowed
        if Allowance.NEW_LEADER in allowed or request.begin <= self._anew:
            return
        if self._overlaps_read(request, now):
            return
        if self._is_in_gap(request.begin, now):
            return
        if Allowance.LAST_WRITES in allowed and self._last_write <= now:
            return
        for first, last, kind in request.ranges:
            if kind == AcknowledgeType.RENEW:
                continue
            for low, high, configurations in self._known.records.pieces(first, last):
                if is_unsaved(configurations, request.number):
                    detail = "it was answered with NONE, and no write of it had been received"
                    raise DivergedError(Difference.COMPLETED, low, high, detail)

    def _evidence(self, finding: Finding) -> tuple[str, ...]:
        """Return the requests that concern the offset, up to the one that was refused."""
        ordered = sorted(self._seen, key=lambda each: each.end)
        some = [(each, text) for each in ordered for text in _texts(each, finding.offset or 0)]
        return tuple(
            f"{clock_text(each.end)}  {printable(text, 300)}  ({place(each.source, each.line)})"
            for each, text in some[:MOST_EVIDENCE]
        )


def _locks(requests: Sequence[LogRequest], given: Premises) -> dict[int, Lock]:
    """Return the lock that each request grants, should it grant one."""
    durations = [request.seen.lock_ms for request in requests]
    locks = {}
    for nth, request in enumerate(requests):
        around = [
            duration for duration in durations[max(0, nth - 1) : nth + 2] if duration is not None
        ]
        shortest, longest = (min(around), max(around)) if around else (0, 2**40)
        locks[request.number] = lock_of(
            request, (shortest, longest), given.sessions, given.settings.sweep_ms
        )
    return locks


def _is_saved_by_write(request: LogRequest) -> bool:
    return not request.acquires and request.accepted


def _refused(piece: Piece, request: LogRequest, known: Known, rules: Rules) -> DivergedError:
    first, last, configurations, acts = piece
    others = tuple(act for act in acts if act.number != request.number)
    reached = known.reach((first, last, configurations, others), rules)
    member, possible = request.seen.member, possible_text(reached)
    value = next(value for low, high, value in request.ranges if low <= first <= high)
    if request.acquires:
        free = any(each.record is not None and is_acquirable(each.record) for each in reached)
        detail = f"{member} acquires with delivery count {value}; possible: {possible}"
        if free:
            return DivergedError(Difference.ACQUIRED, first, last, detail)
        return DivergedError(Guard.ONLY_AVAILABLE_IS_ACQUIRED, first, last, detail)
    kind = AcknowledgeType(value).name
    detail = f"{kind} by {member} was accepted; possible: {possible}"
    never = all(each.record == UNDELIVERED for each in reached)
    rule = Guard.ACKNOWLEDGED_WAS_DELIVERED if never else Guard.ACKNOWLEDGEMENT_JUDGED
    return DivergedError(rule, first, last, detail)


def _texts(each: Observation, offset: int) -> Iterator[str]:
    """Yield what an observation says of an offset; what a leader reads is no evidence."""
    for part in each.ranges if each.kind is not Kind.READ else ():
        if part[0] <= offset <= part[1]:
            yield _text(each, part)


def _text(each: Observation, part: tuple[int, ...]) -> str:
    who = each.member or each.group
    first, last = part[0], part[1]
    match each.kind:
        case Kind.ACQUIRE:
            what = f"acquires {first}-{last}, delivery count {part[2]}"
        case Kind.ACKNOWLEDGE:
            what = f"{AcknowledgeType(part[2]).name} of {first}-{last}"
        case _:
            what = f"{each.kind}: {first}-{last} {RecordState(part[2]).name}({part[3]})"
    answer = "no answer" if each.status is None else f"error {each.status}"
    return f"{who}: {what}{'' if each.status == 0 else f', {answer}'}"
