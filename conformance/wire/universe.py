"""What a search of a broker can meet: every answer, the situations, the rules.

Declared here by name, so that a report can say what was not met; ``situations`` and ``exercised``
count by the same names. Each says what a broker must be able to do for it.
"""

from collections.abc import Iterator

from conformance.cores.universe import Group, Item, answer_name
from conformance.wire.target import WireCapabilities
from model.states import AcknowledgeType, AcquireMode

__all__ = [
    "ACKNOWLEDGE",
    "AT_STAKE",
    "CLOSED",
    "CONNECTION_LOST",
    "DESCRIBE",
    "FETCH",
    "FETCHING",
    "KEPT_BACK",
    "LOCK_OVER",
    "NEVER_ASKED",
    "RELEASED",
    "acknowledging",
    "acquires_name",
    "closed_name",
    "deleted_name",
    "given_up_name",
    "lacking",
    "lag_name",
    "redelivered_name",
    "type_name",
    "universe",
]

FETCH, ACKNOWLEDGE, DESCRIBE = "ShareFetch", "ShareAcknowledge", "DescribeShareGroupOffsets"
FETCHING = "the fetch from a share-partition"

KEPT_BACK = "a fetch keeps back records of an aborted transaction"
RELEASED = "after it was released"
LOCK_OVER = "after its lock was over"
CLOSED = "after its session was closed"
CONNECTION_LOST = "after its connection was lost"


def acknowledging(api: str) -> str:
    """Return what is answered where a request acknowledges at one share-partition."""
    return f"an acknowledgement in {api}"


def type_name(api: str, kind: AcknowledgeType) -> str:
    """Return the name of an acknowledge type that is accepted for a record that is held."""
    return f"{api} acknowledges with {kind.name}"


def acquires_name(mode: AcquireMode) -> str:
    """Return the name of an acquisition in an acquire mode."""
    return f"a fetch acquires records under {mode.value}"


def redelivered_name(why: str, *, other: bool) -> str:
    """Return the name of another delivery of a record: why it was free, and to whom."""
    whom = "another member" if other else "the member that had it"
    return f"a record is delivered again, {why}, to {whom}"


def given_up_name(why: str) -> str:
    """Return the name of the end of a record at its delivery limit."""
    return f"a record at its delivery limit is delivered no more, {why}"


def closed_name(api: str, *, acknowledges: bool) -> str:
    """Return the name of the end of a session by a request."""
    return f"a session is closed by {api}, which acknowledges{'' if acknowledges else ' nothing'}"


def deleted_name(what: str) -> str:
    """Return the name of a deletion of records."""
    return f"records are deleted: {what}"


def lag_name(what: str) -> str:
    """Return the name of a situation in which a lag is told."""
    return f"the lag is told {what}"


def lacking(item: Item, can: WireCapabilities) -> str:
    """Return why a broker cannot meet an item, or the kit cannot; empty if both can."""
    if item.name in NEVER_ASKED:
        return f"the kit does not ask for it: {NEVER_ASKED[item.name]}"
    modes = {mode.value: mode.value in can.acquire_modes for mode in AcquireMode}
    missing = [need for need in item.needs if not modes.get(need, getattr(can, need, False))]
    return f"it cannot: {', '.join(missing)}" if missing else ""


NEVER_ASKED = {
    answer_name(FETCH, "SHARE_SESSION_LIMIT_REACHED"): "there are three members at most",
    answer_name(ACKNOWLEDGE, "INVALID_REQUEST"): "locks are renewed in version 2 alone",
}
"""What the rules have, and no sequence can meet, with the reasons."""


def universe() -> tuple[Item, ...]:
    """Return everything that can be met, also what a broker cannot do."""
    return (*_ANSWERS, *_SITUATIONS, *_rules())


def _answers() -> Iterator[Item]:
    for api in (FETCH, ACKNOWLEDGE):
        yield Item(Group.ANSWER, answer_name(api, "NONE"))
        yield Item(Group.ANSWER, answer_name(api, "INVALID_REQUEST"), _SESSIONS)
        yield Item(Group.ANSWER, answer_name(api, "SHARE_SESSION_NOT_FOUND"), _SESSIONS)
        yield Item(Group.ANSWER, answer_name(api, "INVALID_SHARE_SESSION_EPOCH"), _SESSIONS)
    yield Item(Group.ANSWER, answer_name(FETCH, "SHARE_SESSION_LIMIT_REACHED"), _SESSIONS)
    unknown = ("UNKNOWN_TOPIC_ID", "UNKNOWN_TOPIC_OR_PARTITION")
    for error in ("NONE", *unknown):
        yield Item(Group.ANSWER, answer_name(FETCHING, error))
    for api in (FETCH, ACKNOWLEDGE):
        for error in ("NONE", "INVALID_RECORD_STATE", "INVALID_REQUEST", *unknown):
            yield Item(Group.ANSWER, answer_name(acknowledging(api), error))
    yield Item(Group.ANSWER, answer_name(DESCRIBE, "NONE"), _OFFSETS)


def _met(name: str, *needs: str, free: bool = False) -> Item:
    return Item(Group.SITUATION, name, needs, free)


