"""What a search can meet: every transition of a record, every answer, the situations, the rules.

Declared here by name, so that a report can say what was not met; ``exercised`` counts by the same
names. Each says what an implementation must be able to do for it.
"""

from collections.abc import Iterator
from enum import StrEnum

import attrs

from conformance.cores.target import Capabilities
from model.states import AcquireMode

__all__ = [
    "AT_STAKE",
    "GONE",
    "ITS_TRANSACTION",
    "NEW",
    "Group",
    "Item",
    "answer_name",
    "lacking",
    "transition_name",
    "universe",
    "write_name",
]

ITS_TRANSACTION = "its transaction was aborted"
NEW, GONE = "never delivered", "below the start offset"
"""What is said of a record before its first delivery, and after the start offset has passed it."""


class Group(StrEnum):
    """What kind of thing can be met."""

    TRANSITION = "transitions of a record"
    ANSWER = "answers"
    SITUATION = "situations"
    RULE = "rules that could have been broken"


@attrs.frozen
class Item:
    """A thing that can be met. ``needs`` names capabilities; ``free``: it need not ever happen."""

    group: Group
    name: str
    needs: tuple[str, ...] = ()
    free: bool = False


def transition_name(before: str, cause: str, after: str) -> str:
    """Return the name of a transition of one record."""
    return f"{before} → {after}: {cause}"


def answer_name(operation: str, status: str) -> str:
    """Return the name of an answer to an operation."""
    return f"{operation} is answered {status}"


def write_name(operation: str, status: str) -> str:
    """Return the name of an answer to a write for which nobody waits."""
    return f"the write of {operation} is answered {status}"


def lacking(item: Item, can: Capabilities) -> str:
    """Return why an implementation cannot meet an item; empty if it can."""
    has = {
        "write_errors": bool(can.write_errors) and can.pending_writes,
        **{mode.value: mode.value in can.acquire_modes for mode in AcquireMode},
    }
    missing = [need for need in item.needs if not has.get(need, getattr(can, need, False))]
    return f"it cannot: {', '.join(missing)}" if missing else ""


def universe(can: Capabilities) -> tuple[Item, ...]:
    """Return everything that can be met, also what this implementation cannot do."""
    return (*_transitions(), *_answers(can), *_SITUATIONS, *_rules())


_WRITE, _FAIL, _DLQ = ("pending_writes",), ("write_errors",), ("dead_letter_queue",)
_LOG, _OVER, _ALTER = ("advance_log_start",), ("take_over",), ("alter_config",)
_ABORTED = ("aborted_transactions",)
_STRICT = ("validates_requests",)
_LIMIT, _OPTIMIZED = ("record_limit",), ("batch_optimized",)
_QUEUED = {"ARCHIVING": _DLQ, "ARCHIVING pending": (*_DLQ, *_WRITE)}
"""What a state needs to exist at all."""

_ENDS = {
    "accept": ("ACKNOWLEDGED",),
    "release": ("AVAILABLE", "ARCHIVED", "ARCHIVING"),
    "reject": ("ARCHIVED", "ARCHIVING"),
    "gap": ("ARCHIVED",),
    "its holder leaves": ("AVAILABLE", "ARCHIVED", "ARCHIVING"),
}
_WRITTEN = ("ACKNOWLEDGED", "AVAILABLE", "ARCHIVED", "ARCHIVING")
_ROLLED_BACK = {
    "ACKNOWLEDGED": ("ACQUIRED", "AVAILABLE", "ARCHIVED", "ARCHIVING"),
    "AVAILABLE": ("ACQUIRED", "AVAILABLE"),
    "ARCHIVED": ("ACQUIRED", "AVAILABLE", "ARCHIVED", "ARCHIVING"),
    "ARCHIVING": ("ACQUIRED", "AVAILABLE", "ARCHIVING"),
}
_TAKEN_OVER = {
    "ACQUIRED": (NEW, "AVAILABLE"),
    "AVAILABLE": (NEW, "AVAILABLE"),
    "ACKNOWLEDGED": ("ACKNOWLEDGED",),
    "ARCHIVED": (NEW, "AVAILABLE", "ARCHIVED", "ARCHIVING"),
    "ARCHIVING": (NEW, "AVAILABLE", "ARCHIVING"),
    "ACKNOWLEDGED pending": (NEW, "AVAILABLE"),
    "AVAILABLE pending": (NEW, "AVAILABLE"),
    "ARCHIVED pending": (NEW, "AVAILABLE"),
    "ARCHIVING pending": (NEW, "AVAILABLE"),
}


