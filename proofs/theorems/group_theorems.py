"""A share group at one share-partition, whatever its epochs, crashed between any two effects.

An operation does to each share-partition what it does to it alone, but for where one first starts.
"""

import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import attrs
from immutables import Map

from model.share_messages import TopicPartition
from proofs.theorems.controls import called_with, returns
from proofs.theorems.situation import flag, number
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Property, Theorem, about, laws
from spec import group_lifecycle
from spec.coordinator import Durable
from spec.group_lifecycle import Plan, carry_out
from spec.logic import Term, negate
from spec.share_group import (
    BeginDeleting,
    BeginInitializing,
    Coordinators,
    PartitionMetadata,
    ShareGroup,
    WriteGroup,
    group_of,
)
from spec.share_group_invariants import GROUP_INVARIANTS

TOPIC, MEMBER = "t", "m"
ASSIGNED = TopicPartition(TOPIC, 0)
_STAGES = (1, 2, 3)
RUNS, LENGTH = 30, 12


@attrs.frozen
class OneAssigned:
    """A share-partition of a group, the stage at which it is, and its durable state.

    ``stage``: 0 none, 1 initializing, 2 initialized, 3 deleting. ``group``: there is the group;
    ``exists``: the topic; ``subscribed``: a member has the topic. ``known``: a share coordinator
    has the state, initialized at ``start`` in ``state_epoch``. ``target`` is the start offset that
    an administrator sets.
    """

    group: Term = flag()
    epoch: Term = number()
    subscribed: Term = flag()
    exists: Term = flag()
    stage: Term = number()
    known: Term = flag()
    start: Term = number(-1)
    state_epoch: Term = number()
    target: Term = number()

    @classmethod
    def reached(cls, coordinators: Coordinators) -> "Iterator[OneAssigned]":
        """Yield the share-partition in a group that a run reached."""
        group = group_of(coordinators)
        state = coordinators.states.get(ASSIGNED)
        yield cls(
            coordinators.group is not None,
            group.epoch,
            bool(group.subscriptions),
            TOPIC in coordinators.topics,
            next(
                (
                    stage
                    for stage, partitions in enumerate(_stages(group), 1)
                    if ASSIGNED in partitions
                ),
                0,
            ),
            state is not None,
            *((0, 0) if state is None else (state.start_offset, state.state_epoch)),
            target=5,
        )

    @staticmethod
    @lru_cache(maxsize=1)
    def states() -> tuple[tuple[int, Coordinators], ...]:
        """Return what runs leave durable, each with the number of operations to it."""
        chance = random.Random(0)  # noqa: S311 - the same runs each time; nothing secret
        return tuple(pair for _ in range(RUNS) for pair in enumerate(_run(chance)))


def _run(chance: random.Random) -> Iterator[Coordinators]:
    coordinators = Coordinators(Map({TOPIC: 1}))
    yield coordinators
    for _ in range(LENGTH):
        if chance.random() < 0.1:  # noqa: PLR2004 - seldom
            coordinators = attrs.evolve(
                coordinators, topics=Map() if coordinators.topics else Map({TOPIC: 1})
            )
        effects = chance.choice(list(_PLANS.values()))(coordinators, 5).effects
        coordinators = carry_out(coordinators, effects[: chance.randint(0, 2 * len(effects))])
        yield coordinators


Planned = Callable[[Coordinators, Term], Plan]


def _altered(coordinators: Coordinators, target: Term) -> Plan:
    """Return the plan to set the start offset, which is a whole number from 0, or a term for it."""
    with patch.object(group_lifecycle, "whole", lambda _name, _value, _low: None):
        return group_lifecycle.alter_offsets(coordinators, {ASSIGNED: target})


_PLANS: dict[str, Planned] = {
    "subscribe": lambda c, _to: group_lifecycle.subscribe(c, MEMBER, frozenset({TOPIC})),
    "leave": lambda c, _to: group_lifecycle.leave(c, MEMBER),
    "reconcile": lambda c, _to: group_lifecycle.reconcile(c),
    "change racks": lambda c, _to: group_lifecycle.change_racks(c),
    "alter offsets": _altered,
    "delete offsets": lambda c, _to: group_lifecycle.delete_offsets(c, (TOPIC,)),
    "delete group": lambda c, _to: group_lifecycle.delete_group(c),
}


