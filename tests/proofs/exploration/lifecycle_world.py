"""Every state of a small share group: each operation, crashed between any two of its effects.

Topics of a few partitions are created, grow and are deleted; one member; start offsets 0 and 5.
Epochs are kept by their order alone. A crash forgets what an operation had yet to do; nothing else
is volatile. With late calls the one that was under way when the group coordinator crashed may
reach the share coordinator at any later time: against that the texts have no means.
"""

from collections.abc import Callable, Iterator

import attrs
from immutables import Map

from judge.invariants import broken_names
from judge.share_group_invariants import GROUP_INVARIANTS
from model.errors import ErrorCode
from model.share_messages import TopicPartition
from spec.group_lifecycle import (
    GroupPlan,
    alter_offsets,
    carry_out,
    delete_group,
    delete_offsets,
    leave,
    reconcile,
    subscribe,
)
from spec.share_group import (
    CallDelete,
    CallInitialize,
    Coordinators,
    Effect,
    WriteGroup,
    assignable,
    group_of,
    perform,
)

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


@attrs.frozen
class Lifecycle:
    """What is durable, and what the operation at work has yet to do.

    ``uncreated`` are topics that can be created, each once. ``late`` is a call that a coordinator
    made before it crashed, and that has not reached the share coordinator.
    """

    durable: Coordinators
    work: tuple[Effect, ...] = ()
    uncreated: frozenset[str] = frozenset()
    late: Effect | None = None


_ONE_TOPIC = Map({"a": 2})


@attrs.frozen
class Rules:
    """How the world goes. ``partitions`` says how many partitions each topic may come to have.

    ``planned`` changes the plans of operations, to show that it is noticed. ``late_calls`` says
    whether a call outlives the coordinator that made it.
    """

    partitions: Map[str, int] = _ONE_TOPIC
    planned: Callable[[tuple[Effect, ...]], tuple[Effect, ...]] = lambda effects: effects
    late_calls: bool = False


RULES = Rules()

Operation = Callable[[Coordinators], GroupPlan]


def operations(rules: Rules) -> dict[str, Operation]:
    """Return what may be asked of the group coordinator, by name."""
    found: dict[str, Operation] = {
        "subscribe to a": lambda c: subscribe(c, "m", frozenset({"a"})),
        "leave": lambda c: leave(c, "m"),
        "reconcile": reconcile,
        "alter a:0 to 5": lambda c: alter_offsets(c, {A0: 5}),
        "alter a:0 and a:1 to 0": lambda c: alter_offsets(c, {A0: 0, A1: 0}),
        "delete offsets of a": lambda c: delete_offsets(c, ("a",)),
        "delete group": delete_group,
    }
    if "b" in rules.partitions:
        found["subscribe to a and b"] = lambda c: subscribe(c, "m", frozenset({"a", "b"}))
    return found


def beginning(rules: Rules = RULES) -> Lifecycle:
    """Return the world before any topic is created."""
    return Lifecycle(Coordinators(), uncreated=frozenset(rules.partitions))


def steps(world: Lifecycle, rules: Rules = RULES) -> Iterator[tuple[str, Lifecycle]]:
    """Yield everything that can happen next, with its name."""
    yield from _changes(world, rules)
    if world.late is not None:
        durable = carry_out(world.durable, (world.late,))
        yield "late call", _ranked(attrs.evolve(world, durable=durable, late=None))
    if world.work:
        effect, *rest = world.work
        error, durable = perform(world.durable, effect)
        left = tuple(rest) if error is ErrorCode.NONE else ()
        yield type(effect).__name__, _ranked(attrs.evolve(world, durable=durable, work=left))
        yield "crash", _ranked(attrs.evolve(world, work=()))
        if rules.late_calls and isinstance(effect, CallInitialize | CallDelete):
            yield "crash during the call", _ranked(attrs.evolve(world, work=(), late=effect))
        return
    for name, plan in operations(rules).items():
        if effects := rules.planned(plan(world.durable).effects):
            yield name, _ranked(attrs.evolve(world, work=effects))