def _moved(before: str, cause: str, after: str, needs: tuple[str, ...] = ()) -> Item:
    states = (need for state in (before, after) for need in _QUEUED.get(state, ()))
    name = transition_name(before, cause, after)
    return Item(Group.TRANSITION, name, tuple(dict.fromkeys((*needs, *states))))


def _transitions() -> Iterator[Item]:
    yield _moved(NEW, "acquire", "ACQUIRED")
    yield _moved("AVAILABLE", "acquire", "ACQUIRED")
    yield _moved("ACQUIRED", "renew", "ACQUIRED", ("renew",))
    for cause, ends in _ENDS.items():
        yield from (_momentary("ACQUIRED", cause, f"{after} pending", after) for after in ends)
    for after in _ENDS["release"]:
        yield _moved("ACQUIRED", "its lock expires", after)
    yield from _written()
    yield _moved("ARCHIVING", "the dead-letter queue is done", "ARCHIVED")
    yield _moved("ACQUIRED", ITS_TRANSACTION, "ARCHIVED", _ABORTED)
    yield _moved("AVAILABLE", "the log has lost it", "ARCHIVED")
    name = transition_name(NEW, "the log has lost it", "ARCHIVED")
    yield Item(Group.TRANSITION, name, free=True)  # It entered the window without being acquired.
    yield _moved("AVAILABLE pending", "the log has lost it", "ARCHIVED pending", _WRITE)
    yield from _left()


def _momentary(before: str, cause: str, after: str, state: str) -> Item:
    """Return a transition to or from a state that is pending, if only for a moment.

    That is so even where a write is answered at once, so that it needs no writes that wait.
    """
    return Item(Group.TRANSITION, transition_name(before, cause, after), _QUEUED.get(state, ()))


def _written() -> Iterator[Item]:
    for state in _WRITTEN:
        yield _momentary(f"{state} pending", "its write succeeds", state, state)
        for after in _ROLLED_BACK[state]:
            yield _moved(f"{state} pending", "its write fails", after, _FAIL)


def _left() -> Iterator[Item]:
    """Yield how records leave the window, and what a new leader makes of them."""
    for state in ("ACKNOWLEDGED", "ARCHIVED"):
        yield _moved(state, "the start offset passes", GONE)
    for state in ("ACQUIRED", *_WRITTEN):
        yield _moved(state, "the log start offset passes", GONE, _LOG)
    for state in _WRITTEN:
        yield _moved(f"{state} pending", "the log start offset passes", GONE, (*_LOG, *_WRITE))
    for state, finds in _TAKEN_OVER.items():
        needs = (*_OVER, *(_WRITE if "pending" in state else ()))
        for after in finds:
            yield _moved(state, "a new leader reads", after, needs)