_SESSIONS, _OFFSETS, _LAG = ("sessions",), ("offsets",), ("offsets", "lag")
_ABORTED = ("aborted", "config")
_DELETE, _GAPS, _RENEW = ("delete_records",), ("gaps",), ("renew",)
_ANSWERS = tuple(_answers())
_SITUATIONS = (
    # Fetching.
    *(_met(acquires_name(mode), mode.value) for mode in AcquireMode),
    _met("a fetch acquires nothing"),
    _met("a fetch passes over records that are held"),
    _met("a fetch passes over records that are finished"),
    _met("a fetch is stopped by its maximum of records", AcquireMode.RECORD_LIMIT.value),
    _met(
        "a fetch goes past its maximum of records, to the end of a log batch",
        AcquireMode.BATCH_OPTIMIZED.value,
    ),
    _met("a fetch finds the window full and nothing available"),
    _met("a fetch takes what is available again in a full window"),
    _met("a fetch is stopped by the limit of the window"),
    _met("a fetch goes past the limit of the window, to the end of a log batch", free=True),
    _met("a fetch takes records on both sides of a gap in the log", *_GAPS),
    _met("a fetch acquires the marker of a transaction", *_GAPS, free=True),
    _met("a fetch acquires records after some were deleted", *_DELETE),
    _met(KEPT_BACK, *_ABORTED),
    _met("a response has records of two share-partitions"),
    _met("records are held by several members"),
    # Deliveries.
    _met("a record is delivered for the last time"),
    *(
        _met(redelivered_name(why, other=other), *needs)
        for why, needs in (
            (RELEASED, ()),
            (LOCK_OVER, ()),
            (CLOSED, _SESSIONS),
            (CONNECTION_LOST, _SESSIONS),
        )
        for other in (False, True)
    ),
    _met(given_up_name(RELEASED)),
    _met(given_up_name(LOCK_OVER)),
    _met(given_up_name(CLOSED), *_SESSIONS),
    _met(given_up_name(CONNECTION_LOST), *_SESSIONS),
    # Acknowledging.
    *(
        _met(type_name(api, kind), *(_RENEW if kind is AcknowledgeType.RENEW else ()))
        for api in (FETCH, ACKNOWLEDGE)
        for kind in AcknowledgeType
    ),
    _met("a fetch acknowledges and acquires"),
    _met("a fetch acquires again what it releases"),
    _met("a request acknowledges at two share-partitions"),
    _met("an acknowledgement of several batches"),
    _met("an acknowledgement with a type for each offset"),
    _met("an acknowledgement of a record that another member holds"),
    _met("an acknowledgement of a record that is available"),
    _met("an acknowledgement of a record that is finished"),
    _met("an acknowledgement wholly below the start offset"),
    _met("an acknowledgement across the start offset"),
    _met("an acknowledgement past the end offset"),
    _met(
        "an acknowledgement of an offset in the window that was never in flight", *_GAPS, free=True
    ),
    _met("an acknowledgement of a record whose lock is over"),
    _met("an acknowledgement of a record that was deleted", *_DELETE),
    _met("an acknowledgement at a share-partition outside the session", *_SESSIONS),
    _met("an acknowledgement at a share-partition that is not in memory", *_SESSIONS, free=True),
    _met("a malformed acknowledgement: its range ends before it begins"),
    _met("a malformed acknowledgement: a negative offset"),
    _met("a malformed acknowledgement: no types"),
    _met("a malformed acknowledgement: too few or too many types"),
    _met("a malformed acknowledgement: a type that there is not"),
    _met("a renewal together with other types", *_RENEW),
    _met("a renewal that the request does not announce", *_RENEW),
    _met("a renewal after part of the lock's duration", *_RENEW),
    _met("a renewed lock is held when its first duration is over", *_RENEW),
    # Locks.
    _met("a request comes while a lock is held, after part of its duration"),
    _met("a request comes after a lock is over"),
    _met("a request comes after some locks are over, while others are held"),
    _met("a request comes after locks of several members are over"),
    # Sessions.
    _met("a session is opened"),
    _met("a session is opened in the place of another", *_SESSIONS),
    _met("a session is opened by a member that holds records", *_SESSIONS),
    _met("a session is opened again after it was closed", *_SESSIONS),
    _met("a session is opened again after its connection was lost", *_SESSIONS),
    _met("a session goes on"),
    _met("a session goes on over another connection", *_SESSIONS, free=True),
    _met("a session of two share-partitions goes on"),
    _met("a share-partition joins a session", *_SESSIONS),
    _met("a share-partition is forgotten", *_SESSIONS),
    _met("a share-partition is forgotten of which the member holds records", *_SESSIONS),
    *(
        _met(closed_name(api, acknowledges=acknowledges), *_SESSIONS)
        for api in (FETCH, ACKNOWLEDGE)
        for acknowledges in (True, False)
    ),
    _met("a session is closed while its member holds records", *_SESSIONS),
    _met("a session is lost with its connection", *_SESSIONS),
    _met("a session is lost with its connection while its member holds records", *_SESSIONS),
    _met("a request repeats an epoch", *_SESSIONS),
    _met("a request skips an epoch", *_SESSIONS),
    _met("a ShareAcknowledge would open a session", *_SESSIONS),
    _met("a fetch would open a session and acknowledge", *_SESSIONS),
    _met("a request without a session", *_SESSIONS),
    _met("a request without a session, after it was closed", *_SESSIONS),
    _met("a request without a session, after its connection was lost", *_SESSIONS),
    # The log.
    _met(deleted_name("below the start offset"), *_DELETE),
    _met(deleted_name("to the inside of the window"), *_DELETE),
    _met(deleted_name("to the inside of a log batch"), *_DELETE),
    _met(deleted_name("some that a member holds"), *_DELETE),
    _met(deleted_name("past the end of the window"), *_DELETE),
    _met(deleted_name("all"), *_DELETE),
    _met("the start offset passes a gap in the log", *_GAPS),
    _met("a finished record waits behind one that is not"),
    # What is told of the whole.
    _met("a start offset is told before there is one", *_OFFSETS),
    _met("a start offset is told", *_OFFSETS),
    _met(lag_name("of an empty log"), *_LAG),
    _met(lag_name("before anything was delivered"), *_LAG),
    _met(lag_name("while records are held"), *_LAG),
    _met(lag_name("while records are available again"), *_LAG),
    _met(lag_name("while a finished record waits behind one that is not"), *_LAG),
    _met(lag_name("while there are records after the window"), *_LAG),
    _met(lag_name("when every record is finished"), *_LAG),
    _met(lag_name("after records were deleted"), *_LAG, *_DELETE),
    _met(lag_name("of a log with gaps"), *_LAG, *_GAPS),
)


