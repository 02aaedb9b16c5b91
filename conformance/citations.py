"""The source of each rule: a part of a KIP or of Apache Kafka, with its statement in a sentence.

One table for every rule that a deviation can name, and one for the transitions of a record: what
is wrong with a transition is cited before the kind of difference that shows it.
"""

from conformance.cores import cause
from conformance.deviation import CRASHED, UNREADABLE, Citation, Deviation
from judge.follower import DISAGREEMENT
from model.guards import Difference, Guard

_RECORDS = "KIP-932, In-flight records"
_ENDS = "KIP-932, Managing the SPSO and SPEO"
_DURABLE = "KIP-932, Managing durable share-partition state"
_WRITE = "KIP-932, WriteShareGroupState"
_ACKNOWLEDGE = "KIP-932, ShareAcknowledge"
_FETCH = "KIP-932, ShareFetch"
_DESCRIBE = "KIP-1226, DescribeShareGroupOffsets"
_LAG = "KIP-1226, Share Partition Lag Computation"
_LAG_WRITE = "KIP-1226, Persistence"
_QUEUE = "KIP-1191"
DRAFT = "KAFKA-20458, the draft of IN_PROGRESS"
"""Source of the rules for IN_PROGRESS marks, which the kit does not request."""

_STATES = Citation(
    _RECORDS,
    "A record is available, acquired under a time-limited lock, acknowledged or archived, and "
    "moves between these states only by being acquired, accepted, released, rejected, or by its "
    "lock elapsing.",
)
_LOCK = Citation(
    _RECORDS,
    "An acquired record is in the hands of one consumer, as long as its acquisition lock lasts.",
)
_COUNT = Citation(
    _RECORDS,
    "Acquiring a record adds one to its delivery count; a record whose count has reached the "
    "delivery limit is not delivered again.",
)
_ONE_WRITE = Citation(
    "Apache Kafka, InFlightState",
    "While a new state is being written it can be undone; what it was before is kept until the "
    "write is answered, and no longer.",
)
_HOLDING = Citation(
    _RECORDS,
    "The records in flight are those from the share-partition start offset up to the end offset.",
)

_GUARDS = {
    Guard.ONLY_AVAILABLE_IS_ACQUIRED: Citation(
        _RECORDS,
        "A fetch starts at the start offset, finds available records, and acquires those.",
    ),
    Guard.NO_ACQUIRE_DURING_WRITE: Citation(
        "Apache Kafka, SharePartition.acquire",
        "A record with an outstanding state transition is passed over: whether it is available is "
        "not known until the write is answered.",
    ),
    Guard.ONLY_READ_IS_ACQUIRED: Citation(
        f"{_FETCH}; AcquiredRecords",
        "The acquired records of an answer are among the records that it carries.",
    ),
    Guard.NO_RECORD_LOST: Citation(
        "KIP-932, Motivation; In-flight records",
        "Every record is delivered at least once: what was produced is read until compaction or "
        "the log start offset takes it away.",
    ),
    Guard.READ_IS_OF_THE_LOG: Citation(
        _FETCH,
        "A fetch reads the log batches that producers wrote.",
    ),
    Guard.WITHIN_READABLE_LOG: Citation(
        "KIP-932, Reading transactional records",
        "A fetch reads up to the high watermark, or for a group whose isolation level is "
        "read_committed up to the last stable offset.",
    ),
    Guard.NOT_BELOW_LOG_START: Citation(
        _ENDS,
        "Records below the log start offset are gone, so none of them is delivered.",
    ),
    Guard.WITHIN_MAXIMUM_AND_ONE_BATCH: Citation(
        "KIP-1206",
        "With the acquire mode batch_optimized the maximum may be exceeded to end at the end of a "
        "log batch, and by no more.",
    ),
    Guard.RECORD_IS_OFFERED: Citation(
        _RECORDS,
        "A fetch starts at the start offset and finds available records, so that each of them is "
        "delivered in its turn.",
    ),
    Guard.FINISHED_LEAVES_FULL_WINDOW: Citation(
        _ENDS,
        "The start offset advances over records that are finished, which makes room for others.",
    ),
    Guard.ACKNOWLEDGED_WAS_DELIVERED: Citation(
        _ACKNOWLEDGE,
        "A consumer acknowledges records that it was given; those after the end offset were given "
        "to nobody.",
    ),
    Guard.WITHIN_RECORD_LIMIT: Citation(
        "KIP-1206",
        "With the acquire mode record_limit no more records are acquired than the request allows.",
    ),
    Guard.WITHIN_WINDOW_LIMIT: Citation(
        f"{_RECORDS}; Configuration",
        "The leader limits the distance between start and end offset to the configured number of "
        "record locks.",
    ),
    Guard.NO_RECORD_SKIPPED: Citation(
        _HOLDING.source,
        "The end offset advances as records are fetched; what lies before it in the log is in "
        "flight, what lies after it available and not yet being delivered.",
    ),
    Guard.CAN_ACQUIRE: Citation(
        "Apache Kafka, SharePartition.canAcquireRecords",
        "A share-partition refuses a fetch only where the window is full and nothing in it is "
        "available.",
    ),
    Guard.START_NEVER_GOES_BACK: Citation(
        _ENDS,
        "The window slides forward as records are consumed; only an administrator resets the start "
        "offset, of a group without members.",
    ),
    Guard.START_STOPS_AT_UNFINISHED: Citation(
        _ENDS,
        "Records before the start offset are archived, so it does not pass one that may yet be "
        "delivered or acknowledged.",
    ),
    Guard.LOCK_LASTS_ITS_DURATION: Citation(
        f"{_RECORDS}; Configuration",
        "The acquisition lock lasts for the configured duration, counted from the acquisition or "
        "the last renewal.",
    ),
    Guard.LOCK_ENDS_ON_TIME: Citation(
        _RECORDS,
        "When the acquisition lock elapses, the attempt has failed, and the record is available "
        "again or at its delivery limit archived.",
    ),
    Guard.ACKNOWLEDGEMENT_JUDGED: Citation(
        f"{_ACKNOWLEDGE}; Apache Kafka, SharePartition.acknowledge",
        "An acknowledgement of a record that its sender does not hold is INVALID_RECORD_STATE, a "
        "malformed one INVALID_REQUEST; any other is accepted.",
    ),
    Guard.ONLY_COMMITTED_IS_ASKED_FOR: Citation(
        "KIP-932, Reading transactional records",
        "Aborted records are filtered out for a group whose isolation level is read_committed.",
    ),
    Guard.DEAD_LETTER_IS_ARCHIVING: Citation(
        _QUEUE, "A record that has failed for good is ARCHIVING until the queue is done with it."
    ),
    Guard.ANSWER_COMES: Citation(
        _WRITE,
        "A caller is answered once its state is durable or could not be made so; what waits for "
        "that does not wait for ever.",
    ),
    Guard.WRITE_IS_OUTSTANDING: Citation(_WRITE, "Each write is answered once."),
    Guard.CHECKPOINT_IS_THE_STATE: Citation(
        "Of this project: docs/replay.md",
        "A checkpoint is the whole state of a share-partition, as the events before it made it.",
    ),
    Guard.PARTITION_IS_INITIALIZED: Citation(
        "KIP-932, Using the share coordinator from the share-partition leader",
        "A leader reads the durable state before it serves the first fetch.",
    ),
}

