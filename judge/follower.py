"""The events of one share-partition, one by one, through the specification and implementation."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

import attrs

from judge.choices import recorded_answers, recorded_choice
from judge.compare import first_mismatch, persisted_mismatch, read_state, told
from judge.engine import Engine, SpecEngine, engines_for
from judge.finding import Finding, FindingKind
from judge.mismatch import Mismatch
from judge.words import MAX_TEXT, outcome_text, ranges_text, snapshot_text
from judge.written import Around, composed_mismatch, later_numbers
from model import operations as ops
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Difference, Guard
from model.outcome import Choice, Outcome
from model.profile import Profile
from model.ranges import RecordRange
from model.snapshot import SharePartitionSnapshot
from model.states import AcknowledgeType, RecordState
from model.trace import TraceEvent
from model.whole_state import Awaited, AwaitedKind, RecordedNumbers, ReplayState, first_difference

DISAGREEMENT = "SPEC_AND_IMPL_DISAGREE"

_DISAGREEMENT_SENTENCE = "the specification and the implementation give different answers"


Observer = Callable[[TraceEvent, Engine, SharePartitionSnapshot], None]
"""Takes note of each event that conforms, and of the engine and its window after it."""


class Follower:
    """One engine, and its finding on each recorded event.

    ``state`` is the engine's window after the ``last`` event, ``outcome`` its answer to that, and
    ``timed`` whether the clock is a real one.
    """

    def __init__(
        self, name: str, engine: Engine, invariants_every: int = 0, *, is_recorded: bool = True
    ) -> None:
        """Check the invariants after every so many events; 0 for never.

        Unless it ``is_recorded``, who judges answers the writes, and may let them wait.
        """
        self.name = name
        self.engine = engine
        self.state = SharePartitionSnapshot(0, 0, 0, ())
        self.outcome = Outcome()
        self.last: TraceEvent | None = None
        self._every = invariants_every
        self._known = self._led = self.timed = False
        self._clock = 0
        self._unmade: dict[int, RecordedNumbers] = {}
        self._watch = Watch()
        self._is_recorded = is_recorded

    def resume(self, standing: ReplayState) -> None:
        """Go on from where a replay stands, whose whole state the engine has."""
        self.state = self.engine.snapshot()
        whole = standing.state
        self._known, self._led = whole.ready, whole.highest_limit > 0
        self.timed, self._clock = whole.timed, standing.time_ms
        self._unmade = {each.id: each for each in standing.numbers}
        self._watch = Watch(standing)

    def standing(self, seq: int) -> ReplayState:
        """Return where the replay stands; ``seq`` is that of the next event."""
        whole = self.engine.whole()
        writes = whole.writes if whole.ready else ()
        later = (write.id for write in writes if write.made_after is not None)
        numbers = (self._unmade[id_] for id_ in later if id_ in self._unmade)
        awaited = self._watch.awaited() if whole.ready else ()
        return ReplayState(whole, seq, self._clock, tuple(numbers), awaited)

    def step(self, event: TraceEvent) -> Finding | None:
        """Apply one event; return what is wrong with it, or None.

        Raises InvalidValueError for an operation that makes no sense in the present state, and for
        a clock that is wrong.
        """
        before, self.last = self.state, event
        finding = self._step(event, before)
        return finding and told(finding, event, before, self.state, timed=self.timed)

    def _step(self, event: TraceEvent, before: SharePartitionSnapshot) -> Finding | None:
        begins = self._begins(event)
        passed = 0 if begins else self._passed(event)
        if event.outcome.exception is not None:
            return self._threw(event)
        choice = recorded_choice(event)
        persisted = self._persisted(event)
        try:
            if self.timed and not begins:
                here = Choice(start_offset=before.start_offset, paused_ms=event.paused_ms)
                self.engine.apply(ops.AdvanceTime(passed), here, (), event.seq)
            self.outcome = self.engine.apply(
                event.operation, choice, recorded_answers(event), event.seq
            )
        except IllegalChoiceError as error:
            return self._refused(event, choice, error)
        self._clock = event.time_ms
        if isinstance(event.operation, ops.Gap):
            self._known = False
            self._watch.begin(event.operation)
            return None
        if begins:
            self._begin(event.operation)
        self.state = self.engine.snapshot()
        self._unmade |= later_numbers(event, self.outcome)
        mismatch = (
            persisted
            or first_mismatch(event, self.outcome, Around(before, self.state, self.engine))
            or composed_mismatch(self.outcome, self._unmade)
        )
        for composed in self.outcome.composed:
            self._unmade.pop(composed.id, None)
        if mismatch is None and (late := self._late(event)):
            return self._refused(event, choice, IllegalChoiceError(Guard.ANSWER_COMES, late))
        if mismatch is None:
            return self._broken_invariant(event, before)
        rule, values = _named(mismatch.difference), (mismatch.recorded, mismatch.expected)
        return self._finding(event, FindingKind.DIFFERENCE, rule, *values, before, mismatch.offset)

    def _finding(  # noqa: PLR0913, PLR0917 - what a finding says
        self,
        event: TraceEvent,
        kind: FindingKind,
        rule: tuple[str, str],
        recorded: str,
        expected: str,
        before: SharePartitionSnapshot | None = None,
        offset: int | None = None,
    ) -> Finding:
        """Return that an event breaks a rule; without ``before`` it has changed nothing.

        ``rule`` is its name and its sentence.
        """
        around = snapshot_text(before or self.state, offset), snapshot_text(self.state, offset)
        return Finding(event.seq, self.name, kind, *rule, recorded, expected, *around, offset)

    def _begins(self, event: TraceEvent) -> bool:
        """Return whether an event needs nothing of those before it."""
        whole = isinstance(event.operation, ops.Checkpoint) and not self._known
        return whole or isinstance(event.operation, ops.Initialize | ops.Gap)

    def _begin(self, operation: ops.Operation) -> None:
        """Note that a leader has begun, or that its state is known from now on."""
        self._unmade.clear()
        self._watch.begin(operation)
        self._known = self.outcome.status is ErrorCode.NONE
        if isinstance(operation, ops.Initialize | ops.Checkpoint) and self._known:
            self._led, self.timed = True, operation.timed

    def _late(self, event: TraceEvent) -> str | None:
        """Return what has been awaited for too long after an event, in words."""
        if not self._known or not self._is_recorded:
            return None
        now = event.time_ms if self.timed else event.seq
        self._watch.note(event, self.state.records or (), now)
        return self._watch.overdue(now, self.engine.profile, timed=self.timed)

    def _persisted(self, event: TraceEvent) -> Mismatch | None:
        if not self._led or not isinstance(event.operation, ops.Initialize):
            return None
        return persisted_mismatch(event, self.engine.readable(read_state(event.operation)))

    def _threw(self, event: TraceEvent) -> Finding:
        """Return that an operation threw an exception: it changes nothing that could be told."""
        recorded = f"{event.outcome.status.name}: {event.outcome.exception}"[:MAX_TEXT]
        rule = _named(Difference.EXCEPTION)
        return self._finding(event, FindingKind.DIFFERENCE, rule, recorded, "an answer")

    def _passed(self, event: TraceEvent) -> int:
        """Return how long it is since the event before, besides what the operation lets pass.

        A virtual clock moves where an operation lets time pass, and a real one forward only.
        """
        clock = self._clock
        if isinstance(event.operation, ops.AdvanceTime):
            clock += event.operation.ms
        if event.time_ms != clock and not (self.timed and event.time_ms > clock):
            allowed = f"at least {clock}" if self.timed else f"{clock}"
            raise InvalidValueError(
                "time_ms", event.time_ms, f"{allowed}, the clock after the event"
            )
        return event.time_ms - clock

    def _refused(self, event: TraceEvent, choice: Choice, error: IllegalChoiceError) -> Finding:
        recorded = f"{_chosen(choice)} {outcome_text(event.outcome)}".strip()
        expected = f"not allowed: {error.detail}"
        return self._finding(event, FindingKind.GUARD, _named(error.guard), recorded, expected)

    def _broken_invariant(
        self, event: TraceEvent, before: SharePartitionSnapshot
    ) -> Finding | None:
        if not self._every or event.seq % self._every or not isinstance(self.engine, SpecEngine):
            return None
        broken = self.engine.violated()
        if not broken:
            return None
        shown = outcome_text(event.outcome), "the invariant holds"
        return self._finding(event, FindingKind.INVARIANT, broken[0], *shown, before)


def follow(  # noqa: PLR0913 - one argument for each part of the comparison
    events: Iterable[TraceEvent],
    engines: Mapping[str, Engine],
    invariants_every: int = 0,
    observe: Observer | None = None,
    *,
    before: ReplayState | None = None,
    after: ReplayState | None = None,
) -> Finding | None:
    """Return the finding on the first event that does not conform, or None.

    Compares the outcomes and states of two engines with each other as well, at every event.
    ``before`` and ``after`` are where the columnar kernel stood around a segment of a
    share-partition: the engines have the state before it, and must come to the one after it.
    Raises InvalidValueError for an event that cannot have happened: with a wrong clock, or an
    operation that makes no sense.
    """
    followers = [Follower(name, engine, invariants_every) for name, engine in engines.items()]
    if before:
        for follower in followers:
            follower.resume(before)
    for event in events:
        findings = [follower.step(event) for follower in followers]
        if finding := _agreed(event, followers, findings):
            return finding
        if observe:
            observe(event, followers[0].engine, followers[0].state)
    unfit = (_unfit(follower, after) for follower in followers if after)
    return next(filter(None, unfit), None)


def _unfit(follower: Follower, after: ReplayState) -> Finding | None:
    """Return that an engine does not end a segment where the next one begins."""
    event = follower.last
    if event is None:
        return None
    standing = follower.standing(event.seq + 1)
    different = first_difference(after, standing)
    if different is None:
        return None
    text = snapshot_text(follower.state)
    return Finding(
        event.seq,
        f"impl kernel, {follower.name}",
        FindingKind.DISAGREEMENT,
        DISAGREEMENT,
        "the columnar kernel and the replay event by event come to different whole states",
        outcome_text(event.outcome),
        f"kernel, or {follower.name}: {different}",
        text,
        text,
    )


def rules_shown(events: Callable[[], Iterable[TraceEvent]], profile: Profile) -> Profile:
    """Return the rules that a leader follows: requests that it refuses renew all or none.

    The profile allows both, if either, and one throughout (docs/decisions.md, 161).
    """
    strict = profile.all_or_none
    if strict is None or not any(map(_refuses_renewals, events())):
        return profile
    for rules in (profile, strict):
        with contextlib.suppress(InvalidValueError):
            if follow(events(), engines_for(("spec",), rules)) is None:
                return rules
    return profile


def _refuses_renewals(event: TraceEvent) -> bool:
    if not isinstance(event.operation, ops.Acknowledge) or event.outcome.status is ErrorCode.NONE:
        return False
    return any(AcknowledgeType.RENEW in batch.types for batch in event.operation.batches)


def _agreed(
    event: TraceEvent, followers: Sequence[Follower], findings: list[Finding | None]
) -> Finding | None:
    """Return the finding on which all engines agree, or that they disagree."""
    first, *others = zip(followers, findings, strict=True)
    for other in others:
        if _view(first) != _view(other):
            return _disagreement(event, first, other)
    finding = first[1]
    if finding is None or finding.kind is FindingKind.INVARIANT:
        return finding
    return attrs.evolve(finding, engine=", ".join(follower.name for follower in followers))


def _view(followed: tuple[Follower, Finding | None]) -> object:
    """Return what has to be the same in each engine.

    Not the durable state, as in ``judge.pair``: at every event it would cost a quarter of the
    time. ``persisted_mismatch`` compares each engine's with what the next leader reads.
    """
    follower, finding = followed
    if finding and finding.kind is not FindingKind.INVARIANT:
        return finding.kind, finding.name, finding.offset
    return follower.outcome, follower.state, follower.engine.lag()


def _disagreement(
    event: TraceEvent,
    first: tuple[Follower, Finding | None],
    other: tuple[Follower, Finding | None],
) -> Finding:
    finding = first[1] or other[1]
    disagreement = Finding(
        event.seq,
        f"{first[0].name}, {other[0].name}",
        FindingKind.DISAGREEMENT,
        DISAGREEMENT,
        _DISAGREEMENT_SENTENCE,
        outcome_text(event.outcome),
        f"{_opinion(*first)} — but — {_opinion(*other)}",
        finding.before if finding else snapshot_text(first[0].state),
        finding.after if finding else snapshot_text(other[0].state),
        finding.offset if finding else None,
    )
    state = first[0].state
    return told(disagreement, event, state, state, timed=first[0].timed)


def _opinion(follower: Follower, finding: Finding | None) -> str:
    if finding:
        return f"{follower.name}: {finding.name}, {finding.expected}"
    return f"{follower.name}: {outcome_text(follower.outcome)}; {snapshot_text(follower.state)}"


def _named(rule: Enum) -> tuple[str, str]:
    return rule.name, str(rule.value)


def _chosen(choice: Choice) -> str:
    if choice.acquired:
        return f"took {ranges_text(choice.acquired)};"
    return ""


_NAMES = {
    AwaitedKind.WRITE: "the answer to write",
    AwaitedKind.DEAD_LETTER: "the end of the dead letter at",
    AwaitedKind.LOG: "the log up to its start offset,",
}


class Watch:
    """What must come in time, and since when: answers to writes, ends of dead letters, the log.

    Of each kind one is watched until it has come, and then the next: for writes that which was made
    first, so that no other masks one that never comes. This is about traces alone: in a live search
    the kit decides when an answer comes.
    """

    def __init__(self, standing: ReplayState | None = None) -> None:
        """Begin with nothing, or where a replay stands."""
        whole = standing.state if standing else None
        awaited = standing.awaited if standing else ()
        self._watched: dict[AwaitedKind, Awaited] = {each.kind: each for each in awaited}
        writes = whole.writes if whole else ()
        # Those that an altered start offset has fenced keep it, and need no answer.
        self._writes = {w.id: None for w in writes if w.seen or w.start_offset >= 0}
        self._log_end: int | None = whole.log.end_offset if whole and whole.log.known else None

    def begin(self, operation: ops.Operation) -> None:
        """Begin with a new leader, with one whose state is told, or with nothing that is known."""
        self._watched, self._writes, self._log_end = {}, {}, None
        if isinstance(operation, ops.Checkpoint):
            self._writes = {write.id: None for write in operation.outstanding}
        if isinstance(operation, ops.Checkpoint | ops.Initialize) and operation.log_known:
            self._log_end = operation.log_end_offset

    def awaited(self) -> tuple[Awaited, ...]:
        """Return what is watched, in the order of the kinds."""
        return tuple(each for _kind, each in sorted(self._watched.items()))

    def note(self, event: TraceEvent, records: Iterable[RecordRange], now: int) -> None:
        """Note an event and the records after it; ``now`` is its time, or its number."""
        short = self._follow(event)
        self._writes |= {w.id: None for w in event.outcome.writes if w.status is ErrorCode.PENDING}
        letters = [r for r in records if r.state is RecordState.ARCHIVING]
        letter = self._number(AwaitedKind.DEAD_LETTER)
        if not any(r.first <= letter <= r.last for r in letters):
            letter = letters[0].first if letters else -1
        write = self._number(AwaitedKind.WRITE)
        if write not in self._writes:
            write = next(iter(self._writes), -1)
        log = self._number(AwaitedKind.LOG)
        numbers = (write, letter, short if log < 0 else log)
        for kind, number in zip(AwaitedKind, numbers, strict=True):
            if number < 0:
                self._watched.pop(kind, None)
            elif number != self._number(kind):
                self._watched[kind] = Awaited(kind, number, now)

    def overdue(self, now: int, profile: Profile, *, timed: bool) -> str | None:
        """Return what has been awaited for too long, in words."""
        within = profile.answered_within_ms if timed else profile.answered_within
        unit = "ms" if timed else "events"
        for each in self.awaited():
            if now - each.since > within:
                name = _NAMES[each.kind]
                return f"{name} {each.number} is awaited for {now - each.since} {unit}"
        return None

    def _number(self, kind: AwaitedKind) -> int:
        return self._watched[kind].number if kind in self._watched else -1

    def _follow(self, event: TraceEvent) -> int:
        """Follow writes and the log; return the start offset of a log that ends before, or -1."""
        match event.operation:
            case ops.ResetOffset() if event.outcome.status is ErrorCode.NONE:
                self._writes.clear()
            case ops.CompleteWrite(name):
                self._writes.pop(name, None)
            case ops.Produce(_, log_end):
                self._log_end = None if self._log_end is None else log_end
                self._watched.pop(AwaitedKind.LOG, None)
            case ops.AdvanceLogStart(start) if self._log_end is not None and start > self._log_end:
                self._log_end = start
                return start
        return -1
