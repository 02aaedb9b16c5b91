"""What a cluster owes to the topic of dead letters (KIP-1191): pure functions of a history."""

from collections.abc import Iterator

from conformance.cluster.history import (
    LeaderAnswered,
    LeaderAsked,
    LeaderAtRest,
    LeaderWrites,
    LetterAppended,
    LettersAnswered,
    LettersGiven,
    RecordsEndedUntold,
)
from conformance.cluster.run_state import FENCED, NONE, RecordKey, RunState, keys_of
from judge.finding import Finding
from model.states import AcknowledgeType, RecordState

_WANTED = (AcknowledgeType.GAP, AcknowledgeType.ACCEPT)


def note_wanted(run: RunState, what: LeaderAsked) -> None:
    """Note what a member accepts, or tells to be no record."""
    if run.buries:
        run.wanted |= keys_of(what.partition, (each for each in what.batches if each[2] in _WANTED))


def note_untold(run: RunState, what: RecordsEndedUntold) -> None:
    """Note what was accepted, or told to be no record, by who cannot be known."""
    if run.buries:
        ended = (each for each in what.ranges if each[2] == RecordState.ACKNOWLEDGED)
        run.wanted |= keys_of(what.partition, ended)


def note_failed(run: RunState, write: LeaderWrites, error: str) -> None:
    """Note the records whose write failed."""
    cause = "a write of it was fenced" if error == FENCED else "a write of it failed"
    if run.buries:
        run.failed |= dict.fromkeys(keys_of(write.partition, write.batches), cause)


def note_given(run: RunState, what: LettersGiven) -> None:
    """Note what the dead-letter queue is given."""
    run.given[what.id] = what


def note_given_up(run: RunState, what: LettersAnswered) -> None:
    """Note what the dead-letter queue could not produce."""
    if what.error != NONE and what.id in run.given:
        given = run.given[what.id]
        run.given_up |= keys_of(given.partition, [(given.first_offset, given.last_offset)])


def judge_accepted(run: RunState, what: LeaderAnswered) -> Iterator[Finding]:
    """Judge what a member is told that it has accepted: it must be no dead letter."""
    if run.buries and what.error == NONE and what.id in run.asked:
        asked, _counts = run.asked[what.id]
        batches = (each for each in asked.batches if each[2] == AcknowledgeType.ACCEPT)
        keys = {key for key in keys_of(asked.partition, batches) if key[1] >= asked.start_offset}
        run.accepted |= keys
        yield from _judge_both(run, keys)


def judge_letter(run: RunState, what: LetterAppended) -> Iterator[Finding]:
    """Judge a dead letter: it must not have been accepted."""
    run.letters.add((what.partition, what.offset))
    yield from _judge_both(run, {(what.partition, what.offset)})


def _judge_both(run: RunState, keys: set[RecordKey]) -> Iterator[Finding]:
    """Judge records that are in the topic, or were accepted: none must be both."""
    both = keys & run.letters & run.accepted
    for partition, offset in sorted(both)[:1] if run.buries else ():
        cause = run.failed.get((partition, offset), run.spoilt.get(partition, ""))
        yield run.found("DEAD_LETTERS_FAILED", offset, "accepted", "not accepted", cause=cause)


def judge_passed(run: RunState, what: LeaderAtRest) -> Iterator[Finding]:
    """Judge the records that a leader has passed and nobody accepted: they are dead letters."""
    if not run.buries:
        return
    missing = {(what.partition, offset) for offset in run.passed(what)}
    missing -= run.wanted | run.aborted | run.letters | run.given_up
    for key in sorted(missing)[:1]:
        texts = "not in the topic of dead letters", "in it"
        cause = run.begun_anew(key) or run.failed.get(key, "")
        yield run.found("DEAD_LETTERS_ARRIVE", key[1], *texts, cause=cause)
