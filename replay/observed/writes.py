"""What a write to the share coordinator must keep to: the records' states, and two numbers."""

from collections.abc import Iterable

from model.guards import Difference, Guard
from replay.observed.known import Known, Piece
from replay.observed.observation import Observation
from replay.observed.record import (
    ANYTHING,
    Configurations,
    Rules,
    may_be_complete,
    passed,
    written,
)
from replay.observed.verdict import DivergedError
from spec.record import UNDELIVERED


def check_write(known: Known, each: Observation, now: float) -> None:
    """Keep the configurations that explain a write. Raises DivergedError if there are none."""
    rules = known.rules(now)
    for first, last, state, count in each.ranges:
        changed = []
        for piece in known.pieces(first, last):
            after = _explained(known, piece, (state, count), rules, saved=each.status == 0)
            changed.append((piece[0], piece[1], after))
        known.records.put(changed)
    start = each.start_offset
    if start is None or start < 0 or each.status != 0:
        return
    known.lowest = start if known.lowest is None else min(known.lowest, start)
    if start > known.floor:
        _pass(known, start, rules)
    _check_count(known, each, start, rules)


def is_newer(read: Observation, write: Observation) -> bool:
    """Whether a leader of a later epoch than that of a write has read the state that it is of."""
    if read.leader_epoch is None or write.leader_epoch is None:
        return False
    same = (read.status, read.state_epoch) == (0, write.state_epoch)
    return same and read.leader_epoch > write.leader_epoch


def check_fenced(newer: Iterable[Observation], write: Observation, known: Known) -> None:
    """Refuse the answer to a write that came after a leader of a later epoch had read.

    Raises DivergedError. Of reads and writes at two coordinators the clocks may differ.
    """
    settings = known.given.settings
    for read in newer if write.status == 0 else ():
        apart = settings.slack_ms + (read.broker != write.broker) * settings.skew_ms
        if read.end + 1 + apart < write.earliest:
            first, last = write.ranges[0][:2] if write.ranges else (0, 0)
            epochs = f"leader epoch {read.leader_epoch} had read before"
            detail = f"a write of leader epoch {write.leader_epoch} is answered NONE; {epochs}"
            raise DivergedError(Difference.STATUS, first, last, detail)


def _explained(
    known: Known, piece: Piece, entry: tuple[int, int], rules: Rules, *, saved: bool
) -> Configurations:
    reached = known.reach(piece, rules)
    after = written(reached, *entry, saved=saved)
    if after:
        return after
    detail = f"{entry[0]} with delivery count {entry[1]} is written; possible: {_texts(reached)}"
    raise DivergedError(Difference.WRITTEN_STATE, piece[0], piece[1], detail)


def _texts(configurations: Configurations) -> str:
    texts = set()
    for each in configurations:
        record = each.record
        texts.add("anything" if record is None else f"{record.state.name}({record.delivery_count})")
    return ", ".join(sorted(texts))


def _pass(known: Known, start: int, rules: Rules) -> None:
    """Move the start offset: what it passes is finished, or no longer in the log.

    What is in the log was acquired before, unless it was before all that was ever in the window.
    """
    changed = []
    for piece in known.pieces(known.floor, start - 1):
        first, last = piece[:2]
        reached = known.reach(piece, rules)
        plain = None if _before_window(known, first) else known.given.log.plain_in(first, last)
        absent = plain is None or known.compacted
        deleted = known.may_be_deleted(first)
        after = passed(reached, deleted=deleted, compacted=known.compacted, absent=absent)
        if not after:
            never = all(each.record == UNDELIVERED for each in reached)
            rule = Guard.NO_RECORD_LOST if never else Guard.START_STOPS_AT_UNFINISHED
            detail = f"the start offset {start} is written; possible: {_texts(reached)}"
            raise DivergedError(rule, first, last, detail)
        changed.append((first, last, after))
    known.records.put(changed)
    known.floor = start


def _before_window(known: Known, first: int) -> bool:
    """Whether an offset is before everything that is known of the window."""
    return known.lowest is None or first < known.lowest


def _check_count(known: Known, each: Observation, start: int, rules: Rules) -> None:
    """Refuse a delivery complete count that is larger than the records that may be complete.

    Under read_committed what a fetch has read of aborted transactions is, and nobody acquires it.
    """
    count = each.complete_count
    unknown = known.records.value_at(2**62) == ANYTHING
    if count is None or count < 0 or unknown or known.compacted:
        return
    most = 0
    reached_by = max((request.ranges[-1][1] for request in known.under_way.acquiring()), default=-1)
    for piece in known.pieces(start, max(known.reached, reached_by)):
        first, last = piece[:2]
        reached = known.reach(piece, rules)
        if any(
            may_be_complete(configuration)
            or configuration.record is None
            or not configuration.record.delivery_count
            for configuration in reached
        ):
            most += last - first + 1
        else:
            parts = known.undone.pieces(first, last)
            most += sum(high - low + 1 for low, high, undone in parts if undone)
    behind = max(start, known.reached + 1, reached_by + 1)
    if count > most + known.given.log.may_be_aborted(behind):
        detail = f"{count} is written; at most {most} deliveries can be complete"
        raise DivergedError(Difference.WRITTEN_DELIVERY_COMPLETE_COUNT, start, start, detail)