def _answers(can: Capabilities) -> Iterator[Item]:
    errors = [error.name for error in can.write_errors] or ["an error"]
    plain = ("initialize", "produce", "acquire", "advance_time")
    for operation in plain:
        yield Item(Group.ANSWER, answer_name(operation, "NONE"))
    yield Item(Group.ANSWER, answer_name("acquire", "skipped"))
    yield Item(Group.ANSWER, answer_name("advance_log_start", "NONE"), _LOG)
    yield Item(Group.ANSWER, answer_name("alter_config", "NONE"), _ALTER)
    yield Item(Group.ANSWER, answer_name("finish_dead_letter", "NONE"), _DLQ)
    yield Item(Group.ANSWER, answer_name("archive_aborted", "NONE"), _ABORTED)
    for status in ("INVALID_REQUEST", "INVALID_RECORD_STATE"):
        yield Item(Group.ANSWER, answer_name("acknowledge", status))
    for operation, needs in (("acknowledge", ()), ("release", ()), ("complete_write", _WRITE)):
        yield Item(Group.ANSWER, answer_name(operation, "NONE"), needs)
        if operation != "complete_write":
            yield Item(Group.ANSWER, answer_name(operation, "PENDING"), _WRITE)
        for error in errors:
            yield Item(Group.ANSWER, answer_name(operation, error), _FAIL)
    for operation, needs in (("an expiry", ()), ("a dead letter", _DLQ)):
        yield Item(Group.ANSWER, write_name(operation, "NONE"), needs)
        yield Item(Group.ANSWER, write_name(operation, "PENDING"), (*needs, *_WRITE))
        for error in errors:
            yield Item(Group.ANSWER, write_name(operation, error), (*needs, *_FAIL))


def _met(name: str, *needs: str, free: bool = False) -> Item:
    return Item(Group.SITUATION, name, needs, free)


_SITUATIONS = (
    # Fetching.
    _met("a fetch finds the window full and nothing available"),
    _met("a fetch takes what is available again in a full window"),
    _met("a fetch is stopped by the limit of the window"),
    _met("a fetch goes past the limit of the window, to the end of a log batch", free=True),
    _met("a fetch is stopped by its maximum of records", *_LIMIT),
    _met("a fetch goes past its maximum of records, to the end of a log batch", *_OPTIMIZED),
    _met("a fetch reads no log batch"),
    _met("a fetch reads over records that are held"),
    _met("a fetch reads over records whose write is outstanding", *_WRITE),
    _met("a fetch reads over records that are finished"),
    _met("a fetch reads a log batch that begins below the start offset"),
    _met("a fetch takes records on both sides of a gap in the log"),
    _met("a fetch takes a record that a new leader does not know", *_OVER),
    _met("records enter the window without being acquired", free=True),
    _met("a record is delivered for the last time"),
    # Acknowledging.
    _met("an acknowledgement of a record that another member holds"),
    _met("an acknowledgement of a record that is available"),
    _met("an acknowledgement of a record that is finished"),
    _met("an acknowledgement of a record whose write is outstanding", *_WRITE),
    _met("an acknowledgement wholly below the start offset"),
    _met("an acknowledgement across the start offset"),
    _met("an acknowledgement past the end offset"),
    _met("an acknowledgement of an offset in the window that was never in flight"),
    _met("an acknowledgement of several batches"),
    _met("an acknowledgement with a type for each offset"),
    _met("an acknowledgement refused after batches that were in order"),
    _met("a renewal after part of the lock's duration", "renew"),
    _met("a renewal together with other types", "renew"),
    _met("a renewal where renewals are switched off", "renew", *_ALTER),
    _met("a malformed acknowledgement: its range ends before it begins", *_STRICT),
    _met("a malformed acknowledgement: a negative offset", *_STRICT),
    _met("a malformed acknowledgement: no types", *_STRICT),
    _met("a malformed acknowledgement: too few or too many types", *_STRICT),
    _met("a malformed acknowledgement: a type that there is not", *_STRICT),
    _met("a member leaves that holds nothing"),
    # Writes.
    _met("several writes are outstanding", *_WRITE),
    _met("a later write is answered before an earlier one", *_WRITE),
    _met("a write is answered after the log start offset passed its records", *_WRITE, *_LOG),
    _met("a write is answered after its lock would have expired", *_WRITE),
    _met("a write fails after its lock would have expired", *_FAIL),
    # Time.
    _met("time passes while a lock that is not due is held"),
    _met("some locks expire, and others stay"),
    _met("locks of several members expire together"),
    _met("a lock would expire whose write is outstanding", *_WRITE),
    # The log and the start offset.
    _met("the log start offset moves, below the start offset", *_LOG),
    _met("the log start offset moves into a log batch", *_LOG),
    _met("the log start offset moves into records that one member holds", *_LOG),
    _met("the log start offset moves past the window", *_LOG),
    _met("the start offset passes a gap in the log"),
    _met("a finished record waits behind one that is not"),
    # Leaders and configurations.
    _met("a new leader while records are held", *_OVER),
    _met("a new leader while a write is outstanding", *_OVER, *_WRITE),
    _met("a new leader finds records that it does not know between those it does", *_OVER),
    _met("a new leader finds the durable start offset below the log", *_OVER, *_LOG),
    _met("the delivery count limit falls to the count of a record or below", *_ALTER),
    _met("the limit of the window falls below its width", *_ALTER),
    _met("the lock duration is altered while records are held", *_ALTER),
)

