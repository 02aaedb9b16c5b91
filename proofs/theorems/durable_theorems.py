"""Theorems about the durable state and its merge (KIP-932, KIP-1226)."""

from collections.abc import Iterator
from typing import Any

import attrs

from model.errors import ErrorCode
from model.outcome import Write
from model.profile import KAFKA_4_4, KIP, Profile
from model.ranges import StateBatch
from proofs.theorems.controls import becomes, called_with, off_by_one, returns
from proofs.theorems.durable_situation import (
    TwoWrites,
    agree,
    are_writes,
    durable_of,
    first_write,
    is_same,
    law,
    merged,
    second_write,
)
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Theorem, about
from spec import coordinator
from spec import record as rules
from spec.logic import Term

JOIN = law(
    "merge_of_two_states_is_a_join",
    "Merging states of one record is idempotent, commutative and associative, and loses neither.",
    27,
)


def _first(s: TwoWrites) -> tuple[Term, Term]:
    return s.state, s.count


def _second(s: TwoWrites) -> tuple[Term, Term]:
    return s.one_state, s.one_count


def _third(s: TwoWrites) -> tuple[Term, Term]:
    return s.two_state, s.two_count


def _join(entry: tuple[Term, Term], other: tuple[Term, Term]) -> tuple[Term, Term]:
    return rules.durable_maximum(*entry, *other)


def _at_least(entry: tuple[Term, Term], other: tuple[Term, Term]) -> Term:
    return (entry[1] > other[1]) | ((entry[1] == other[1]) & (entry[0] >= other[0]))


def _sluggish(*arguments: Term) -> tuple[Term, Term]:
    state, count, other_state, other_count = arguments
    if other_count > count + 1:
        return other_state, other_count
    return state, count


FIRST_WINS = Control(
    "durable_maximum takes the first of the two",
    "spec.record:durable_maximum",
    becomes(lambda state, count, _state, _count: (state, count)),
)
COUNTS_ON = Control(
    "durable_maximum adds one delivery",
    "spec.record:durable_maximum",
    returns(lambda entry: (entry[0], entry[1] + 1)),
)
SLUGGISH = Control(
    "durable_maximum heeds the other only if it is two deliveries ahead",
    "spec.record:durable_maximum",
    becomes(_sluggish),
)
_JOIN_THEOREMS = (
    *(
        Theorem(JOIN, name, TwoWrites, are_writes, claim, control)
        for name, claim, control in (
            ("idempotent", lambda s: is_same(_join(_first(s), _first(s)), _first(s)), COUNTS_ON),
            (
                "commutative",
                lambda s: is_same(_join(_first(s), _second(s)), _join(_second(s), _first(s))),
                FIRST_WINS,
            ),
            (
                "associative",
                lambda s: is_same(
                    _join(_join(_first(s), _second(s)), _third(s)),
                    _join(_first(s), _join(_second(s), _third(s))),
                ),
                SLUGGISH,
            ),
            (
                "upper bound",
                lambda s: _at_least(_join(_first(s), _second(s)), _second(s)),
                FIRST_WINS,
            ),
        )
    ),
)


LAST_WINS = Control(
    "merge_start takes what the last write says",
    "spec.coordinator:merge_start",
    becomes(lambda _current, given, _profile: given),
)
LAST_ENTRY_WINS = Control(
    "durable_maximum takes what the last write says",
    "spec.record:durable_maximum",
    becomes(lambda state, count, _state, _count: (state, count)),
)


def _name_it(s: TwoWrites) -> Term:
    """Whether each write names the one offset alone: a batch is its parts, as is proved apart."""
    return conjunction(_are_single(s), s.one_first == s.offset, s.two_first == s.offset)


def _one_names_it(s: TwoWrites) -> Term:
    return conjunction(_are_single(s), s.one_first == s.offset, s.two_first > s.offset)


def _none_names_it(s: TwoWrites) -> Term:
    return conjunction(_are_single(s), s.one_first > s.offset, s.two_first > s.offset)


def _are_single(s: TwoWrites) -> Term:
    return conjunction(are_writes(s), s.one_first == s.one_last, s.two_first == s.two_last)


