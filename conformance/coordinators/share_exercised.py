"""What a share coordinator exercised, by name: its answers, its records and what became of a state.

Each name follows from the states and the records that the judge has anyway.
"""

from collections.abc import Iterator

from conformance.coordinators.share_judge import Seen, kind_text
from conformance.exercised import answer_name, changed
from model.share_state_requests import InitializeState, ReadState, WriteState
from model.state_topic import StateRecord
from spec.coordinator import Durable
from spec.share_coordinator import ShareCoordinator
from spec.state_topic import StateTopicPartition

_NUMBERS = ("start_offset", "delivery_complete_count", "leader_epoch", "state_epoch")


def requested(before: ShareCoordinator, after: ShareCoordinator, seen: Seen) -> Iterator[str]:
    """Yield what a request exercised that was answered legally."""
    request, name = seen.request, type(seen.request).__name__
    yield answer_name(name, seen.answer.status.name)
    held, now = before.held.get(request.key), after.held.get(request.key)
    durable = held.durable if held else None
    yield from changed(durable, now.durable if now else None, "a state", name)
    yield from appended((seen.record,) if seen.record else (), name)
    if isinstance(request, WriteState | InitializeState | ReadState) and durable:
        asked = answer_name(name, seen.answer.status.name)
        yield from (f"{number}: {asked}" for number in _compared(request, durable))


def _compared(request: WriteState | InitializeState | ReadState, held: Durable) -> Iterator[str]:
    """Yield how each number of a request relates to the one that is held."""
    for name in _NUMBERS:
        asked, number = getattr(request, name, None), getattr(held, name)
        if asked is None:
            continue
        way = "below" if asked < number else "above" if asked > number else "at"
        yield f"{name.replace('_', ' ')} {'not given' if asked == -1 else way}"


def appended(records: tuple[StateRecord, ...], name: str) -> Iterator[str]:
    """Yield the kinds of records that were appended."""
    return (f"{kind_text(record)} → the topic: {name}" for record in records)


def replayed(topic: StateTopicPartition) -> Iterator[str]:
    """Yield the kinds of records from which a coordinator that took over has its states."""
    for kind in {kind_text(record) for record in topic.records}:
        yield f"the topic → {kind}: FailOver"
    if topic.first_offset:
        yield "the topic → a pruned topic: FailOver"