_DIFFERENCES = {
    Difference.STATUS: Citation(
        f"{_DURABLE}; {_ACKNOWLEDGE}",
        "An operation that changes durable state is answered with the result of its write, and "
        "not before it; one that does not is answered at once.",
    ),
    Difference.ACQUIRED: Citation(
        f"{_FETCH}; AcquiredRecords",
        "The answer names the acquired records in ascending order, each with its delivery count, "
        "this delivery included.",
    ),
    Difference.ACQUISITION: Citation(DRAFT, "A mark names the delivery that it belongs to."),
    Difference.MARKED: Citation(DRAFT, "Each batch of a mark has an answer of its own."),
    Difference.WRITTEN_STATE: Citation(
        _WRITE,
        "A change of state is written with the state and delivery count of each of its records.",
    ),
    Difference.WRITTEN_START_OFFSET: Citation(
        f"{_WRITE}; {_LAG_WRITE}",
        "A write carries the start offset as it stands when the write is made.",
    ),
    Difference.WRITTEN_DELIVERY_COMPLETE_COUNT: Citation(
        _LAG_WRITE,
        "A write carries the number of records in flight whose delivery is complete, counted from "
        "the start offset beside it.",
    ),
    Difference.COMPLETED: Citation(
        _DURABLE, "A caller is answered when the write of its change is, with the same result."
    ),
    Difference.EXCEPTION: Citation(
        f"{_FETCH}; {_ACKNOWLEDGE}",
        "Every request has a response, with an error code where it cannot be served.",
    ),
    Difference.PERSISTED: Citation(
        "KIP-932, ReadShareGroupState; Apache Kafka, PersisterStateBatchCombiner",
        "A new leader reads what the writes that succeeded come to.",
    ),
    Difference.START_OFFSET: Citation(_ENDS, "The start offset moves as records are consumed."),
    Difference.END_OFFSET: Citation(
        _HOLDING.source, "The end offset advances as records are fetched beyond it."
    ),
    Difference.DELIVERY_COMPLETE_COUNT: Citation(
        _LAG,
        "Records in flight that are acknowledged or archived need no further delivery; the lag "
        "leaves them out.",
    ),
    Difference.RECORDS: _STATES,
}

