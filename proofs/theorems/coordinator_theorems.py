"""Theorems about the share coordinator's records and epochs (KIP-932, share-group state)."""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from model.errors import ErrorCode
from model.outcome import Write
from model.profile import KAFKA_4_4, KIP, Profile
from model.state_topic import ShareUpdate
from proofs.theorems.controls import becomes, called_with, returns
from proofs.theorems.durable_situation import (
    TwoWrites,
    agree,
    are_writes,
    durable_of,
    first_write,
    law,
)
from proofs.theorems.situation import number
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Theorem, about
from spec import coordinator
from spec.coordinator import Durable
from spec.logic import Term
from spec.partition import SharePartition


@attrs.frozen
class Epochs:
    """What is durable in some epochs, a newer leader or state epoch, and an older one."""

    leader: Term = number()
    state: Term = number()
    snapshot: Term = number()
    newer: Term = number()
    older: Term = number()
    other: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[Epochs]":
        """Yield the epochs of a durable state that a run reached, and those around them."""
        durable = state.durable
        leader, epoch = durable.leader_epoch, durable.state_epoch
        snapshot = durable.snapshot_epoch + 1
        yield cls(leader + 1, epoch, snapshot, leader + 2, leader, epoch)
        yield cls(leader, epoch, snapshot, epoch + 1, epoch, leader)
        yield cls(leader, epoch, snapshot, epoch + 1, snapshot - 1, leader)


def _without_start(s: TwoWrites) -> Write:
    return attrs.evolve(first_write(s), start_offset=-1)


WRITES: tuple[tuple[str, Profile, Callable[[TwoWrites], Write]], ...] = (
    ("write", KIP, first_write),
    ("write without start (kip)", KIP, _without_start),
    ("write without start (kafka_4_4)", KAFKA_4_4, _without_start),
)


def _logged(s: TwoWrites, write: Write, profile: Profile) -> tuple[Durable, Durable, ShareUpdate]:
    """Return the durable state before a write and after it, and the update that is appended."""
    before = durable_of(s)
    after = coordinator.merge(before, write, profile)
    update, _held = coordinator.update_record(before, after, write.state_batches)
    return before, after, update


def _replays(s: TwoWrites, profile: Profile, form: Callable[[TwoWrites], Write]) -> Term:
    before, after, update = _logged(s, form(s), profile)
    return agree(s, coordinator.replay_record(before, update, profile), after)


def _lowers_nothing(s: TwoWrites, profile: Profile, form: Callable[[TwoWrites], Write]) -> Term:
    before, _after, update = _logged(s, form(s), profile)
    same = update.start_offset == before.start_offset
    return conjunction(
        update.start_offset >= before.start_offset,
        implies(same, update.delivery_complete_count >= before.delivery_complete_count),
        update.snapshot_epoch == before.snapshot_epoch,
    )


FORGETS_BATCHES = Control(
    "update_record forgets the batches",
    "spec.coordinator:update_record",
    called_with(lambda before, after, _batches: (before, after, ())),
)
SAYS_ZERO = Control(
    "update_record says that the start offset is 0",
    "spec.coordinator:update_record",
    called_with(
        lambda before, after, batches: (before, attrs.evolve(after, start_offset=0), batches)
    ),
)


def _record_theorems() -> Iterator[Theorem]:
    replays = law(
        "update_replays_to_its_write",
        "Replaying the update that a write appends gives what the write left.",
        26,
    )
    lowers_nothing = law(
        "no_update_lowers",
        "An update lowers neither the start offset nor, where that stays, the count.",
        26,
        28,
    )
    for name, *of in WRITES:
        yield Theorem(replays, name, TwoWrites, are_writes, about(_replays, *of), FORGETS_BATCHES)
        yield Theorem(
            lowers_nothing, name, TwoWrites, are_writes, about(_lowers_nothing, *of), SAYS_ZERO
        )


def _durable(s: Epochs) -> Durable:
    return Durable(
        0, 0, state_epoch=s.state, leader_epoch=s.leader, snapshot_epoch=s.snapshot, updates=1
    )


def _is_fenced(durable: Durable, epochs: tuple[Term, Term], code: ErrorCode) -> bool:
    status, after = coordinator.write(durable, Write(0, 5, 5), epochs, KIP)
    return status is code and after is durable


