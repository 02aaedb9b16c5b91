"""The events of one share-partition, one by one, through the specification and implementation."""

from collections.abc import Iterable, Mapping
from typing import Protocol

import attrs

from judge.choices import recorded_answers, recorded_choice
from judge.compare import first_mismatch, persisted_mismatch
from judge.engine import Engine, SpecEngine
from judge.finding import Finding, FindingKind
from judge.words import outcome_text, ranges_text, snapshot_text
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.operations import AdvanceTime, Initialize
from model.outcome import Choice, Outcome
from model.snapshot import SharePartitionSnapshot
from model.trace import TraceEvent

DISAGREEMENT = "SPEC_AND_IMPL_DISAGREE"

_DISAGREEMENT_SENTENCE = "the specification and the implementation give different answers"


class Observer(Protocol):
    """Receives the state after each event that conforms."""

    def __call__(self, event: TraceEvent, engine: Engine, state: SharePartitionSnapshot) -> None:
        """Take note of an event and the state after it."""


class Follower:
    """One engine, and its finding on each recorded event.

    ``state`` is the engine's window after the last event, ``outcome`` its answer to that.
    """

    def __init__(self, name: str, engine: Engine, invariants_every: int = 0) -> None:
        """Check the invariants after every so many events; 0 for never."""
        self.name = name
        self.engine = engine
        self.state = SharePartitionSnapshot(0, 0, 0, ())
        self.outcome = Outcome()
        self._every = invariants_every
        self._led = False

    def step(self, event: TraceEvent) -> Finding | None:
        """Apply one event; return what is wrong with it, or None.

        Raises InvalidValueError for an operation that makes no sense in the present state.
        """
        before = self.state
        choice = recorded_choice(event)
        persisted = (
            persisted_mismatch(event, self.engine.durable())
            if self._led and isinstance(event.operation, Initialize)
            else None
        )
        try:
            self.outcome = self.engine.apply(
                event.operation, choice, recorded_answers(event), event.seq
            )
        except IllegalChoiceError as error:
            return self._refused(event, choice, error)
        if isinstance(event.operation, Initialize):
            self._led |= self.outcome.status is ErrorCode.NONE
        self.state = self.engine.snapshot()
        mismatch = persisted or first_mismatch(event, self.outcome, before, self.state)
        if mismatch is None:
            return self._broken_invariant(event, before)
        return Finding(
            event.seq,
            self.name,
            FindingKind.DIFFERENCE,
            mismatch.difference.name,
            mismatch.difference.value,
            mismatch.recorded,
            mismatch.expected,
            snapshot_text(before, mismatch.offset),
            snapshot_text(self.state, mismatch.offset),
            mismatch.offset,
        )

    def _refused(self, event: TraceEvent, choice: Choice, error: IllegalChoiceError) -> Finding:
        text = snapshot_text(self.state)
        recorded = f"{_chosen(choice)} {outcome_text(event.outcome)}".strip()
        return Finding(
            event.seq,
            self.name,
            FindingKind.GUARD,
            error.guard.name,
            str(error.guard.value),
            recorded,
            f"not allowed: {error.detail}",
            text,
            text,
        )

    def _broken_invariant(
        self, event: TraceEvent, before: SharePartitionSnapshot
    ) -> Finding | None:
        if not self._every or event.seq % self._every or not isinstance(self.engine, SpecEngine):
            return None
        broken = self.engine.violated()
        if not broken:
            return None
        name, sentence = broken[0]
        return Finding(
            event.seq,
            self.name,
            FindingKind.INVARIANT,
            name,
            sentence,
            outcome_text(event.outcome),
            "the invariant holds",
            snapshot_text(before),
            snapshot_text(self.state),
        )


def follow(
    events: Iterable[TraceEvent],
    engines: Mapping[str, Engine],
    invariants_every: int = 0,
    observe: Observer | None = None,
) -> Finding | None:
    """Return the finding on the first event that does not conform, or None.

    Compares the outcomes and states of two engines with each other as well, at every event.
    Raises InvalidValueError for an event that cannot have happened: with a wrong clock, or an
    operation that makes no sense.
    """
    followers = [Follower(name, engine, invariants_every) for name, engine in engines.items()]
    clock = 0
    for event in events:
        clock = checked_clock(event, clock)
        findings = [follower.step(event) for follower in followers]
        if finding := _agreed(event, followers, findings):
            return finding
        if observe:
            observe(event, followers[0].engine, followers[0].state)
    return None


def checked_clock(event: TraceEvent, clock: int) -> int:
    """Return the clock after an event, before which it was ``clock``, in ms.

    Raises InvalidValueError if the event has another.
    """
    if isinstance(event.operation, Initialize):
        return event.time_ms
    if isinstance(event.operation, AdvanceTime):
        clock += event.operation.ms
    if event.time_ms != clock:
        raise InvalidValueError("time_ms", event.time_ms, f"{clock}, the clock after the event")
    return clock


def _agreed(
    event: TraceEvent, followers: list[Follower], findings: list[Finding | None]
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
    return Finding(
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


def _opinion(follower: Follower, finding: Finding | None) -> str:
    if finding:
        return f"{follower.name}: {finding.name}, {finding.expected}"
    return f"{follower.name}: {outcome_text(follower.outcome)}; {snapshot_text(follower.state)}"


def _chosen(choice: Choice) -> str:
    if choice.acquired:
        return f"took {ranges_text(choice.acquired)};"
    return ""
