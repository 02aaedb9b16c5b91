"""Names of violations: guards of a choice, and kinds of difference from a recording.

The value of each is its sentence. What a guard rests on is here, what a difference does is in
``rules.toml``.
"""

from enum import Enum, auto
from typing import Self

from model.rule import LISTED, Rule, RuleKind

_SENTENCES = {
    name: rule.sentence
    for kind in (RuleKind.COORDINATOR, RuleKind.DIFFERENCE)
    for name, rule in LISTED[kind].items()
}


class _RuleName(Enum):
    """The name of a rule; the value is its sentence."""

    _value_: str

    @staticmethod
    def _generate_next_value_(name: str, _start: int, _count: int, _last: list[str]) -> str:
        return _SENTENCES[name]


class Guard(Enum):
    """A condition that every implementation's choice must meet: the value is its sentence.

    ``rule`` says what it rests on and what it stands for; its name is the guard's.
    """

    _value_: str
    rule: Rule

    def __new__(cls, rule: Rule) -> Self:
        """Return the guard of a rule."""
        guard = object.__new__(cls)
        guard._value_, guard.rule = rule.sentence, rule
        return guard

    ONLY_AVAILABLE_IS_ACQUIRED = Rule(
        "only an AVAILABLE record is acquired (KIP-932, In-flight records)",
        "KIP-932, In-flight records",
        "A fetch starts at the start offset, finds available records, and acquires those.",
        asserts="acquired",
        promises=(
            "one consumer",
            "complete is final",
            "delivery limit",
            "acquisition lock",
            "renewal",
            "acknowledge types",
        ),
        grave=True,
        at_stake={"core": ["acquire is bounded by it"], "broker": ["ShareFetch is bounded by it"]},
    )
    NO_ACQUIRE_DURING_WRITE = Rule(
        "a record is not acquired while a write of its state is outstanding",
        "Apache Kafka, SharePartition.acquire",
        "A record with an outstanding state transition is passed over: whether it is available "
        "is not known until the write is answered.",
        asserts="acquired",
        promises=("no delivery during a write",),
        needs=("pending_writes",),
        at_stake={"core": ["acquire is bounded by it"]},
    )
    ONLY_READ_IS_ACQUIRED = Rule(
        "only offsets that this fetch read from the log are acquired",
        "KIP-932, ShareFetch; AcquiredRecords",
        "The acquired records of an answer are among the records that it carries.",
        promises=("records of the log",),
        at_stake={"core": ["acquire is answered NONE"], "broker": ["* → ACQUIRED: ShareFetch*"]},
    )
    NO_RECORD_LOST = Rule(
        "a read skips no record that the log holds: it would be lost (KIP-932)",
        "KIP-932, Motivation; In-flight records",
        "Every record is delivered at least once: what was produced is read until compaction or"
        " the log start offset takes it away.",
        promises=("at least once",),
        grave=True,
        at_stake={"core": ["acquire is answered NONE"]},
    )
    READ_IS_OF_THE_LOG = Rule(
        "the log batches of a read are those that were produced, or parts of them",
        "KIP-932, ShareFetch",
        "A fetch reads the log batches that producers wrote.",
        promises=("records of the log",),
        at_stake={"core": ["acquire is answered NONE"]},
    )
    WITHIN_READABLE_LOG = Rule(
        "a read ends at the log end offset, or under read_committed at the last stable offset",
        "KIP-932, Reading transactional records",
        "A fetch reads up to the high watermark, or for a group whose isolation level is "
        "read_committed up to the last stable offset.",
        promises=("readable records",),
        at_stake={"core": ["acquire is answered NONE"]},
    )
    NOT_BELOW_LOG_START = Rule(
        "no record below the log start offset is acquired (KIP-932)",
        "KIP-932, Managing the SPSO and SPEO",
        "Records below the log start offset are gone, so none of them is delivered.",
        asserts="acquired",
        promises=("log start",),
        at_stake={"core": ["* → below the start offset: advance_log_start"]},
    )
    WITHIN_RECORD_LIMIT = Rule(
        "record_limit acquires at most the maximum number of records (KIP-1206)",
        "KIP-1206",
        "With the acquire mode record_limit no more records are acquired than the request allows.",
        promises=("maximum of records",),
        at_stake={"core": ["acquire is bounded by it"], "broker": ["ShareFetch is bounded by it"]},
        needs=("record_limit",),
    )
    WITHIN_MAXIMUM_AND_ONE_BATCH = Rule(
        "batch_optimized acquires at most the maximum and the rest of one log batch (KIP-1206)",
        "KIP-1206",
        "With the acquire mode batch_optimized the maximum may be exceeded to end at the end of"
        " a log batch, and by no more.",
        promises=("maximum of records",),
        at_stake={"core": ["acquire is bounded by it"], "broker": ["ShareFetch is bounded by it"]},
        needs=("batch_optimized",),
    )
    WITHIN_WINDOW_LIMIT = Rule(
        "the window grows within the record lock limit (KIP-932, Configuration)",
        "KIP-932, In-flight records; Configuration",
        "The leader limits the distance between start and end offset to the configured number "
        "of record locks.",
        asserts="window",
        promises=("limit of the window",),
        at_stake={"core": ["acquire is bounded by it"], "broker": ["ShareFetch is bounded by it"]},
    )
    NO_RECORD_SKIPPED = Rule(
        "the window grows over a record in the log only by taking it in flight",
        "KIP-932, In-flight records",
        "The end offset advances as records are fetched; what lies before it in the log is in "
        "flight, what lies after it available and not yet being delivered.",
        promises=("at least once",),
        grave=True,
        at_stake={
            "core": ["never delivered → ACQUIRED: acquire"],
            "broker": ["* → ACQUIRED: ShareFetch*"],
        },
    )
    CAN_ACQUIRE = Rule(
        "a share-partition acquires nothing only if it is full and has none available",
        "Apache Kafka, SharePartition.canAcquireRecords",
        "A share-partition refuses a fetch only where the window is full and nothing in it is "
        "available.",
        asserts="can acquire",
        promises=("available is delivered",),
        at_stake={"core": ["acquire is bounded by it"]},
    )
    RECORD_IS_OFFERED = Rule(
        "an available record is acquired within so many fetches (KIP-932)",
        "KIP-932, In-flight records",
        "A fetch starts at the start offset and finds available records, so that each of them "
        "is delivered in its turn.",
        asserts="offered",
        promises=("available is delivered",),
        at_stake={
            "core": ["acquire is answered NONE"],
            "broker": ["ShareFetch is answered NONE without records"],
        },
    )
    FINISHED_LEAVES_FULL_WINDOW = Rule(
        "what is finished at the start of a full window leaves it within so many fetches, once its "
        "write is answered (KIP-932)",
        "KIP-932, Managing the SPSO and SPEO",
        "The start offset advances over records that are finished, which makes room for others.",
        asserts="room",
        promises=("the window slides",),
        at_stake={"core": ["acquire is answered skipped"]},
    )
    START_NEVER_GOES_BACK = Rule(
        "the share-partition start offset never decreases (KIP-932)",
        "KIP-932, Managing the SPSO and SPEO",
        "The window slides forward as records are consumed; only an administrator resets the "
        "start offset, of a group without members.",
        asserts="least start offset",
        about="start_offset",
        promises=("log start", "start offset", "durable state"),
        grave=True,
        at_stake={"core": ["* → below the start offset: *"]},
    )
    START_STOPS_AT_UNFINISHED = Rule(
        "the start offset never passes an unfinished record (KIP-932)",
        "KIP-932, Managing the SPSO and SPEO",
        "Records before the start offset are archived, so it does not pass one that may yet be "
        "delivered or acknowledged.",
        asserts="furthest start offset",
        about="start_offset",
        promises=("log start", "start offset"),
        grave=True,
        at_stake={"core": ["acknowledge is bounded by it", "* is bounded by it"]},
    )
    LOCK_LASTS_ITS_DURATION = Rule(
        "an acquisition lock does not expire before its duration (KIP-932)",
        "KIP-932, In-flight records; Configuration",
        "The acquisition lock lasts for the configured duration, counted from the acquisition "
        "or the last renewal.",
        promises=("acquisition lock", "renewal"),
        grave=True,
        at_stake={"core": ["advance_time is bounded by it"]},
    )
    LOCK_ENDS_ON_TIME = Rule(
        "an acquisition lock expires when its duration has elapsed (KIP-932)",
        "KIP-932, In-flight records",
        "When the acquisition lock elapses, the attempt has failed, and the record is available"
        " again or at its delivery limit archived.",
        promises=("acquisition lock", "renewal"),
        at_stake={"core": ["advance_time is bounded by it"]},
    )
    ACKNOWLEDGEMENT_JUDGED = Rule(
        "an acknowledgement is accepted or refused as its records' states say",
        "KIP-932, ShareAcknowledge; Apache Kafka, SharePartition.acknowledge",
        "An acknowledgement of a record that its sender does not hold is INVALID_RECORD_STATE, "
        "a malformed one INVALID_REQUEST; any other is accepted.",
        asserts="answer",
        promises=("acquisition lock", "renewal", "the owner acknowledges"),
        grave=True,
        at_stake={
            "core": ["acknowledge is bounded by it"],
            "broker": ["ShareAcknowledge is bounded by it", "ShareFetch is bounded by it"],
        },
    )
    ACKNOWLEDGED_WAS_DELIVERED = Rule(
        "an acknowledgement of what was never delivered is refused",
        "KIP-932, ShareAcknowledge",
        "A consumer acknowledges records that it was given; those after the end offset were "
        "given to nobody.",
        promises=("what was delivered is acknowledged",),
        grave=True,
        at_stake={
            "core": ["acknowledge is bounded by it"],
            "broker": ["ShareAcknowledge is bounded by it", "ShareFetch is bounded by it"],
        },
    )
    DEAD_LETTER_IS_ARCHIVING = Rule(
        "only an ARCHIVING record leaves for the dead-letter queue (KIP-1191)",
        "KIP-1191",
        "A record that has failed for good is ARCHIVING until the queue is done with it.",
        promises=("dead letters",),
        at_stake={"core": ["ARCHIVING → *: finish_dead_letter"]},
    )
    DEAD_LETTER_IS_QUEUED = Rule(
        "the dead-letter queue has each ARCHIVING record once its write is answered (KIP-1191)",
        "KIP-1191; Apache Kafka, SharePartition.maybeInitialize",
        "A record that has failed for good is in the queue until it is done with it, also under a "
        "new leader: without that it would hold the start offset back for ever.",
        asserts="queued",
        promises=("dead letters",),
        at_stake={"core": ["ARCHIVING → *: finish_dead_letter"]},
    )
    ONLY_COMMITTED_IS_ASKED_FOR = Rule(
        "records of aborted transactions are kept back under read_committed alone (KIP-932)",
        "KIP-932, Reading transactional records",
        "Aborted records are filtered out for a group whose isolation level is read_committed.",
        promises=("committed records",),
        at_stake={"core": ["archive_aborted is answered NONE"]},
    )
    ANSWER_COMES = Rule(
        "a write is answered, a dead letter archived, a log start in the log, in time",
        "KIP-932, WriteShareGroupState",
        "A caller is answered once its state is durable or could not be made so; what waits for"
        " that does not wait for ever.",
    )
    WRITE_IS_OUTSTANDING = Rule(
        "only an outstanding write can be completed",
        "KIP-932, WriteShareGroupState",
        "Each write is answered once.",
    )
    CHECKPOINT_IS_THE_STATE = Rule(
        "a checkpoint tells the state that the events before it lead to",
        "Of this project: docs/replay.md",
        "A checkpoint is the whole state of a share-partition, as the events before it made it.",
    )
    PARTITION_IS_INITIALIZED = Rule(
        "a share-partition is initialized before it is used",
        "KIP-932, Using the share coordinator from the share-partition leader",
        "A leader reads the durable state before it serves the first fetch.",
    )


class CoordinatorGuard(_RuleName):
    """A condition that every share coordinator must meet."""

    SNAPSHOT_ON_TIME = auto()
    PRUNED_IS_REDUNDANT = auto()
    PRUNING_GOES_ON = auto()
    IDLE_GETS_SNAPSHOT = auto()
    STATE_IS_ANSWERED = auto()
    STATE_IS_WRITTEN = auto()
    COORDINATOR_IS_FOUND = auto()


class Difference(_RuleName):
    """How a recorded event differs from what was expected; the value is its sentence."""

    STATUS = auto()
    ACQUIRED = auto()
    ACQUISITION = auto()
    MARKED = auto()
    WRITTEN_STATE = auto()
    WRITTEN_START_OFFSET = auto()
    WRITTEN_DELIVERY_COMPLETE_COUNT = auto()
    EXCEPTION = auto()
    COMPLETED = auto()
    PERSISTED = auto()
    START_OFFSET = auto()
    END_OFFSET = auto()
    DELIVERY_COMPLETE_COUNT = auto()
    RECORDS = auto()
