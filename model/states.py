"""Record states, acknowledge types and acquire modes, with the ids that Kafka gives them."""

from enum import IntEnum, StrEnum


class RecordState(IntEnum):
    """The state of one record in a share-partition (KIP-932, In-flight records).

    The ids are those of ``DeliveryState`` in WriteShareGroupState. ARCHIVING exists only with a
    dead-letter queue (KIP-1191), IN_PROGRESS only under a profile that has it (KAFKA-20458).
    """

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4
    IN_PROGRESS = 5


HELD_STATES = frozenset({RecordState.ACQUIRED, RecordState.IN_PROGRESS})
"""While a record is in one of these, a member holds it under a lock, unless a write is pending."""

TERMINAL_STATES = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})
"""No committed record leaves one of these states."""

PERSISTED_STATES = frozenset({RecordState.AVAILABLE, RecordState.ARCHIVING, *TERMINAL_STATES})
"""What a leader writes to the share coordinator: who holds a record is never durable (KIP-932)."""

DURABLE_STATES = PERSISTED_STATES | {RecordState.IN_PROGRESS}
"""What may be read from it: a leader that follows the draft as written writes IN_PROGRESS too."""


class AcknowledgeType(IntEnum):
    """How a consumer acknowledges one record (KIP-932, ShareAcknowledge; RENEW from KIP-1222)."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class AcquireMode(StrEnum):
    """How strictly a fetch keeps to its maximum number of records (KIP-1206)."""

    BATCH_OPTIMIZED = "batch_optimized"
    RECORD_LIMIT = "record_limit"
