"""What a search of a share coordinator should cover, in one table."""

from collections.abc import Callable, Iterator

import attrs

from conformance.coordinators.share_asks import NEEDS
from conformance.goals import Goal, Group, Scope, recognised, rule_goals
from model.errors import ErrorCode
from model.share_state_requests import InitializeState, ReadState, StateRequest, WriteState
from model.state_topic import ShareSnapshot, ShareUpdate, StateRecord
from spec.coordinator import Durable
from spec.share_coordinator import ShareCoordinator
from spec.state_topic import StateTopicPartition


@attrs.frozen
class Observation:
    """A request with its answer and record, and the coordinator before it.

    Without a request a coordinator took over, from the topic.
    """

    before: ShareCoordinator
    request: StateRequest | None
    status: ErrorCode | None
    record: StateRecord | None
    topic: StateTopicPartition

    @property
    def durable(self) -> Durable | None:
        """Return what was held of the share-partition before the request."""
        held = self.before.held.get(self.request.key) if self.request else None
        return held.durable if held else None

    def wrote(self, kind: type[ShareSnapshot | ShareUpdate]) -> bool:
        """Return whether it appended such a record."""
        return self.record is not None and isinstance(self.record.value, kind)


_STATUSES = {
    "InitializeState": "NONE INVALID_REQUEST FENCED_STATE_EPOCH UNKNOWN_TOPIC_OR_PARTITION",
    "ReadState": "NONE INVALID_REQUEST FENCED_LEADER_EPOCH",
    "WriteState": "NONE INVALID_REQUEST FENCED_LEADER_EPOCH FENCED_STATE_EPOCH",
    "ReadStateSummary": "NONE INVALID_REQUEST UNKNOWN_TOPIC_OR_PARTITION",
    "DeleteState": "NONE INVALID_REQUEST UNKNOWN_TOPIC_OR_PARTITION",
}
_NEEDS = {kind.__name__: need for kind, need in NEEDS.items()}

_Write = tuple[WriteState, Durable, Observation]


def _writes(seen: Observation) -> Iterator[_Write]:
    durable, request = seen.durable, seen.request
    if isinstance(request, WriteState) and durable and seen.status is ErrorCode.NONE:
        yield request, durable, seen


def _initializes(
    seen: Observation,
) -> Iterator[tuple[InitializeState, Durable | None, Observation]]:
    if isinstance(seen.request, InitializeState) and seen.status is ErrorCode.NONE:
        yield seen.request, seen.durable, seen


def _reads(seen: Observation) -> Iterator[Observation]:
    if isinstance(seen.request, ReadState) and seen.status is ErrorCode.NONE:
        yield seen


def _failovers(seen: Observation) -> Iterator[Observation]:
    if seen.request is None:
        yield seen


def _touches(covers: Callable[[WriteState, Durable], bool]) -> Callable[[_Write], bool]:
    return lambda write: covers(write[0], write[1])


def _answers() -> Iterator[Goal]:
    for request, statuses in _STATUSES.items():
        needs = (_NEEDS[request],) if request in _NEEDS else ()
        for status in statuses.split():
            yield Goal(Group.ANSWER, f"{request} is answered {status}", needs)


def _overlaps(request: WriteState, durable: Durable) -> bool:
    return any(
        offset in durable.entries
        for batch in request.state_batches
        for offset in range(batch.first, batch.last + 1)
    )


_write, _initialize = Scope(_writes), Scope(_initializes)
_read, _failover = Scope(_reads), Scope(_failovers)
_SITUATIONS = (
    _write("a write keeps the start offset", lambda w: w[0].start_offset == -1),
    _write("a write comes late: below the start offset",
           _touches(lambda w, d: -1 < w.start_offset < d.start_offset)),
    _write("a write moves the start offset beyond states",
           _touches(lambda w, d: any(o < w.start_offset for o in d.entries))),
    _write("a write changes a record that has a state", _touches(_overlaps)),
    _write("a write has no delivery complete count",
           lambda w: w[0].delivery_complete_count == -1),
    _write("a write comes late: below the delivery complete count",
           _touches(lambda w, d: w.start_offset == d.start_offset
                    and -1 < w.delivery_complete_count < d.delivery_complete_count),
           "delivery_complete_count"),
    _write("an update is written", lambda w: w[2].wrote(ShareUpdate)),
    _write("a snapshot is written when it is due",
           lambda w: w[2].wrote(ShareSnapshot)),
    _initialize("state begins with a start offset",
                lambda i: i[1] is None and i[0].start_offset >= 0, "initialize"),
    _initialize("the start offset is altered",
                lambda i: i[1] is not None and i[0].state_epoch > i[1].state_epoch, "initialize"),
    _initialize("an initialize is repeated",
                lambda i: i[1] is not None and i[0].state_epoch == i[1].state_epoch, "initialize"),
    _read("a new leader is written", lambda seen: seen.record is not None),
    _read("a leader reads again", lambda seen: seen.record is None),
    _failover("a coordinator replays updates",
              lambda seen: any(isinstance(r.value, ShareUpdate) for r in seen.topic.records)),
    _failover("a coordinator replays a tombstone",
              lambda seen: any(r.value is None for r in seen.topic.records), "delete"),
    _failover("a coordinator replays a topic that was pruned",
              lambda seen: seen.topic.first_offset > 0),
    Goal(Group.SITUATION, "an idle share-partition gets a snapshot", ("cold_snapshots",)),
    Goal(Group.SITUATION, "a topic with state is deleted", ("deleted_topics",)),
    Goal(Group.SITUATION, "records are pruned"),
    Goal(Group.SITUATION, "a group id with a colon is found"),
)  # fmt: skip

_TABLE = (*_answers(), *_SITUATIONS)
GOALS = (*_TABLE, *rule_goals(_TABLE, "coordinator"))

_recognised = recognised(_SITUATIONS)


def situations(seen: Observation) -> Iterator[str]:
    """Yield the names of the goals that a request, or a coordinator that took over, covers."""
    if seen.request is not None and seen.status is not None:
        yield f"{type(seen.request).__name__} is answered {seen.status.name}"
    yield from _recognised(seen)