_ACQUIRES = tuple(acquires_name(mode) for mode in AcquireMode)
AT_STAKE: dict[str, tuple[str, ...]] = {
    "COMMITTED_IS_DELIVERED": (KEPT_BACK,),
    "UNANSWERED": (answer_name(FETCH, "NONE"), answer_name(ACKNOWLEDGE, "NONE")),
    "ANSWERED_ONCE": (answer_name(FETCH, "NONE"), answer_name(ACKNOWLEDGE, "NONE")),
    "SESSION_ERROR": (
        answer_name(FETCH, "INVALID_SHARE_SESSION_EPOCH"),
        answer_name(FETCH, "SHARE_SESSION_NOT_FOUND"),
        answer_name(ACKNOWLEDGE, "INVALID_SHARE_SESSION_EPOCH"),
        answer_name(ACKNOWLEDGE, "SHARE_SESSION_NOT_FOUND"),
    ),
    "FETCH_ERROR": (
        answer_name(FETCHING, "UNKNOWN_TOPIC_ID"),
        answer_name(FETCHING, "UNKNOWN_TOPIC_OR_PARTITION"),
    ),
    "ACKNOWLEDGE_ERROR": (
        answer_name(acknowledging(FETCH), "NONE"),
        answer_name(acknowledging(ACKNOWLEDGE), "NONE"),
    ),
    "ACQUIRED": (
        closed_name(FETCH, acknowledges=True),
        closed_name(FETCH, acknowledges=False),
        type_name(FETCH, AcknowledgeType.RENEW),
    ),
    "DELIVERY_COUNT": tuple(
        redelivered_name(why, other=other)
        for why in (RELEASED, LOCK_OVER, CLOSED, CONNECTION_LOST)
        for other in (False, True)
    ),
    "ONLY_LOGGED_IS_ACQUIRED": _ACQUIRES,
    "ACQUIRED_IS_SENT": _ACQUIRES,
    "SENT_ONCE": _ACQUIRES,
    "AVAILABLE_RECORDS_ARE_DELIVERED": _ACQUIRES,
    "LOCK_TIMEOUT": _ACQUIRES,
    "START_OFFSET": ("a start offset is told",),
    "LAG": (lag_name("while records are held"), lag_name("when every record is finished")),
    "ONLY_AVAILABLE_IS_ACQUIRED": (
        "a fetch passes over records that are held",
        "a fetch passes over records that are finished",
        *(given_up_name(why) for why in (RELEASED, LOCK_OVER, CLOSED, CONNECTION_LOST)),
    ),
    "ONLY_READ_IS_ACQUIRED": _ACQUIRES,
    "WITHIN_RECORD_LIMIT": ("a fetch is stopped by its maximum of records",),
    "WITHIN_WINDOW_LIMIT": ("a fetch is stopped by the limit of the window",),
    "NO_RECORD_SKIPPED": _ACQUIRES,
    "ACKNOWLEDGEMENT_JUDGED": tuple(
        answer_name(acknowledging(api), error)
        for api in (FETCH, ACKNOWLEDGE)
        for error in ("NONE", "INVALID_RECORD_STATE")
    ),
}
"""For each rule that shows on the wire the things of which any one puts it at stake."""


def _rules() -> Iterator[Item]:
    needs = {item.name: item.needs for item in (*_ANSWERS, *_SITUATIONS)}
    for rule, items in AT_STAKE.items():
        yield Item(Group.RULE, rule, min((needs[name] for name in items), key=len))