AT_STAKE: dict[str, tuple[str, ...]] = {
    "ONLY_AVAILABLE_IS_ACQUIRED": (
        "a fetch reads over records that are held",
        "a fetch reads over records that are finished",
    ),
    "NO_ACQUIRE_DURING_WRITE": ("a fetch reads over records whose write is outstanding",),
    "ONLY_READ_IS_ACQUIRED": (answer_name("acquire", "NONE"),),
    "WITHIN_RECORD_LIMIT": ("a fetch is stopped by its maximum of records",),
    "WITHIN_WINDOW_LIMIT": ("a fetch is stopped by the limit of the window",),
    "NO_RECORD_SKIPPED": (transition_name(NEW, "acquire", "ACQUIRED"),),
    "CAN_ACQUIRE": ("a fetch finds the window full and nothing available",),
    "START_NEVER_GOES_BACK": (
        transition_name("ACKNOWLEDGED", "the start offset passes", GONE),
        transition_name("ARCHIVED", "the start offset passes", GONE),
        "the log start offset moves past the window",
    ),
    "START_STOPS_AT_UNFINISHED": ("a finished record waits behind one that is not",),
    "LOCK_LASTS_ITS_DURATION": ("time passes while a lock that is not due is held",),
    "LOCK_ENDS_ON_TIME": (transition_name("ACQUIRED", "its lock expires", "AVAILABLE"),),
    "ACKNOWLEDGEMENT_JUDGED": (
        answer_name("acknowledge", "NONE"),
        answer_name("acknowledge", "INVALID_RECORD_STATE"),
    ),
    "DEAD_LETTER_IS_ARCHIVING": (
        transition_name("ARCHIVING", "the dead-letter queue is done", "ARCHIVED"),
    ),
    "ONLY_COMMITTED_IS_ASKED_FOR": (answer_name("archive_aborted", "NONE"),),
    "STATUS": (answer_name("acquire", "NONE"), answer_name("release", "NONE")),
    "ACQUIRED": (answer_name("acquire", "NONE"),),
    "WRITTEN_STATE": (write_name("an expiry", "NONE"), answer_name("acknowledge", "NONE")),
    "WRITTEN_START_OFFSET": (write_name("an expiry", "NONE"), answer_name("acknowledge", "NONE")),
    "WRITTEN_DELIVERY_COMPLETE_COUNT": (
        write_name("an expiry", "NONE"),
        answer_name("acknowledge", "NONE"),
    ),
    "COMPLETED": (answer_name("complete_write", "NONE"),),
    "START_OFFSET": (answer_name("initialize", "NONE"),),
    "END_OFFSET": (transition_name(NEW, "acquire", "ACQUIRED"),),
    "DELIVERY_COMPLETE_COUNT": ("a finished record waits behind one that is not",),
    "RECORDS": (transition_name(NEW, "acquire", "ACQUIRED"),),
}
"""For each rule the things of which any one puts it at stake.

What is not here is at stake in every operation, or the kit itself sees to it.
"""


def _rules() -> Iterator[Item]:
    needs = {item.name: item.needs for item in (*_transitions(), *_answers(_ALL), *_SITUATIONS)}
    for rule, items in AT_STAKE.items():
        yield Item(Group.RULE, rule, min((needs[name] for name in items), key=len))


_ALL = Capabilities()
