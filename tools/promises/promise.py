"""The promises of share groups, sentence by sentence, and the rules of the judge for each."""

import attrs

from model.guards import Difference, Guard

Rule = Guard | Difference


@attrs.frozen
class Promise:
    """What the KIPs promise: a sentence in short, its source, and the rules that stand for it."""

    name: str
    source: str
    sentence: str
    rules: tuple[Rule, ...]


_FLIGHT = "KIP-932, In-flight records"
_ENDS = "KIP-932, Managing the SPSO and SPEO"
_DURABLE = "KIP-932, Managing durable share-partition state"
_ACKNOWLEDGE = "KIP-932, ShareAcknowledge"

_RECORD = (Difference.RECORDS, Difference.WRITTEN_STATE)

PROMISES = (
    Promise(
        "at least once",
        _FLIGHT,
        "The delivery behavior is at-least-once: no record that was produced is passed over.",
        (Guard.NO_RECORD_LOST, Guard.NO_RECORD_SKIPPED),
    ),
    Promise(
        "records of the log",
        "KIP-932, ShareFetch",
        "A fetch reads log batches as they were written, and acquires records of those it read.",
        (Guard.READ_IS_OF_THE_LOG, Guard.ONLY_READ_IS_ACQUIRED),
    ),
    Promise(
        "readable records",
        "KIP-932, Reading transactional records",
        "Nothing past the high watermark is delivered, nor under read_committed past the last "
        "stable offset.",
        (Guard.WITHIN_READABLE_LOG,),
    ),
    Promise(
        "committed records",
        "KIP-932, Reading transactional records",
        "Under read_committed a record of an aborted transaction is not delivered; the others are.",
        (
            Guard.ONLY_COMMITTED_IS_ASKED_FOR,
            Difference.ACQUIRED,
            Difference.DELIVERY_COMPLETE_COUNT,
            Difference.RECORDS,
        ),
    ),
    Promise(
        "log start",
        _ENDS,
        "Records below the log start offset are no longer in flight, and none is delivered.",
        (
            Guard.NOT_BELOW_LOG_START,
            Guard.START_NEVER_GOES_BACK,
            Guard.START_STOPS_AT_UNFINISHED,
            Difference.START_OFFSET,
        ),
    ),
    Promise(
        "one consumer",
        _FLIGHT,
        "A record is acquired for a specific consumer: only an Available record is acquired.",
        (Guard.ONLY_AVAILABLE_IS_ACQUIRED,),
    ),
    Promise(
        "complete is final",
        _FLIGHT,
        "An Acknowledged or Archived record is not eligible for delivery.",
        (
            Guard.ONLY_AVAILABLE_IS_ACQUIRED,
            Difference.RECORDS,
            Difference.DELIVERY_COMPLETE_COUNT,
        ),
    ),
    Promise(
        "no delivery during a write",
        _DURABLE,
        "What a record becomes is settled by the answer to its write; until then it is kept back.",
        (Guard.NO_ACQUIRE_DURING_WRITE,),
    ),
    Promise(
        "delivery count",
        _FLIGHT,
        "Acquiring a record bumps its delivery count, by one; nothing else changes it.",
        (Difference.ACQUIRED, *_RECORD),
    ),
    Promise(
        "delivery limit",
        _FLIGHT,
        "If the delivery count has reached the limit, the record moves into Archived state; if "
        "not, back into Available state.",
        _RECORD,
    ),
    Promise(
        "maximum of records",
        "KIP-1206",
        "record_limit acquires at most MaxRecords; batch_optimized may complete one log batch.",
        (Guard.WITHIN_RECORD_LIMIT, Guard.WITHIN_MAXIMUM_AND_ONE_BATCH),
    ),
    Promise(
        "limit of the window",
        _ENDS,
        "The share-partition leader limits the distance between the SPSO and the SPEO.",
        (Guard.WITHIN_WINDOW_LIMIT,),
    ),
    Promise(
        "available is delivered",
        _FLIGHT,
        "A fetch starts at the SPSO and finds Available records: each is offered in its turn.",
        (Guard.RECORD_IS_OFFERED, Guard.CAN_ACQUIRE),
    ),
    Promise(
        "the window slides",
        _ENDS,
        "The window slides as records are consumed: a full window does not stay full of them.",
        (Guard.FINISHED_LEAVES_FULL_WINDOW,),
    ),
    Promise(
        "start offset",
        _ENDS,
        "The SPSO moves forwards, and only past records whose delivery is complete.",
        (Guard.START_NEVER_GOES_BACK, Guard.START_STOPS_AT_UNFINISHED),
    ),
    Promise(
        "acquisition lock",
        _FLIGHT,
        "A record is acquired with a time-limited lock: it elapses after its duration.",
        (Guard.LOCK_LASTS_ITS_DURATION, Guard.LOCK_ENDS_ON_TIME),
    ),
    Promise(
        "renewal",
        "KIP-1222",
        "A renewal extends the lock by its duration from now, and does nothing else.",
        (
            Guard.LOCK_LASTS_ITS_DURATION,
            Guard.LOCK_ENDS_ON_TIME,
            Guard.ACKNOWLEDGEMENT_JUDGED,
            Difference.RECORDS,
        ),
    ),
    Promise(
        "the owner acknowledges",
        _ACKNOWLEDGE,
        "The member that acquired a record may acknowledge it, and nobody else.",
        (Guard.ACKNOWLEDGEMENT_JUDGED,),
    ),
    Promise(
        "what was delivered is acknowledged",
        _ACKNOWLEDGE,
        "An acknowledgement of what was never delivered is refused.",
        (Guard.ACKNOWLEDGED_WAS_DELIVERED,),
    ),
    Promise(
        "all or none",
        _ACKNOWLEDGE,
        "A request that is refused changes no record.",
        (Difference.RECORDS, Difference.START_OFFSET, Difference.DELIVERY_COMPLETE_COUNT),
    ),
    Promise(
        "acknowledge types",
        _ACKNOWLEDGE,
        "Accept acknowledges a record, release makes it available, reject and gap archive it.",
        _RECORD,
    ),
    Promise(
        "leaving releases",
        "KIP-932, Group membership",
        "The records that a member holds are released when it leaves, and no others.",
        _RECORD,
    ),
    Promise(
        "answers of writes",
        _DURABLE,
        "A change holds if its write succeeds and is undone if not, and its caller is told which.",
        (
            Difference.RECORDS,
            Difference.COMPLETED,
            Difference.DELIVERY_COMPLETE_COUNT,
            Difference.START_OFFSET,
        ),
    ),
    Promise(
        "what is written",
        "KIP-932, WriteShareGroupState",
        "A write carries the start offset, and state and delivery count of each changed record.",
        (Difference.WRITTEN_STATE, Difference.WRITTEN_START_OFFSET),
    ),
    Promise(
        "durable state",
        _DURABLE,
        "What was written is what the next leader reads, and it goes on from there.",
        (
            Difference.PERSISTED,
            Guard.START_NEVER_GOES_BACK,
            Difference.RECORDS,
            Difference.START_OFFSET,
            Difference.END_OFFSET,
            Difference.DELIVERY_COMPLETE_COUNT,
        ),
    ),
    Promise(
        "delivery complete count",
        "KIP-1226, Persistence",
        "The count is of Acknowledged and Archived records in flight; offsets without a record "
        "stay in the lag.",
        (Difference.DELIVERY_COMPLETE_COUNT, Difference.WRITTEN_DELIVERY_COMPLETE_COUNT),
    ),
    Promise(
        "altered offsets",
        _ENDS,
        "Resetting the SPSO of an empty group discards all in-flight state and delivery counts.",
        (
            Difference.STATUS,
            Difference.START_OFFSET,
            Difference.END_OFFSET,
            Difference.RECORDS,
            Difference.DELIVERY_COMPLETE_COUNT,
        ),
    ),
    Promise(
        "dead letters",
        "KIP-1191",
        "A record that has failed for good goes to the dead-letter queue and then is archived.",
        (*_RECORD, Guard.DEAD_LETTER_IS_ARCHIVING, Difference.DELIVERY_COMPLETE_COUNT),
    ),
)
"""Every promise, in the order of the KIPs' subjects."""

PROMISE = {promise.name: promise for promise in PROMISES}
"""The promises by name."""
