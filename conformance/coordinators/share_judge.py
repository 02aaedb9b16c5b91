"""What an answer of a share coordinator, and the record that it appends, do that no rule allows.

A record is judged by what it makes of the state, offset by offset: how its batches are cut, and
whether it is an update or a snapshot that comes early, is the coordinator's choice.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import attrs

from conformance.coordinators.share_messages import StateAnswer, camel
from judge.words import state_text
from model.errors import ErrorCode, IllegalChoiceError
from model.guards import CoordinatorGuard
from model.profile import Profile
from model.share_state_requests import ReadState, ReadStateSummary, StateRequest, WriteState
from model.state_topic import ShareSnapshot, ShareUpdate, StateRecord
from spec.coordinator import Durable, Entry, durable_from
from spec.share_coordinator import Reply, ShareCoordinator, serve
from spec.state_topic import replay_held

DEFECTS = {
    "defect_unknown_count_keeps_the_former": "a count that is not known keeps the former",
    "defect_start_offset_kept_loses_count": "a write that keeps the start offset loses its count",
    "defect_repeated_initialize_discards_state": "a repeated initialize discards the state",
    "defect_initialize_forgets_leader_epoch": "an initialize forgets the leader epoch",
    "defect_newer_state_epoch_is_accepted": "a write of a newer state epoch is merged without it",
}
"""The defects that a profile can reproduce, so that a sequence goes on after one, in words."""

assert DEFECTS.keys() == {  # noqa: S101 - none is forgotten
    field.name for field in attrs.fields(Profile) if field.name.startswith("defect_")
}


@attrs.frozen
class Seen:
    """A request at a time in ms, its answer, and the record that it appended.

    ``counts``: the release knows a delivery complete count; ``stamps``: its snapshots have times.
    """

    request: StateRequest
    now: int
    answer: StateAnswer
    record: StateRecord | None
    counts: bool = True
    stamps: bool = True


@attrs.frozen
class StateMismatch:
    """What differs, by the rule that it breaks; ``cause`` says in which way, without its values."""

    rule: CoordinatorGuard
    cause: str
    recorded: str
    expected: str


@attrs.frozen
class Explained:
    """What the rules make of a request, and of each defect that it takes what it breaks."""

    reply: Reply
    defects: Mapping[str, StateMismatch] = {}


def judged(coordinator: ShareCoordinator, seen: Seen) -> Explained | StateMismatch:
    """Return what the rules make of a request, with the defects that explain it, if it needs any.

    Those of Apache Kafka 4.4 are tried, the fewest first; where none explains it, what differs.
    """
    found = _by(coordinator, seen)
    if isinstance(found, Reply):
        return Explained(found)
    for names in _subsets([name for name in DEFECTS if not getattr(coordinator.profile, name)]):
        explained = _by(_with(coordinator, names), seen)
        if isinstance(explained, Reply):
            others = {n: _by(_with(coordinator, [o for o in names if o != n]), seen) for n in names}
            return Explained(
                explained, {n: m for n, m in others.items() if isinstance(m, StateMismatch)}
            )
    return found


def _with(coordinator: ShareCoordinator, names: Sequence[str]) -> ShareCoordinator:
    """Return the coordinator with these defects too."""
    flags: dict[str, Any] = dict.fromkeys(names, True)
    return attrs.evolve(coordinator, profile=attrs.evolve(coordinator.profile, **flags))


def _subsets(names: list[str]) -> Iterator[tuple[str, ...]]:
    for size in range(1, len(names) + 1):
        yield from combinations(names, size)


def _by(coordinator: ShareCoordinator, seen: Seen) -> Reply | StateMismatch:
    chosen = None
    if isinstance(seen.request, ReadState | WriteState) and seen.record is not None:
        chosen = isinstance(seen.record.value, ShareSnapshot)
    try:
        reply = serve(coordinator, seen.request, seen.now, snapshot=chosen)
    except IllegalChoiceError:
        guard = CoordinatorGuard.SNAPSHOT_ON_TIME
        return StateMismatch(guard, "it is an update", "an update", "a snapshot, which is due")
    return (
        _answer_mismatch(reply, seen)
        or _kind_mismatch(reply, seen)
        or _record_mismatch(coordinator, reply, seen)
        or reply
    )


def _answer_mismatch(reply: Reply, seen: Seen) -> StateMismatch | None:
    guard, answer, state = CoordinatorGuard.STATE_IS_ANSWERED, seen.answer, reply.state
    if answer.status is not reply.status:
        texts = answer.status.name, reply.status.name
        return StateMismatch(guard, " instead of ".join(texts), *texts)
    if state is None or reply.status is not ErrorCode.NONE:
        return None
    numbers = {"start offset": state.start_offset, "state epoch": state.state_epoch}
    if isinstance(seen.request, ReadStateSummary):
        numbers["leader epoch"] = state.leader_epoch
        if seen.counts:
            numbers["delivery complete count"] = state.delivery_complete_count
    for name, wanted in numbers.items():
        got = answer.numbers.get(camel(name.replace(" ", "_")))
        if got != wanted:
            return _number(guard, name, got, wanted)
    if isinstance(seen.request, ReadState):
        return _entries(guard, answer.entries, durable_from(state).entries)
    return None


def _kind_mismatch(reply: Reply, seen: Seen) -> StateMismatch | None:
    got, wanted = kind_text(seen.record), kind_text(reply.record)
    if got == wanted and (seen.record is None or seen.record.key == seen.request.key):
        return None
    if got == wanted:
        got, wanted = "a record of another share-partition", "a record of this one"
    guard = CoordinatorGuard.STATE_IS_WRITTEN
    return StateMismatch(guard, f"{got} instead of {wanted}", got, wanted)


def kind_text(record: StateRecord | None) -> str:
    """Return the kind of a record in words."""
    if record is None:
        return "no record"
    kinds = {ShareSnapshot: "a snapshot", ShareUpdate: "an update", type(None): "a tombstone"}
    return kinds[type(record.value)]


def _record_mismatch(
    coordinator: ShareCoordinator, reply: Reply, seen: Seen
) -> StateMismatch | None:
    if seen.record is None or reply.record is None or seen.record.value is None:
        return None
    key, value, told = seen.record.key, seen.record.value, reply.record.value
    assert told is not None  # noqa: S101 - both are of one kind
    before, wanted = coordinator.held.get(key), reply.coordinator.held[key].durable
    after = replay_held(before, seen.record, coordinator.profile)
    assert after is not None  # noqa: S101 - it is no tombstone
    guard = CoordinatorGuard.STATE_IS_WRITTEN
    if value.snapshot_epoch != told.snapshot_epoch:
        return _number(guard, "snapshot epoch", value.snapshot_epoch, told.snapshot_epoch)
    if isinstance(value, ShareUpdate) and value.start_offset not in (-1, wanted.start_offset):
        return _number(guard, "start offset", value.start_offset, wanted.start_offset)
    return state_mismatch(after.durable, wanted, counts=seen.counts) or (
        times_mismatch(value, told) if seen.stamps else None
    )


def state_mismatch(got: Durable, wanted: Durable, *, counts: bool) -> StateMismatch | None:
    """Return how what a record makes of a state differs from what it should be."""
    guard = CoordinatorGuard.STATE_IS_WRITTEN
    for name in ("start_offset", "delivery_complete_count", "leader_epoch", "state_epoch"):
        values = getattr(got, name), getattr(wanted, name)
        if values[0] != values[1] and (counts or name != "delivery_complete_count"):
            return _number(guard, name.replace("_", " "), *values)
    return _entries(guard, got.entries, wanted.entries)


def times_mismatch(
    got: ShareSnapshot | ShareUpdate, wanted: ShareSnapshot | ShareUpdate
) -> StateMismatch | None:
    """Return how the times of a snapshot differ."""
    for name in ("create_timestamp", "write_timestamp"):
        values = getattr(got, name, 0), getattr(wanted, name, 0)
        if values[0] != values[1]:
            return _number(CoordinatorGuard.STATE_IS_WRITTEN, name.replace("_", " "), *values)
    return None


def _number(guard: CoordinatorGuard, name: str, got: int | None, wanted: int) -> StateMismatch:
    if got is None:
        way = "is missing"
    elif -1 in (got, wanted):
        way = "is not known" if got == -1 else "is known"
    else:
        way = "is less" if got < wanted else "is more"
    return StateMismatch(guard, f"the {name} {way}", f"{name} {got}", f"{name} {wanted}")


def _entries(
    guard: CoordinatorGuard, got: Mapping[int, Entry], wanted: Mapping[int, Entry]
) -> StateMismatch | None:
    for offset in sorted({*got, *wanted}):
        one, other = got.get(offset), wanted.get(offset)
        if one == other:
            continue
        texts = _entry_text(offset, one), _entry_text(offset, other)
        return StateMismatch(guard, _entry_cause(one, other), *texts)
    return None


def _entry_text(offset: int, entry: Entry | None) -> str:
    return f"offset {offset} {state_text(*entry) if entry else 'without a state'}"


def _entry_cause(got: Entry | None, wanted: Entry | None) -> str:
    if got is None or wanted is None:
        return "a record's state is lost" if got is None else "a record's state is not dropped"
    if got[0] is not wanted[0]:
        return f"a record is {got[0].name} instead of {wanted[0].name}"
    return f"a delivery count is {'less' if got[1] < wanted[1] else 'more'}"