def _coordinators(s: OneAssigned) -> Coordinators:
    states: Map[TopicPartition, Durable] = Map()
    if s.known:
        durable = Durable(s.start, state_epoch=s.state_epoch)
        states = Map({ASSIGNED: durable})
    topics = Map({TOPIC: 1}) if s.exists else Map()
    return Coordinators(topics, _group(s) if s.group else None, states)


def _stages(group: ShareGroup) -> tuple[frozenset[TopicPartition], ...]:
    metadata = group.metadata
    return metadata.initializing, metadata.initialized, metadata.deleting


def _group(s: OneAssigned) -> ShareGroup:
    stage = next((stage for stage in _STAGES if s.stage == stage), 0)
    partitions = (frozenset({ASSIGNED}) if stage == listed else frozenset() for listed in _STAGES)
    metadata = PartitionMetadata(*partitions)
    members = Map({MEMBER: frozenset({TOPIC})}) if s.subscribed else Map()
    return ShareGroup(s.epoch, members, metadata)


def _holds(coordinators: Coordinators) -> Term:
    return conjunction(*(invariant.holds(coordinators) for invariant in GROUP_INVARIANTS))


def _is_sound(s: OneAssigned) -> Term:
    """Whether every invariant holds; without a group there is nothing of it."""
    nothing = conjunction(negate(s.subscribed | s.known), s.stage == 0)
    if not conjunction(s.stage <= len(_STAGES), s.group | nothing):
        return False
    return _holds(_coordinators(s))


def _crashes(coordinators: Coordinators, plan: Plan) -> Iterator[Coordinators]:
    """Yield what is durable after each number of effects: wherever the coordinator crashes."""
    yield coordinators
    for effect in plan.effects:
        coordinators = carry_out(coordinators, (effect,))
        yield coordinators


def _does_something(s: OneAssigned, planned: Planned) -> Term:
    if not _is_sound(s):
        return False
    return bool(planned(_coordinators(s), s.target).effects)


def _is_sound_wherever(s: OneAssigned, planned: Planned) -> Term:
    coordinators = _coordinators(s)
    return conjunction(
        *(_holds(state) for state in _crashes(coordinators, planned(coordinators, s.target)))
    )


def _epochs_rise(s: OneAssigned, planned: Planned) -> Term:
    """Whether the group epoch never goes back, and a state epoch only up to that of the group."""
    coordinators = _coordinators(s)
    rise = True
    for after in _crashes(coordinators, planned(coordinators, s.target)):
        if after.group is None:
            continue
        rise = conjunction(rise, implies(s.group, after.group.epoch >= s.epoch))
        if ASSIGNED in after.states:
            kept = implies(s.known, after.states[ASSIGNED].state_epoch >= s.state_epoch)
            rise = conjunction(rise, kept, after.states[ASSIGNED].state_epoch <= after.group.epoch)
    return rise


def _ends_the_same(s: OneAssigned, planned: Planned) -> Term:
    """Whether the operation, done again after a crash, leaves what it leaves without one."""
    coordinators = _coordinators(s)
    plan = planned(coordinators, s.target)
    end = carry_out(coordinators, plan.effects)
    same = True
    for crashed in _crashes(coordinators, plan):
        again = carry_out(crashed, planned(crashed, s.target).effects)
        same = conjunction(same, _is_settled_as(again, end))
    return same


def _is_settled_as(coordinators: Coordinators, other: Coordinators) -> Term:
    """Whether both have the same stages, members and start offsets; epochs may be higher."""
    same = (coordinators.group is None) == (other.group is None)
    first, second = group_of(coordinators), group_of(other)
    same = same and first.metadata == second.metadata
    if not same or first.subscriptions != second.subscriptions:
        return False
    if set(coordinators.states) != set(other.states):
        return False
    pairs = ((coordinators.states[key], other.states[key]) for key in coordinators.states)
    return conjunction(*(a.start_offset == b.start_offset for a, b in pairs))


def _may_be_altered(s: OneAssigned) -> Term:
    return conjunction(_is_sound(s), s.group, negate(s.subscribed), s.exists)