_INVARIANTS = {
    "owner_iff_held": _LOCK,
    "deadline_iff_held": _LOCK,
    "held_is_not_pending": _ONE_WRITE,
    "delivery_count_within_limit": _COUNT,
    "available_can_be_delivered": _COUNT,
    "held_was_delivered": _COUNT,
    "former_owner_only_if_pending": _ONE_WRITE,
    "former_lock_is_whole": _ONE_WRITE,
    "pending_was_delivered": _ONE_WRITE,
    "state_is_of_the_table": _STATES,
    "progress_iff_in_progress": Citation(DRAFT, "Only a record IN_PROGRESS was marked."),
    "progress_is_in_order": Citation(DRAFT, "A mark takes note of the time at which it was made."),
    "acquisition_only_if_held_or_pending": Citation(DRAFT, "A delivery ends with its lock."),
    "progress_has_an_acquisition": Citation(DRAFT, "A mark names the delivery it belongs to."),
    "window_is_ordered": _HOLDING,
    "records_lie_in_the_window": _HOLDING,
    "window_ends_with_a_record": _HOLDING,
    "counts_follow_the_records": _HOLDING,
    "complete_count_within_window": Citation(
        _LAG, "The delivery complete count is of records in flight."
    ),
    "lag_counts_the_unfinished": Citation(
        f"{_LAG}; Handling Control and Compacted Records",
        "The lag is what lies from the start offset to the end of the log, less what is processed.",
    ),
    "pending_iff_write_outstanding": _ONE_WRITE,
    "only_persisted_states_are_written": Citation(
        _DURABLE, "Who holds a record is not durable: it is written as available or not at all."
    ),
    "in_progress_only_where_it_is_allowed": Citation(DRAFT, "Records are marked only under it."),
    "held_has_an_acquisition": Citation(DRAFT, "A mark names the delivery it belongs to."),
    "acquired_is_never_durable": Citation(
        _DURABLE, "Who holds a record is not durable, nor is a record before the start offset."
    ),
    "durable_start_never_ahead": Citation(
        _WRITE, "What is durable of the start offset was written by a leader that had reached it."
    ),
}

_KIT = {
    CRASHED: Citation(
        f"{_FETCH}; {_ACKNOWLEDGE}",
        "Every request has a response, with an error code where it cannot be served.",
    ),
    UNREADABLE: Citation(
        "Kafka protocol guide; KIP-932, ShareFetch",
        "Offsets, delivery counts and states are of known kinds and within their bounds.",
    ),
    DISAGREEMENT: Citation("Of this project", "The specification and the implementation agree."),
}

_BROKER = {
    "SESSION_ERROR": Citation(
        f"{_FETCH}; Share sessions",
        "A request names the next epoch of its share session; another is refused, and so is a "
        "request whose form is wrong.",
    ),
    "FETCH_ERROR": Citation(
        _FETCH, "A share-partition that cannot be fetched from has an error code of its own."
    ),
    "ACKNOWLEDGE_ERROR": Citation(
        f"{_FETCH}; ShareAcknowledge",
        "Acknowledgements have an error code of their own in each share-partition of a response.",
    ),
    "DELIVERY_COUNT": _COUNT,
    "ONLY_LOGGED_IS_ACQUIRED": Citation(
        _HOLDING.source, "The records of a share-partition are those of its topic-partition."
    ),
    "COMMITTED_IS_DELIVERED": Citation(
        "KIP-932, Group configuration",
        "Under read_committed the records of committed transactions only are delivered.",
    ),
    "STABLE_IS_DELIVERED": Citation(
        "KIP-932, Reading transactional records",
        "Under read_committed consumption is bounded by the last stable offset, so that an open "
        "transaction blocks the progress of the share group.",
    ),
    "ACQUIRED_IS_SENT": Citation(
        f"{_FETCH}; AcquiredRecords",
        "A response carries the records that it says are acquired.",
    ),
    "SENT_AS_WRITTEN": Citation(f"{_FETCH}; Records", "A response carries the record data."),
    "FETCH_WAITS": Citation(
        f"{_FETCH}; MaxWaitMs, MinBytes",
        "A request has the bytes to accumulate in its response, and the time to wait for them.",
    ),
    "ANSWERED_ONCE": Citation(
        f"{_FETCH}; Responses", "A response has one entry for a share-partition, with all about it."
    ),
    "SENT_ONCE": Citation(
        f"{_FETCH}; Records", "The records of a response are of ascending offsets."
    ),
    "UNANSWERED": Citation(_FETCH, "A request has a response, with an error code where it failed."),
    "LEADER_SERVES": Citation(
        f"{_FETCH}; ErrorCode",
        "A broker that leads a partition serves its share-partitions; others say that they do not.",
    ),
    "AVAILABLE_RECORDS_ARE_DELIVERED": Citation(
        _RECORDS, "A record that is available is eligible for delivery to the next who fetches."
    ),
    "LOCK_TIMEOUT": Citation(_FETCH, "A response says how long its acquisition locks last."),
    "DESCRIBED": Citation(
        _DESCRIBE, "A response has the share-partition start offset of each partition asked for."
    ),
    "LEADER_EPOCH": Citation(_DESCRIBE, "The leader epoch is that of the partition."),
    "LAG": Citation(
        _LAG,
        "The lag is what lies from the start offset to the end of the log, less what is processed.",
    ),
}
"""Rules for the answers of a broker."""

