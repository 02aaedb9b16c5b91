"""Names of violations: guards of a choice, and kinds of difference from a recording."""

from enum import Enum


class Guard(Enum):
    """A condition that every implementation's choice must meet; the value is its sentence."""

    ONLY_AVAILABLE_IS_ACQUIRED = "only an AVAILABLE record is acquired (KIP-932, In-flight records)"
    NO_ACQUIRE_DURING_WRITE = "a record is not acquired while a write of its state is outstanding"
    ONLY_READ_IS_ACQUIRED = "only offsets that this fetch read from the log are acquired"
    NO_RECORD_LOST = "a read skips no record that the log holds: it would be lost (KIP-932)"
    READ_IS_OF_THE_LOG = "the log batches of a read are those that were produced, or parts of them"
    WITHIN_READABLE_LOG = (
        "a read ends at the log end offset, or under read_committed at the last stable offset"
    )
    NOT_BELOW_LOG_START = "no record below the log start offset is acquired (KIP-932)"
    WITHIN_RECORD_LIMIT = "record_limit acquires at most the maximum number of records (KIP-1206)"
    WITHIN_MAXIMUM_AND_ONE_BATCH = (
        "batch_optimized acquires at most the maximum and the rest of one log batch (KIP-1206)"
    )
    WITHIN_WINDOW_LIMIT = "the window grows within the record lock limit (KIP-932, Configuration)"
    NO_RECORD_SKIPPED = "the window grows over a record in the log only by taking it in flight"
    CAN_ACQUIRE = "a share-partition acquires nothing only if it is full and has none available"
    RECORD_IS_OFFERED = "an available record is acquired within so many fetches (KIP-932)"
    FINISHED_LEAVES_FULL_WINDOW = (
        "what is finished at the start of a full window leaves it within so many fetches (KIP-932)"
    )
    START_NEVER_GOES_BACK = "the share-partition start offset never decreases (KIP-932)"
    START_STOPS_AT_UNFINISHED = "the start offset never passes an unfinished record (KIP-932)"
    LOCK_LASTS_ITS_DURATION = "an acquisition lock does not expire before its duration (KIP-932)"
    LOCK_ENDS_ON_TIME = "an acquisition lock expires when its duration has elapsed (KIP-932)"
    ACKNOWLEDGEMENT_JUDGED = "an acknowledgement is accepted or refused as its records' states say"
    ACKNOWLEDGED_WAS_DELIVERED = "an acknowledgement of what was never delivered is refused"
    DEAD_LETTER_IS_ARCHIVING = (
        "only an ARCHIVING record leaves for the dead-letter queue (KIP-1191)"
    )
    ONLY_COMMITTED_IS_ASKED_FOR = (
        "records of aborted transactions are kept back under read_committed alone (KIP-932)"
    )
    ANSWER_COMES = "a write is answered, a dead letter archived, a log start in the log, in time"
    WRITE_IS_OUTSTANDING = "only an outstanding write can be completed"
    CHECKPOINT_IS_THE_STATE = "a checkpoint tells the state that the events before it lead to"
    PARTITION_IS_INITIALIZED = "a share-partition is initialized before it is used"


class CoordinatorGuard(Enum):
    """A condition that every choice of a share coordinator must meet."""

    SNAPSHOT_ON_TIME = "at most so many updates are written between snapshots (configuration)"
    PRUNED_IS_REDUNDANT = "only records before every latest snapshot are pruned (KIP-932)"


class Difference(Enum):
    """How a recorded event differs from what was expected; the value is its sentence."""

    STATUS = "the result of the operation"
    ACQUIRED = "the acquired records or their delivery counts"
    ACQUISITION = "the number of the acquisition, which a mark must name"
    MARKED = "the answers to the batches of records marked as in progress"
    WRITTEN_STATE = "the state and delivery count written for an offset"
    WRITTEN_START_OFFSET = "the start offset of a write"
    WRITTEN_DELIVERY_COMPLETE_COUNT = "the delivery complete count of a write"
    EXCEPTION = "the operation threw an exception in place of an answer"
    COMPLETED = "the earlier calls that were answered"
    PERSISTED = "the durable state that a new leader read"
    START_OFFSET = "the share-partition start offset after the event"
    END_OFFSET = "the share-partition end offset after the event"
    DELIVERY_COMPLETE_COUNT = "the delivery complete count after the event"
    RECORDS = "the state, delivery count, owner or pending write of a record after the event"