def _changes(world: Lifecycle, rules: Rules) -> Iterator[tuple[str, Lifecycle]]:
    topics = world.durable.topics
    for topic, count in topics.items():
        if count < rules.partitions[topic]:
            yield f"{topic} grows", _with_topics(world, topics.set(topic, count + 1))
        yield f"{topic} is deleted", _with_topics(world, topics.delete(topic))
    for topic in sorted(world.uncreated):
        created = attrs.evolve(world, uncreated=world.uncreated - {topic})
        yield f"{topic} is created", _with_topics(created, topics.set(topic, 1))


def _with_topics(world: Lifecycle, topics: Map[str, int]) -> Lifecycle:
    return attrs.evolve(world, durable=attrs.evolve(world.durable, topics=topics))


def _ranked(world: Lifecycle) -> Lifecycle:
    """Return the world with epochs by their order: what follows does not depend on more."""
    there = world.durable
    epochs = {group_of(there).epoch, *(state.state_epoch for state in there.states.values())}
    epochs |= {epoch for effect in (*world.work, world.late) for epoch in _epochs(effect)}
    rank = {epoch: number for number, epoch in enumerate(sorted(epochs))}
    states = {
        at: attrs.evolve(state, state_epoch=rank[state.state_epoch], snapshot_epoch=0)
        for at, state in there.states.items()
    }
    group = there.group and attrs.evolve(there.group, epoch=rank[there.group.epoch])
    durable = attrs.evolve(there, group=group, states=Map(states))
    work = tuple(_with_rank(effect, rank) for effect in world.work)
    late = world.late and _with_rank(world.late, rank)
    return attrs.evolve(world, durable=durable, work=work, late=late)


def _epochs(effect: Effect | None) -> tuple[int, ...]:
    match effect:
        case WriteGroup(epoch) | CallInitialize(state_epoch=epoch):
            return (epoch,)
    return ()


def _with_rank(effect: Effect, rank: dict[int, int]) -> Effect:
    match effect:
        case WriteGroup(epoch):
            return attrs.evolve(effect, epoch=rank[epoch])
        case CallInitialize(state_epoch=epoch):
            return attrs.evolve(effect, state_epoch=rank[epoch])
    return effect


def check(world: Lifecycle, rules: Rules = RULES) -> str | None:
    """Return what is wrong: an invariant is broken, or an operation does not come to its end."""
    broken = broken_names(GROUP_INVARIANTS, world.durable)
    if broken:
        return broken[0]
    if world.work:
        return None
    return unreconciled(world.durable) or retry_fault(world.durable, rules)


def unreconciled(there: Coordinators) -> str | None:
    """Return what is left to do after the group was reconciled, if anything is."""
    after = carry_out(there, reconcile(there).effects)
    if reconcile(after).effects:
        return "reconciled, and not done"
    group = group_of(after)
    if begun := group.metadata.initializing | group.metadata.deleting:
        return f"what was begun of {min(begun)} has no end"
    wanted = {topic for topics in group.subscriptions.values() for topic in topics}
    missing = {
        TopicPartition(topic, index)
        for topic in wanted
        for index in range(after.topics.get(topic, 0))
    } - assignable(after)
    return f"{min(missing)} is not initialized" if missing else None


def retry_fault(there: Coordinators, rules: Rules = RULES) -> str | None:
    """Return the operation that does not end the same if it is crashed somewhere and retried.

    Either at once, or, where nothing else was left to do, after the group was reconciled.
    """
    quiet = not reconcile(there).effects
    for name, plan in operations(rules).items():
        effects = plan(there).effects
        end = settled(carry_out(there, effects))
        crashed = there
        for done, effect in enumerate(effects):
            if settled(_again(crashed, plan)) != end:
                return f"{name}, crashed after {done} effects and retried"
            if quiet and settled(_again(_again(crashed, reconcile), plan)) != end:
                return f"{name}, crashed after {done} effects, reconciled and retried"
            crashed = carry_out(crashed, (effect,))
    return None


def _again(there: Coordinators, plan: Operation) -> Coordinators:
    return carry_out(there, plan(there).effects)


def settled(there: Coordinators) -> object:
    """Return what must come out the same: stages, start offsets, members; epochs may be higher."""
    group = group_of(there)
    starts = {at: state.start_offset for at, state in there.states.items()}
    return there.group is None, group.metadata, dict(group.subscriptions), starts
