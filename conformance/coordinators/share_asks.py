"""What the kit asks of a share coordinator: the five requests of KIP-932, and what befalls it.

The requests are those of ``model.share_state_requests``; the others are defined here.
"""

from uuid import UUID

import attrs

from judge.words import batch_text
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    WriteState,
)
from model.state_topic import SharePartitionKey

TOPICS = {UUID(int=(4 << 76) + (8 << 60) + number): number + 1 for number in (1, 2)}
"""The topics at first, and how many partitions each has."""

PLAIN_KEY = SharePartitionKey("g", next(iter(TOPICS)), 0)
"""The share-partition that stands for any in a shrunk sequence."""

STATE_PARTITIONS = 50
"""share.coordinator.state.topic.num.partitions, for ``FindPartition``."""


@attrs.frozen
class OpenCoordinator:
    """Begin with an empty state topic. The two settings are those of a share coordinator."""

    updates_per_snapshot: int = 500
    snapshot_interval_ms: int = 300_000


@attrs.frozen
class FailOver:
    """Another coordinator takes over: it replays what the state topic holds, and nothing else."""


@attrs.frozen
class TakeSnapshots:
    """The timer for share-partitions that are idle runs."""


@attrs.frozen
class PruneTopic:
    """Ask below which offset the state topic needs no record, and delete those records."""


@attrs.frozen
class DeleteTopic:
    """A topic is deleted."""

    topic_id: UUID


@attrs.frozen
class FindPartition:
    """Ask which partition of the state topic a share-partition belongs to (FindCoordinator)."""

    key: SharePartitionKey


@attrs.frozen
class PassTime:
    """Let so many ms pass."""

    ms: int


StateAsk = (
    OpenCoordinator
    | InitializeState
    | ReadState
    | WriteState
    | ReadStateSummary
    | DeleteState
    | FailOver
    | TakeSnapshots
    | PruneTopic
    | DeleteTopic
    | FindPartition
    | PassTime
)

NEEDS: dict[type, str] = {
    InitializeState: "initialize",
    ReadStateSummary: "summary",
    DeleteState: "delete",
    TakeSnapshots: "cold_snapshots",
    DeleteTopic: "deleted_topics",
}
"""The capability that a command needs. Without the first state begins with a given record."""

_TOPIC_NUMBERS = {topic_id: number for number, topic_id in enumerate(TOPICS, start=1)}


def ask_text(ask: StateAsk) -> str:
    """Return a command in a few words."""
    match ask:
        case OpenCoordinator(updates, interval):
            return f"a coordinator: {updates} updates per snapshot, idle after {interval} ms"
        case DeleteTopic(topic_id):
            return f"{_topic_text(topic_id)} is deleted"
        case FindPartition(key):
            return f"FindCoordinator for {key_text(key)}"
        case PassTime(ms):
            return f"{ms} ms pass"
        case FailOver() | TakeSnapshots() | PruneTopic():
            return _PLAIN[type(ask)]
    return request_text(ask)


_PLAIN: dict[type, str] = {
    FailOver: "another coordinator replays the state topic",
    TakeSnapshots: "the timer for idle share-partitions runs",
    PruneTopic: "the state topic is pruned",
}


def request_text(request: StateRequest) -> str:
    """Return a request in a few words: its name, what it is about, and what it carries."""
    fields = attrs.asdict(request, recurse=False)
    key, batches = fields.pop("key"), fields.pop("state_batches", ())
    texts = [f"{name.replace('_', ' ')} {value}" for name, value in fields.items()]
    texts += [batch_text(batch) for batch in batches]
    return f"{type(request).__name__} of {key_text(key)}: {', '.join(texts) or 'nothing else'}"


def key_text(key: SharePartitionKey) -> str:
    """Return a share-partition in a few words."""
    return f"group {key.group_id!r}, {_topic_text(key.topic_id)}, partition {key.partition}"


def _topic_text(topic_id: UUID) -> str:
    return f"topic {_TOPIC_NUMBERS.get(topic_id, topic_id)}"