CITATIONS: dict[str, Citation] = {
    **{guard.name: citation for guard, citation in _GUARDS.items()},
    **{difference.name: citation for difference, citation in _DIFFERENCES.items()},
    **_INVARIANTS,
    **_BROKER,
    **_KIT,
}
"""Citations by the name of the rule."""


TRANSITIONS: dict[str, Citation] = {
    cause.AT_LIMIT: Citation(
        _RECORDS,
        "When a delivery attempt fails and the delivery count has reached the limit, the record "
        "moves into Archived state and is not eligible for additional delivery attempts.",
    ),
    cause.BELOW_LIMIT: Citation(
        _RECORDS,
        "If the delivery count has not reached the limit, the record moves back into Available "
        "state and can be delivered again.",
    ),
    cause.FAILS: Citation(
        _RECORDS,
        "If the consumer cannot process a record or its acquisition lock elapses, the delivery "
        "attempt completes unsuccessfully and the record's next state depends on the delivery "
        "count, which only an acquisition changes.",
    ),
    cause.ACQUIRED: Citation(
        _RECORDS,
        "Each record that a fetch finds moves into Acquired state, and its delivery count goes up "
        "by one.",
    ),
    cause.ACCEPTED: Citation(
        _RECORDS,
        "The delivery attempt completes successfully and the records move into Acknowledged state.",
    ),
    cause.REJECTED: Citation(
        _RECORDS, "A record that a consumer rejects as unprocessable moves into Archived state."
    ),
    cause.GAP: Citation(
        "KIP-1226, Handling Control and Compacted Records",
        "An offset that is acknowledged as a gap needs no delivery, and leaves the lag.",
    ),
    cause.RENEWED: Citation(
        "KIP-1222", "A renewal gives a new acquisition lock, and changes no state of a record."
    ),
    cause.REFUSED: Citation(
        "Of this project: docs/decisions.md, decision 19",
        "An acknowledgement of which one record is refused changes none of them.",
    ),
    cause.OTHERS: Citation(
        _ACKNOWLEDGE, "An acknowledgement changes the records that it names, and no other."
    ),
    cause.WRITE_FAILS: Citation(
        "Apache Kafka, InFlightState",
        "A state whose write fails is undone: the record is what it was before, or if its lock is "
        "over meanwhile what becomes of a delivery that fails.",
    ),
    cause.WRITE_SUCCEEDS: Citation(
        _DURABLE, "A change of state that is written takes effect, and stays."
    ),
    cause.WRITTEN: Citation(
        "KIP-932, Using the share coordinator from the share-partition leader",
        "A change of durable state, because of an acknowledgement or of a lock timeout, is written "
        "to the share coordinator.",
    ),
    cause.READ: Citation(
        "KIP-932, ReadShareGroupState", "A new leader begins with the durable state that it reads."
    ),
    cause.LOG_START: Citation(
        "KIP-932, Log retention",
        "If the start offset is within what the log deletes, it advances with the log start; the "
        "records that the log keeps stay as they are.",
    ),
    cause.DEAD_LETTER: Citation(
        _QUEUE, "A record that has failed for good is ARCHIVING until the queue is done with it."
    ),
    cause.ABORTED: Citation(
        "KIP-932, Reading transactional records",
        "Records of aborted transactions are not eligible to be in flight under read_committed.",
    ),
    cause.ALTERED: Citation(
        "KIP-1240",
        "The delivery count limit is read when a delivery attempt completes, so that an altered "
        "limit changes no record by itself.",
    ),
    cause.PRODUCED: Citation(
        _HOLDING.source, "Records after the end offset are not in flight until they are fetched."
    ),
}
"""Citations by the transition that a probable cause begins with."""


def cited(deviation: Deviation) -> Citation | None:
    """Return the vector's own sentence, or that of the transition at fault, or that of the rule."""
    transition = deviation.probable_cause[0]
    return deviation.rests_on or TRANSITIONS.get(transition) or citation_of(deviation.broken)


def citation_of(rule: str) -> Citation | None:
    """Return the citation of a rule; None for a rule that is not of this project."""
    return CITATIONS.get(rule)