def _read_fences(s: Epochs) -> Term:
    _, durable = coordinator.read(_durable(s), s.newer)
    return _is_fenced(durable, (s.older, s.other), ErrorCode.FENCED_LEADER_EPOCH)


def _initialize_fences(s: Epochs) -> Term:
    _, durable = coordinator.initialize(_durable(s), 0, s.newer)
    return _is_fenced(durable, (s.other, s.older), ErrorCode.FENCED_STATE_EPOCH)


def _stays_fenced(s: Epochs) -> Term:
    _, durable = coordinator.initialize(_durable(s), 0, s.newer)
    status, after = coordinator.read(durable, s.older)
    return conjunction(
        _is_fenced(durable, (s.older, s.other), ErrorCode.FENCED_LEADER_EPOCH),
        status is ErrorCode.FENCED_LEADER_EPOCH and after is durable,
    )


def _is_passed_over(s: Epochs) -> Term:
    durable = _durable(s)
    late, _ = coordinator.update_record(
        attrs.evolve(durable, snapshot_epoch=s.older), attrs.evolve(durable, start_offset=9), ()
    )
    return coordinator.replay_record(durable, late, KIP) is durable


def _next_snapshot(s: Epochs) -> Term:
    durable = _durable(s)
    snapshot, after = coordinator.snapshot_record(durable, durable)
    _, altered = coordinator.initialize(durable, 0, s.newer)
    return conjunction(
        snapshot.snapshot_epoch == s.snapshot + 1,
        after.snapshot_epoch == s.snapshot + 1,
        altered.snapshot_epoch == s.snapshot + 1,
        after.updates == 0 and altered.updates == 0,
    )


_epochless = returns(
    lambda answer: (answer[0], attrs.evolve(answer[1], leader_epoch=0, state_epoch=0))
)


def _same_snapshot(rule: Any) -> Any:  # noqa: ANN401 - any rule
    def wrong(before: Durable, after: Durable) -> Any:  # noqa: ANN401 - as the rule
        snapshot, after = rule(before, after)
        return attrs.evolve(snapshot, snapshot_epoch=before.snapshot_epoch), after

    return wrong


_EPOCH_THEOREMS = (
    Theorem(
        law(
            "read_fences_leaders_before",
            "Once a leader has read the state, leaders before it write nothing.",
            30,
        ),
        "read",
        Epochs,
        lambda s: conjunction(s.leader <= s.newer, s.older < s.newer),
        _read_fences,
        Control("read keeps no epoch", "spec.coordinator:read", _epochless),
    ),
    Theorem(
        law(
            "initialize_fences_state_epochs_before",
            "Once the start offset was altered, leaders of before write nothing.",
            30,
        ),
        "initialize",
        Epochs,
        lambda s: conjunction(s.state < s.newer, s.older < s.newer, s.leader <= s.other),
        _initialize_fences,
        Control("initialize keeps no epoch", "spec.coordinator:initialize", _epochless),
    ),
    Theorem(
        law(
            "initialize_keeps_leaders_fenced",
            "A leader that is fenced stays fenced when the start offset is altered.",
            30,
        ),
        "initialize",
        Epochs,
        lambda s: conjunction(s.state <= s.newer, s.older < s.leader),
        _stays_fenced,
        Control("initialize forgets the leader epoch", "spec.coordinator:initialize", _epochless),
    ),
    Theorem(
        law(
            "update_of_an_earlier_snapshot_is_passed_over",
            "An update of before the latest snapshot changes nothing.",
            26,
        ),
        "update",
        Epochs,
        lambda s: s.older < s.snapshot,
        _is_passed_over,
        Control(
            "replay_record merges every update",
            "spec.coordinator:replay_record",
            becomes(coordinator.merge),
        ),
    ),
    Theorem(
        law(
            "snapshot_epochs_step_by_one",
            "Each snapshot has the next snapshot epoch, and the updates count from there.",
            26,
        ),
        "snapshot, initialize",
        Epochs,
        lambda s: s.state <= s.newer,
        _next_snapshot,
        Control(
            "snapshot_record keeps the snapshot epoch",
            "spec.coordinator:snapshot_record",
            _same_snapshot,
        ),
    ),
)

COORDINATOR_THEOREMS = (*_record_theorems(), *_EPOCH_THEOREMS)