def _in_order(s: TwoWrites) -> Term:
    """Whether the second write is the later one of a publisher that only goes on."""
    return conjunction(
        _name_it(s),
        s.two_start <= s.offset,
        s.start <= s.one_start,
        s.one_start <= s.two_start,
        implies(s.start == s.one_start, s.complete <= s.one_complete),
        implies(s.one_start == s.two_start, s.one_complete <= s.two_complete),
        _at_least(_second(s), _first(s)),
        _at_least(_third(s), _second(s)),
    )


def _newest_wins(s: TwoWrites) -> Term:
    first, second = first_write(s), second_write(s)
    newest = merged(durable_of(s), first, second)
    entry = newest.entries[s.offset]
    return conjunction(
        newest.start_offset == s.two_start,
        newest.delivery_complete_count == s.two_complete,
        is_same(entry, _third(s)),
        agree(s, newest, merged(durable_of(s), second, first)),
        agree(s, newest, merged(durable_of(s), first, second, first, second)),
    )


def _split(s: TwoWrites) -> Term:
    lower = StateBatch(s.one_first, s.between, s.one_state, s.one_count)
    upper = StateBatch(s.between + 1, s.one_last, s.one_state, s.one_count)
    whole = first_write(s)
    halves = attrs.evolve(whole, state_batches=(lower, upper))
    return agree(s, merged(durable_of(s), whole), merged(durable_of(s), halves))


def _start_grows(s: TwoWrites) -> Term:
    after = merged(durable_of(s), first_write(s))
    grown = after.start_offset > s.start
    same = after.start_offset == s.start
    larger = conjunction(
        after.start_offset >= s.one_start, after.delivery_complete_count >= s.complete
    )
    return conjunction(grown | same, implies(same, larger))


def _is_clipped(s: TwoWrites) -> Term:
    after = merged(durable_of(s), first_write(s))
    return s.offset not in after.entries if s.offset < after.start_offset else True


def _keeps_start(s: TwoWrites, profile: Profile) -> Term:
    write = attrs.evolve(first_write(s), start_offset=-1)
    after = merged(durable_of(s), write, profile=profile)
    count = after.delivery_complete_count
    kept = profile.defect_start_offset_kept_loses_count
    expected = s.complete if kept else max(s.complete, s.one_complete)
    return conjunction(after.start_offset == s.start, count == expected)


def _forgets_the_count(s: TwoWrites) -> Term:
    """Whether a write that keeps the start offset and knows no count leaves none."""
    without = attrs.evolve(first_write(s), delivery_complete_count=-1)
    after = merged(durable_of(s), without)
    return implies(s.one_start == s.start, after.delivery_complete_count == -1)


