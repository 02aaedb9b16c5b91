"""What a cluster owes to the topic of dead letters (KIP-1191): pure functions of a history."""

from collections.abc import Iterator, Mapping

import attrs

from conformance.cluster.history import (
    ClusterEvent,
    GroupSettings,
    LeaderAnswered,
    LeaderAsked,
    LeaderAtRest,
    LeaderWrites,
    LetterAppended,
    LettersAnswered,
    LettersGiven,
    RecordsAborted,
    RecordsDeleted,
    WriteAnswered,
)
from judge.finding import Finding, FindingKind, FindingPlace
from model.rules import RULES, RuleKind

_GAP, _ACCEPT = 0, 1
_NONE = "NONE"
_FENCED = "FENCED_LEADER_EPOCH"

_Keys = set[tuple[int, int]]


def _keys(partition: int, first: int, last: int) -> _Keys:
    return {(partition, offset) for offset in range(first, last + 1)}


@attrs.define
class DeadLetters:
    """What is known of a run; keys are (partition, offset).

    ``wanted`` are records that a member accepted, or told are none, whatever the answer;
    ``accepted`` those that it was told it had accepted, at or above the start offset; ``aborted``
    those of aborted transactions; ``letters`` those in the topic; ``given_up`` those that the queue
    was given and could not produce; ``failed`` says of which ones a write failed, and whether it
    was fenced.
    """

    settings: GroupSettings | None = None
    asked: dict[int, LeaderAsked] = attrs.field(factory=dict)
    writes: dict[int, LeaderWrites] = attrs.field(factory=dict)
    given: dict[int, LettersGiven] = attrs.field(factory=dict)
    wanted: _Keys = attrs.field(factory=set)
    accepted: _Keys = attrs.field(factory=set)
    aborted: _Keys = attrs.field(factory=set)
    letters: _Keys = attrs.field(factory=set)
    given_up: _Keys = attrs.field(factory=set)
    failed: dict[tuple[int, int], str] = attrs.field(factory=dict)
    log_starts: dict[int, int] = attrs.field(factory=dict)


def judge_letters(
    run: DeadLetters, event: ClusterEvent, seq: int, spoilt: Mapping[int, str]
) -> Iterator[Finding]:
    """Yield what is wrong by the next event; of a run without dead letters nothing is.

    ``spoilt`` has what made the state of a partition wrong, whatever follows from it.
    """
    if isinstance(event.what, GroupSettings):
        run.settings = event.what
    if run.settings is None or not run.settings.dead_letter_queue:
        return
    match event.what:
        case LeaderAnswered(id_, error) if error == _NONE and id_ in run.asked:
            asked = run.asked[id_]
            accepted = {key for key in _batches(asked, {_ACCEPT}) if key[1] >= asked.start_offset}
            run.accepted |= accepted
            yield from _judge_both(run, event, seq, accepted, spoilt)
        case LetterAppended(partition, offset):
            run.letters.add((partition, offset))
            yield from _judge_both(run, event, seq, {(partition, offset)}, spoilt)
        case LeaderAtRest():
            yield from _judge_passed(run, event, event.what, seq)
        case _:
            _note(run, event)


def _batches(asked: LeaderAsked, kinds: set[int]) -> _Keys:
    keys = (
        _keys(asked.partition, first, last) for first, last, kind in asked.batches if kind in kinds
    )
    return set().union(*keys)


def _note(run: DeadLetters, event: ClusterEvent) -> None:
    """Note what later events are judged by."""
    match event.what:
        case RecordsDeleted(partition, log_start):
            run.log_starts[partition] = log_start
        case RecordsAborted(partition, ranges):
            run.aborted |= set().union(*(_keys(partition, *each) for each in ranges))
        case LeaderAsked(id_):
            run.asked[id_] = event.what
            run.wanted |= _batches(event.what, {_GAP, _ACCEPT})
        case LeaderWrites(id_):
            run.writes[id_] = event.what
        case WriteAnswered(id_, error) if error != _NONE and id_ in run.writes:
            write = run.writes[id_]
            cause = "a write of it was fenced" if error == _FENCED else "a write of it failed"
            for first, last, *_ in write.batches:
                run.failed |= dict.fromkeys(_keys(write.partition, first, last), cause)
        case LettersGiven(id_):
            run.given[id_] = event.what
        case LettersAnswered(id_, error) if error != _NONE and id_ in run.given:
            given = run.given[id_]
            run.given_up |= _keys(given.partition, given.first_offset, given.last_offset)
        case _:
            pass


def _judge_both(
    run: DeadLetters, event: ClusterEvent, seq: int, keys: _Keys, spoilt: Mapping[int, str]
) -> Iterator[Finding]:
    """Judge records that are in the topic, or were accepted: none must be both."""
    for partition, offset in sorted(keys & run.letters & run.accepted)[:1]:
        cause = run.failed.get((partition, offset), spoilt.get(partition, ""))
        texts = "accepted", "not accepted"
        yield cluster_finding(event, seq, offset, "DEAD_LETTERS_FAILED", *texts, cause=cause)


def _judge_passed(
    run: DeadLetters, event: ClusterEvent, what: LeaderAtRest, seq: int
) -> Iterator[Finding]:
    """Judge the records that a leader has passed and nobody accepted: they are dead letters."""
    log_start = run.log_starts.get(what.partition, 0)
    passed = _keys(what.partition, log_start, min(what.start_offset, what.log_end_offset) - 1)
    missing = passed - run.wanted - run.aborted - run.letters - run.given_up
    for key in sorted(missing)[:1]:
        cause = run.failed.get(key, "")
        texts = "not in the topic of dead letters", "in it"
        yield cluster_finding(event, seq, key[1], "DEAD_LETTERS_ARRIVE", *texts, cause=cause)


def cluster_finding(  # noqa: PLR0913, PLR0917 - what is reported of a finding
    event: ClusterEvent,
    seq: int,
    offset: int,
    name: str,
    recorded: str,
    expected: str,
    *evidence: str,
    cause: str = "",
) -> Finding:
    """Return what is wrong in a cluster: the rule, by which event, and what shows it."""
    return Finding(
        seq=seq,
        engine="cluster",
        kind=FindingKind.INVARIANT,
        name=name,
        sentence=RULES[RuleKind.CLUSTER][name].sentence,
        recorded=recorded,
        expected=expected,
        before="",
        after="",
        offset=offset,
        place=FindingPlace(partition=event.run, event=event.line),
        evidence=evidence,
        cause=(name, cause) if cause else (name,),
    )