def _fences(s: OneAssigned) -> Term:
    """Whether the altered state has the start offset, and an epoch above all there were."""
    coordinators = _coordinators(s)
    after = carry_out(coordinators, _altered(coordinators, s.target).effects)
    state = after.states[ASSIGNED]
    return conjunction(
        state.start_offset == s.target,
        state.state_epoch == group_of(after).epoch,
        state.state_epoch > s.epoch,
        implies(s.known, state.state_epoch > s.state_epoch),
        ASSIGNED in group_of(after).metadata.initialized,
    )


_law = laws("KIP-932, Group coordinator")


SOUND = _law(
    "a_crash_leaves_the_group_sound",
    "Wherever a coordinator crashes, a share-partition is at one stage, with the state it needs.",
    48,
)
RETRIED = _law(
    "a_crash_and_a_retry_end_the_same",
    "Done again after a crash anywhere, an operation of a group leaves what it leaves without one.",
    36,
)
RISING = _law(
    "epochs_of_a_group_never_go_back",
    "Group epoch and state epoch never go back, and no state epoch is ahead of the group's.",
    49,
)
FENCING = _law(
    "an_altered_start_offset_has_an_epoch_of_its_own",
    "An altered start offset has a state epoch of its own, above every one before.",
    49,
)


def _without(kind: type) -> Callable[[Any], Any]:
    return returns(lambda effects: tuple(e for e in effects if not isinstance(e, kind)))


def _with_epoch_0(coordinators: Coordinators, effect: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any effect
    return coordinators, attrs.evolve(effect, epoch=0) if isinstance(effect, WriteGroup) else effect


def _without_begun(coordinators: Coordinators, starts: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as the rule
    begun = group_of(coordinators).metadata.initializing
    return coordinators, {key: start for key, start in starts.items() if key not in begun}


AT_ONCE = Control(
    "state is initialized before that is recorded",
    "spec.group_lifecycle:_initialized",
    _without(BeginInitializing),
)
UNANNOUNCED = Control(
    "state is deleted before that is recorded",
    "spec.group_lifecycle:_deleted",
    _without(BeginDeleting),
)
BEGINS_AT_0 = Control(
    "the group epoch is written as 0", "spec.share_group:perform", called_with(_with_epoch_0)
)
LEFT_BEGUN = Control(
    "what was begun before is not initialized again",
    "spec.group_lifecycle:_initialized",
    called_with(_without_begun),
)
UNLISTED = Control(
    "what is being deleted is not listed",
    "spec.share_group:listed",
    called_with(lambda metadata, *topics: (attrs.evolve(metadata, deleting=frozenset()), *topics)),
)
SAME_EPOCH = Control(
    "altering does not raise the group epoch",
    "spec.group_lifecycle:_bumped",
    lambda rule: (
        lambda coordinators: attrs.evolve(rule(coordinators), epoch=group_of(coordinators).epoch)
    ),
)
_CLAIMS: tuple[tuple[Property, Callable[..., Term], dict[str, Control]], ...] = (
    (
        SOUND,
        _is_sound_wherever,
        {
            "subscribe": AT_ONCE,
            "leave": BEGINS_AT_0,
            "reconcile": AT_ONCE,
            "alter offsets": AT_ONCE,
            "delete offsets": UNANNOUNCED,
            "delete group": UNANNOUNCED,
        },
    ),
    (
        RETRIED,
        _ends_the_same,
        {
            "subscribe": LEFT_BEGUN,
            "reconcile": LEFT_BEGUN,
            "alter offsets": LEFT_BEGUN,
            "delete offsets": UNLISTED,
            "delete group": UNLISTED,
        },
    ),
    (
        RISING,
        _epochs_rise,
        dict.fromkeys(
            ("subscribe", "leave", "reconcile", "change racks", "alter offsets"), BEGINS_AT_0
        ),
    ),
)

GROUP_THEOREMS = (
    *(
        Theorem(
            stated,
            name,
            OneAssigned,
            about(_does_something, _PLANS[name]),
            about(claim, _PLANS[name]),
            control,
        )
        for stated, claim, controls in _CLAIMS
        for name, control in controls.items()
    ),
    Theorem(FENCING, "alter offsets", OneAssigned, _may_be_altered, _fences, SAME_EPOCH),
)