_MERGE_THEOREMS = (
    *(
        Theorem(
            law("writes_commute", "Two writes have the same effect in either order.", 27, 28),
            name,
            TwoWrites,
            hypothesis,
            lambda s: agree(
                s,
                merged(durable_of(s), first_write(s), second_write(s)),
                merged(durable_of(s), second_write(s), first_write(s)),
            ),
            LAST_WINS,
        )
        for name, hypothesis in (
            ("two writes of a record", _name_it),
            ("two writes, one of a record", _one_names_it),
            ("two writes of other records", _none_names_it),
        )
    ),
    Theorem(
        law("write_again_changes_nothing", "A write that is repeated has no further effect.", 27),
        "write",
        TwoWrites,
        _name_it,
        lambda s: agree(
            s,
            merged(durable_of(s), first_write(s)),
            merged(durable_of(s), first_write(s), first_write(s)),
        ),
        Control(
            "merge_start adds the counts",
            "spec.coordinator:merge_start",
            becomes(lambda current, given, _p: (given[0], current[1] + given[1])),
        ),
    ),
    Theorem(
        law(
            "start_and_count_merge_lexicographically",
            "The durable start offset never decreases, nor does the count while that stays.",
            6,
            28,
        ),
        "write",
        TwoWrites,
        are_writes,
        _start_grows,
        LAST_WINS,
    ),
    Theorem(
        law(
            "write_without_count_leaves_none",
            "A write without a count leaves none that passes for known at its start offset.",
            28,
        ),
        "write",
        TwoWrites,
        are_writes,
        _forgets_the_count,
        Control(
            "merge_start takes the larger count",
            "spec.coordinator:merge_start",
            becomes(lambda current, given, _profile: max(current, given)),
        ),
    ),
    *(
        Theorem(
            law(
                "write_without_start_keeps_it",
                "A write whose start offset is -1 keeps the durable one.",
                28,
            ),
            f"write ({profile.name})",
            TwoWrites,
            are_writes,
            about(_keeps_start, profile),
            LAST_WINS,
        )
        for profile in (KIP, KAFKA_4_4)
    ),
    Theorem(
        law(
            "nothing_durable_lies_below_the_start",
            "Of what is below the durable start offset nothing is kept.",
            28,
        ),
        "write",
        TwoWrites,
        are_writes,
        _is_clipped,
        Control(
            "_below forgets to drop what was known",
            "spec.coordinator:_below",
            becomes(lambda _durable, _start: []),
        ),
    ),
    Theorem(
        law(
            "newest_write_wins",
            "If a publisher's writes only go on, retries and reordering change nothing.",
            29,
        ),
        "write",
        TwoWrites,
        _in_order,
        _newest_wins,
        LAST_ENTRY_WINS,
    ),
    Theorem(
        law("batches_equal_their_offsets", "Writing a batch is writing its parts.", 32),
        "write",
        TwoWrites,
        lambda s: conjunction(are_writes(s), s.one_first <= s.between, s.between < s.one_last),
        _split,
        Control(
            "merge loses the last offset of a batch",
            "spec.coordinator:merge",
            called_with(lambda durable, write, profile: (durable, _shortened(write), profile)),
        ),
    ),
)


def _shortened(write: Write) -> Write:
    wide = (batch for batch in write.state_batches if batch.first < batch.last)
    batches = tuple(attrs.evolve(batch, last=batch.last - 1) for batch in wide)
    return attrs.evolve(write, state_batches=batches)


def _is_fenced(s: TwoWrites, step: str) -> Term:
    durable = attrs.evolve(durable_of(s), leader_epoch=s.leader_epoch, state_epoch=s.state_epoch)
    writer = s.writer_leader_epoch, s.writer_state_epoch
    if step == "write":
        status, after = coordinator.write(durable, first_write(s), writer, KIP)
    elif step == "read":
        status, after = coordinator.read(durable, s.writer_leader_epoch)
    else:
        status, after = coordinator.initialize(durable, s.one_start, s.writer_state_epoch)
    return after is durable and status is not ErrorCode.NONE


def _is_older(s: TwoWrites, step: str) -> Term:
    old_leader = s.writer_leader_epoch < s.leader_epoch
    old_state = s.writer_state_epoch < s.state_epoch
    match step:
        case "write":
            older = old_leader | (s.writer_state_epoch != s.state_epoch)
        case "read":
            older = old_leader
        case _:
            older = old_state
    return conjunction(are_writes(s), older)


def _with_newer_epoch(durable: Any, write: Any, epochs: Any, profile: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as the rule
    return durable, write, (epochs[0], max(epochs[1], durable.state_epoch)), profile


def _fencing_theorems() -> Iterator[Theorem]:
    wrong: dict[str, Any] = {
        "write": called_with(_with_newer_epoch),
        "read": off_by_one(1),
        "initialize": off_by_one(2),
    }
    for step, change in wrong.items():
        yield Theorem(
            law(
                "older_epochs_change_nothing",
                "What comes from an older epoch changes nothing durable, nor a write from a newer "
                "state epoch.",
                30,
            ),
            step,
            TwoWrites,
            about(_is_older, step),
            about(_is_fenced, step),
            Control(f"{step} lets an older epoch pass", f"spec.coordinator:{step}", change),
        )


DURABLE_THEOREMS = (*_JOIN_THEOREMS, *_MERGE_THEOREMS, *_fencing_theorems())
