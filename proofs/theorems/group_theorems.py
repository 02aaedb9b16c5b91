"""A share group at one share-partition, whatever its epochs, crashed between any two effects.

An operation does to each share-partition what it does to it alone, but for where one first starts.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import attrs
from immutables import Map

from judge.share_group_invariants import GROUP_INVARIANTS
from model.errors import ErrorCode
from model.share_messages import TopicPartition
from proofs.theorems.attempts import standing_in
from proofs.theorems.controls import called_with, returns, sets, wrong
from proofs.theorems.reachable import runs_of
from proofs.theorems.situation import any_like, flag, number
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Subject
from spec import group_lifecycle, share_group
from spec.coordinator import Durable
from spec.group_lifecycle import UNINITIALIZED, GroupPlan, carry_out
from spec.logic import Term, negate
from spec.share_group import (
    CallInitialize,
    Coordinators,
    PartitionMetadata,
    ShareGroup,
    WriteGroup,
    WriteMetadata,
    group_of,
)

TOPIC, MEMBER = "t", "m"
ASSIGNED = TopicPartition(TOPIC, 0)
_STAGES = (1, 2, 3)
INITIALIZED_STAGE = 2


@attrs.frozen
class OneAssigned:
    """A share-partition of a group, the stage at which it is, and its durable state.

    ``stage``: 0 none, 1 initializing, 2 initialized, 3 deleting. ``group``: there is the group;
    ``exists``: the topic; ``subscribed``: a member has the topic. ``known``: a share coordinator
    has the ``durable`` state. ``target`` is the start offset that an administrator sets.
    """

    group: Term = flag()
    epoch: Term = number()
    subscribed: Term = flag()
    exists: Term = flag()
    stage: Term = number()
    known: Term = flag()
    durable: Durable = any_like(Durable())
    target: Term = number()

    @classmethod
    def reached(cls, coordinators: Coordinators) -> "Iterator[OneAssigned]":
        """Yield the share-partition in a group that a run reached."""
        group = group_of(coordinators)
        state = coordinators.states.get(ASSIGNED)
        listed = (stage for stage, at in enumerate(_stages(group), 1) if ASSIGNED in at)
        yield cls(
            coordinators.group is not None,
            group.epoch,
            bool(group.subscriptions),
            TOPIC in coordinators.topics,
            next(listed, 0),
            state is not None,
            state or Durable(0),
            target=5,
        )

    states = staticmethod(lru_cache(lambda: runs_of(_run, 30)))


def _run(chance: random.Random) -> Iterator[Coordinators]:
    coordinators = Coordinators(Map({TOPIC: 1}))
    yield coordinators
    for _ in range(12):
        if chance.random() < 0.1:  # noqa: PLR2004 - seldom
            coordinators = attrs.evolve(
                coordinators, topics=Map() if coordinators.topics else Map({TOPIC: 1})
            )
        effects = chance.choice(list(_PLANS.values()))(coordinators, 5).effects
        coordinators = carry_out(coordinators, effects[: chance.randint(0, 2 * len(effects))])
        yield coordinators


Planned = Callable[[Coordinators, Term], GroupPlan]


def _altered(coordinators: Coordinators, target: Term) -> GroupPlan:
    """Return the plan to set the start offset, which is a whole number from 0, or a term for it."""
    with standing_in(group_lifecycle, whole=lambda _name, _value, _low: None):
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
    states = Map({ASSIGNED: s.durable}) if s.known else Map[TopicPartition, Durable]()
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


def _crashes(coordinators: Coordinators, plan: GroupPlan) -> Iterator[Coordinators]:
    """Yield what is durable after each number of effects: wherever the coordinator crashes."""
    yield coordinators
    for effect in plan.effects:
        coordinators = carry_out(coordinators, (effect,))
        yield coordinators


def _does_something(s: OneAssigned, planned: Planned) -> Term:
    return bool(planned(_coordinators(s), s.target).effects)


def _with_epoch_0(coordinators: Coordinators, effect: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any effect
    return coordinators, attrs.evolve(effect, epoch=0) if isinstance(effect, WriteGroup) else effect


def _without_begun(coordinators: Coordinators, starts: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as the rule
    begun = group_of(coordinators).metadata.initializing
    return coordinators, {key: start for key, start in starts.items() if key not in begun}


def _with_the_epoch_before(rule: Any) -> Any:  # noqa: ANN401 - any rule
    return lambda before: attrs.evolve(rule(before), epoch=group_of(before).epoch)


def _without_deleting(metadata: PartitionMetadata, *topics: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as the rule
    return attrs.evolve(metadata, deleting=frozenset()), *topics


INITIALIZED, DELETED = "spec.group_lifecycle:_initialized", "spec.group_lifecycle:_deleted"
_BEGUN = "is not recorded before it begins", returns(lambda effects: effects[1:])
AT_ONCE, UNANNOUNCED = wrong(INITIALIZED, *_BEGUN), wrong(DELETED, *_BEGUN)
BEGINS_AT_0 = wrong("spec.share_group:perform", "writes epoch 0", called_with(_with_epoch_0))
LEFT_BEGUN = wrong(INITIALIZED, "passes over what was begun", called_with(_without_begun))
UNLISTED = wrong("spec.share_group:listed", "omits deletions", called_with(_without_deleting))
SAME_EPOCH = wrong("spec.group_lifecycle:_bumped", "keeps the epoch", _with_the_epoch_before)
FORGOTTEN = wrong(
    "spec.share_group:perform",
    "knows no state",
    called_with(lambda coordinators, effect: (attrs.evolve(coordinators, states=Map()), effect)),
)
ALWAYS_WRITES = wrong(
    INITIALIZED, "writes always", returns(lambda effects: (*effects, WriteMetadata()))
)
_CRASHED = dict.fromkeys(("subscribe", "reconcile", "alter offsets"), AT_ONCE)
_CRASHED |= dict.fromkeys(("delete offsets", "delete group"), UNANNOUNCED) | {"leave": BEGINS_AT_0}
_RETRIED = dict.fromkeys(("subscribe", "reconcile", "alter offsets"), LEFT_BEGUN)
_RETRIED |= dict.fromkeys(("delete offsets", "delete group"), UNLISTED)
_group_of_one = Subject("KIP-932, Group coordinator", OneAssigned, _is_sound)


def _plans(names: Iterable[str]) -> dict[str, tuple[Planned]]:
    return {name: (_PLANS[name],) for name in names}


@_group_of_one.theorem(48, of=_plans(_CRASHED), where=_does_something, control=_CRASHED)
def a_crash_leaves_the_group_sound(s: OneAssigned, planned: Planned) -> Term:
    """Wherever a coordinator crashes, each share-partition is at one stage, with its state."""
    before = _coordinators(s)
    return conjunction(*map(_holds, _crashes(before, planned(before, s.target))))


@_group_of_one.theorem(36, of=_plans(_RETRIED), where=_does_something, control=_RETRIED)
def a_crash_and_a_retry_end_the_same(s: OneAssigned, planned: Planned) -> Term:
    """Done again after a crash, an operation of a group leaves what it leaves without one."""
    before = _coordinators(s)
    plan = planned(before, s.target)
    end = carry_out(before, plan.effects)
    same = True
    for crashed in _crashes(before, plan):
        again = carry_out(crashed, planned(crashed, s.target).effects)
        same = conjunction(same, _is_settled_as(again, end))
    return same


def _is_settled_as(coordinators: Coordinators, other: Coordinators) -> Term:
    """Whether both have the same stages, members and start offsets; epochs may be higher."""
    first, second = group_of(coordinators), group_of(other)
    same = (coordinators.group is None) == (other.group is None)
    same = same and first.metadata == second.metadata
    same = same and first.subscriptions == second.subscriptions
    if not same or set(coordinators.states) != set(other.states):
        return False
    pairs = ((coordinators.states[key], other.states[key]) for key in coordinators.states)
    return conjunction(*(a.start_offset == b.start_offset for a, b in pairs))


@_group_of_one.theorem(36, of=_plans(("subscribe", "reconcile")), control=ALWAYS_WRITES)
def what_is_settled_is_left_alone(s: OneAssigned, planned: Planned) -> Term:
    """Once an operation has brought a group in line, another reconciliation writes nothing."""
    before = _coordinators(s)
    end = carry_out(before, planned(before, s.target).effects)
    return not group_lifecycle.reconcile(end).effects


@_group_of_one.theorem(36, of="initialize again", where=lambda s: s.known, control=FORGOTTEN)
def what_is_initialized_again_stays(s: OneAssigned) -> Term:
    """A share-partition that is initialized again in its state epoch keeps its durable state."""
    before = _coordinators(s)
    again = CallInitialize(ASSIGNED, s.target, s.durable.state_epoch)
    return share_group.perform(before, again)[1].states[ASSIGNED] is s.durable


@_group_of_one.theorem(
    48, of="describe offsets", control=wrong(
        "spec.group_lifecycle:describe_offsets", "describes nothing", returns(lambda _all: {})),
)  # fmt: skip
def what_is_initialized_is_described(s: OneAssigned) -> Term:
    """Described are what is initialized and its durable start offset, None if never written."""
    described = group_lifecycle.describe_offsets(_coordinators(s))
    if s.stage != INITIALIZED_STAGE or ASSIGNED not in described:
        return conjunction(s.stage != INITIALIZED_STAGE, not described)
    start, written = described[ASSIGNED], s.durable.start_offset
    return written == UNINITIALIZED if start is None else start == written


_CHECKED = {name: (name,) for name in ("leave", "alter offsets", "delete offsets", "delete group")}


@_group_of_one.theorem(
    68, of=_CHECKED,
    control={name: wrong(f"spec.group_lifecycle:{name.replace(' ', '_')}", "refuses nothing",
                         sets(error=ErrorCode.NONE, refused=Map())) for name in _CHECKED},
)  # fmt: skip
def what_needs_an_empty_group_is_refused(s: OneAssigned, name: str) -> Term:
    """Offsets are altered and deleted, and a group is, while it has no member; a member leaves."""
    plan = _PLANS[name](_coordinators(s), s.target)
    if plan.error is not ErrorCode.NONE:
        return conjunction(plan.error is _error(s, name), not plan.effects, not plan.refused)
    unknown: dict[Any, ErrorCode] = {}
    if name == "alter offsets" and not s.exists:
        unknown[ASSIGNED] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if name == "delete offsets" and s.stage == 0:
        unknown[TOPIC] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return conjunction(_error(s, name) is ErrorCode.NONE, dict(plan.refused) == unknown)


def _error(s: OneAssigned, name: str) -> ErrorCode:
    if not s.group:
        return ErrorCode.NONE if name == "alter offsets" else ErrorCode.GROUP_ID_NOT_FOUND
    if name == "leave":
        return ErrorCode.NONE if s.subscribed else ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NON_EMPTY_GROUP if s.subscribed else ErrorCode.NONE


@_group_of_one.theorem(49, of=_plans((*_PLANS,)[:5]), where=_does_something, control=BEGINS_AT_0)
def epochs_of_a_group_never_go_back(s: OneAssigned, planned: Planned) -> Term:
    """Group epoch and state epoch never go back, and no state epoch is ahead of the group's."""
    before = _coordinators(s)
    rise = True
    for after in _crashes(before, planned(before, s.target)):
        if after.group is None:
            continue
        rise = conjunction(rise, implies(s.group, after.group.epoch >= s.epoch))
        if state := after.states.get(ASSIGNED):
            kept = implies(s.known, state.state_epoch >= s.durable.state_epoch)
            rise = conjunction(rise, kept, state.state_epoch <= after.group.epoch)
    return rise


@_group_of_one.theorem(
    49, of="alter offsets", control=SAME_EPOCH,
    where=lambda s: conjunction(s.group, negate(s.subscribed), s.exists),
)  # fmt: skip
def an_altered_start_offset_has_an_epoch_of_its_own(s: OneAssigned) -> Term:
    """An altered start offset has a state epoch of its own, above every one before."""
    before = _coordinators(s)
    after = carry_out(before, _altered(before, s.target).effects)
    state = after.states[ASSIGNED]
    return conjunction(
        state.start_offset == s.target,
        state.state_epoch == group_of(after).epoch,
        state.state_epoch > s.epoch,
        implies(s.known, state.state_epoch > s.durable.state_epoch),
        ASSIGNED in group_of(after).metadata.initialized,
    )
