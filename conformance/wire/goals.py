"""The coverage goals of a search of a broker, in one table.

Answers are generated rows. Each other row is a situation, with the predicate that recognises it in
a request that was answered legally, in the deletion of records, or in a description. What becomes
of a record between requests ``meter`` counts: those rows have no predicate.
"""

from collections.abc import Callable, Iterator

from conformance.cores.acknowledgements import BATCH_SITUATIONS, Malformed, Named
from conformance.goals import Goal, Group, Scope, recognised, rule_goals
from conformance.wire.asks import FEWEST_BYTES
from conformance.wire.served import (
    ACKNOWLEDGE,
    FETCH,
    PART,
    Acknowledged,
    Acquired,
    Deletion,
    Description,
    Fetched,
    Served,
    Why,
    acknowledged_in,
    acquired_in,
    fetched_in,
    has_available,
    has_more,
    held_by,
    is_gap,
    named_in,
)
from model.errors import ErrorCode
from model.share_messages import FINAL_EPOCH, INITIAL_EPOCH, ShareFetch, TopicPartition
from model.states import AcknowledgeType, AcquireMode
from spec.partition import SharePartition
from spec.record import is_acquirable, is_finished, is_held

_SESSIONS, _OFFSETS, _LAG, _COMMITTED = "sessions", "offsets", "lag", "committed"
_DELETE, _GAPS, _RENEW, _ABORTED = "delete_records", "gaps", "renew", "aborted"
_TRANSACTIONS = "transactions"
_LIMIT, _OPTIMIZED = AcquireMode.RECORD_LIMIT.value, AcquireMode.BATCH_OPTIMIZED.value
_COORDINATORS = "coordinators"
NONE = ErrorCode.NONE


# Answers.

DESCRIBE, FETCHING = "DescribeShareGroupOffsets", "the fetch from a share-partition"
FIND = "FindCoordinator"


_NEEDS = {DESCRIBE: (_OFFSETS,), FIND: (_COORDINATORS,)}


def answer_name(whose: str, error: ErrorCode) -> str:
    """Return the name of an answer to a request, or to a part of it."""
    return f"{whose} is answered {error.name}"


def acknowledging(api: str) -> str:
    """Return the part of a request that acknowledges at one share-partition."""
    return f"an acknowledgement in {api}"


def answers_in(served: Served) -> Iterator[str]:
    """Yield the names of the answers in a response, also to each part of the request."""
    yield answer_name(served.api, served.error)
    if served.error is not NONE:
        return
    parts = {part.topic_partition: part for part in served.exchange.response.partitions}
    for asked in served.request.partitions:
        if asked.batches and asked.topic_partition in parts:
            yield answer_name(
                acknowledging(served.api), parts[asked.topic_partition].acknowledge_error
            )
    if served.fetches:
        joined = set(served.joined()) & parts.keys()
        yield from (answer_name(FETCHING, parts[known].error) for known in joined)


def _answers() -> Iterator[Goal]:
    unknown = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    invalid, state = ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE
    session = (ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH)

    def goal(whose: str, error: ErrorCode, never: str = "") -> Goal:
        of_session = error in session or (error is invalid and whose in (FETCH, ACKNOWLEDGE))
        needs = (_SESSIONS,) if of_session else _NEEDS.get(whose, ())
        return Goal(Group.ANSWER, answer_name(whose, error), needs, never=never)

    for api in (FETCH, ACKNOWLEDGE):
        unsupported = "" if api == FETCH else "locks are renewed in version 2 alone"
        yield goal(api, NONE)
        yield goal(api, invalid, never=unsupported)
        yield from (goal(api, error) for error in session)
    few = "there are three members at most"
    yield goal(FETCH, ErrorCode.SHARE_SESSION_LIMIT_REACHED, never=few)
    yield goal(FETCHING, NONE)
    yield from (goal(FETCHING, error) for error in unknown)
    for whose in (acknowledging(FETCH), acknowledging(ACKNOWLEDGE)):
        yield from (goal(whose, error) for error in (NONE, state, invalid, *unknown))
    yield goal(DESCRIBE, NONE)
    yield from (goal(FIND, error) for error in (NONE, invalid))


# What the predicates look at.


def _when(condition: Callable[[Served], object]) -> Scope[Served]:
    """Return the scope of requests of which a condition holds."""
    return Scope(lambda served: (served,) if condition(served) else ())


def _states_after(served: Served) -> Iterator[tuple[SharePartition, SharePartition]]:
    """Yield each share-partition of the broker before and after the request."""
    if served.error is NONE:
        partitions = served.before.broker.partitions
        yield from ((partitions[k], p) for k, p in served.after.broker.partitions.items())


_request = Scope[Served](lambda served: (served,))
_answered = _when(lambda s: s.error is NONE)
_opens = _when(lambda s: s.error is NONE and s.request.session_epoch == INITIAL_EPOCH)
_closes = _when(lambda s: s.error is NONE and s.request.session_epoch == FINAL_EPOCH)
_continues = _when(lambda s: s.error is NONE and s.session and s.request.session_epoch > 0)
_fetch = _when(lambda s: s.error is NONE and s.fetches)
_wrong_epoch = _when(lambda s: s.error is ErrorCode.INVALID_SHARE_SESSION_EPOCH)
_no_session = _when(lambda s: s.error is ErrorCode.SHARE_SESSION_NOT_FOUND)
_change = Scope(_states_after)
_acknowledged, _named = Scope[Acknowledged](acknowledged_in), Scope[Named](named_in)
_renewal = Scope[Acknowledged](
    lambda s: (a for a in acknowledged_in(s) if AcknowledgeType.RENEW in a.types.values())
)
_acquired, _fetched = Scope[Acquired](acquired_in), Scope[Fetched](fetched_in)
_deletion = Scope[Deletion](lambda deletion: (deletion,))
_description = Scope[Description](lambda described: (described,))
_lag_described = Scope[Description](lambda described: () if described.lag is None else (described,))


def _number(s: Served) -> int:
    """Return how many records the response gives."""
    return sum(len(acquired.offsets) for acquired in acquired_in(s))


def _mode(s: Served) -> AcquireMode | None:
    return s.request.acquire_mode if isinstance(s.request, ShareFetch) else None


def _most(s: Served) -> int:
    return s.request.max_records if isinstance(s.request, ShareFetch) else 0


def _leaves_some(s: Served) -> bool:
    """Whether a share-partition of the session has records that could be acquired afterwards."""
    partitions = (s.partition_after(known) for known in s.joined() if s.partition(known))
    return any(
        partition.ready and (has_available(partition) or has_more(partition))
        for partition in partitions
    )


def _holders(s: Served) -> set[str]:
    windows = (partition.window for partition in s.after.broker.partitions.values())
    return {window.records[offset].owner for window in windows for offset in window.held}


def _acknowledges(s: Served) -> bool:
    return any(asked.batches for asked in s.request.partitions)


def _known(s: Served) -> set[TopicPartition]:
    """Return the partitions of the session before the request."""
    return {known.topic_partition for known in s.session.partitions} if s.session else set()


def _joins(s: Served) -> bool:
    added = {
        asked.topic_partition
        for asked in s.request.partitions
        if s.partition(asked.topic_partition)
    } - _known(s)
    return isinstance(s.request, ShareFetch) and bool(added)


def _forgotten(s: Served) -> set[TopicPartition]:
    return _known(s) & set(s.request.forgotten) if isinstance(s.request, ShareFetch) else set()


def _forgets_held(s: Served) -> bool:
    return bool(_forgotten(s) & {key[1] for key, _ in held_by(s.before, s.request.member_id)})


def _closed_by(api: str, *, acknowledges: bool) -> Callable[[Served], bool]:
    return lambda s: s.api == api and _acknowledges(s) is acknowledges


def _announced(a: Acknowledged) -> bool:
    return a.served.request.is_renew_ack


def _deleted(a: Acknowledged) -> bool:
    first = min(batch.first for batch in a.asked.batches)
    return a.well_formed and first < a.partition.log.start_offset


def _accepts(api: str, kind: AcknowledgeType) -> Callable[[Acknowledged], bool]:
    return lambda a: a.served.api == api and kind in a.accepted


def _is_malformed(kind: Malformed) -> Callable[[Acknowledged], bool]:
    return lambda a: a.malformed is kind


def _acquires_under(mode: AcquireMode) -> Callable[[Served], bool]:
    return lambda s: _mode(s) is mode and _number(s) > 0


def _expected(s: Served) -> int:
    """Return the epoch that the session expects; 0 without one."""
    return s.session.epoch if s.session else 0


def _after_part(s: Served) -> bool:
    """Whether a lock is held of whose duration a part is over."""
    rest = s.lock_ms * (1 - PART)
    return any(lock.earliest - rest < s.exchange.sent_ms for lock in s.locks())


def _passes_gap(before: SharePartition, after: SharePartition) -> bool:
    window = before.window
    passed = range(window.start_offset, after.window.start_offset) if before.ready else ()
    return any(is_gap(before, offset) and offset not in window.records for offset in passed)


# The table: two lines a row, what occurs and when.


def _unscoped(name: str, *needs: str) -> Goal:
    return Goal(Group.SITUATION, name, needs)


def _needs(why: Why) -> tuple[str, ...]:
    return (_SESSIONS,) if why in (Why.CLOSED, Why.CONNECTION_LOST) else ()


def _redelivered(why: Why, *, other: bool) -> Goal:
    whom = "another member" if other else "the member that had it"
    name = f"a record is delivered again, {why}, to {whom}"
    return _unscoped(name, *_needs(why))


def _given_up(why: Why) -> Goal:
    name = f"a record at its delivery limit is delivered no more, {why}"
    return _unscoped(name, *_needs(why))


REDELIVERED = {
    (why, other): _redelivered(why, other=other) for why in Why for other in (False, True)
}
"""By why the record was available again, and whether another member got it."""

UNBLOCKED = _unscoped(
    "records are acquired that waited for the end of a transaction", _TRANSACTIONS, _COMMITTED
)
GIVEN_UP = {why: _given_up(why) for why in Why}
COLON = _unscoped("a group has an id with a colon")
ALTERED = _unscoped("a start offset is altered", "alters")
GROUP_AGAIN = _unscoped("a group is deleted and created again under its name", "recreates")
TOPIC_AGAIN = _unscoped("a topic is deleted and created again under its name", "recreates")
ODD_ID = _unscoped("a group has an id with other characters than letters and digits")
LOST = _unscoped("a session is lost with its connection", _SESSIONS)
LOST_HOLDING = _unscoped(
    "a session is lost with its connection while its member holds records", _SESSIONS
)

# fmt: off
_ACQUIRING = (
    *(_fetch(f"a fetch acquires records under {mode.value}", _acquires_under(mode),
             mode.value) for mode in AcquireMode),
    _fetch("a fetch acquires a record that is larger than its maximum of bytes",
        lambda s: _number(s) > 0 and isinstance(s.request, ShareFetch)
            and s.request.max_bytes == FEWEST_BYTES),
    _fetch("a fetch acquires nothing", lambda s: _number(s) == 0),
    _acquired("a fetch passes over records that are held",
        lambda a: any(map(is_held, a.passed))),
    _acquired("a fetch passes over records that are finished",
        lambda a: any(map(is_finished, a.passed))),
    _fetch("a fetch is stopped by its maximum of records",
        lambda s: _mode(s) is AcquireMode.RECORD_LIMIT
            and _number(s) == _most(s) and _leaves_some(s),
        _LIMIT),
    _fetch("a fetch goes past its maximum of records, to the end of a log batch",
        lambda s: _number(s) > _most(s), _OPTIMIZED),
    _fetched("a fetch finds the window full and nothing available",
        lambda f: f.full and has_more(f.after) and not (f.offsets or has_available(f.before))),
    _fetched("a fetch takes what is available again in a full window",
        lambda f: f.full and any(offset < f.before.window.end_offset for offset in f.offsets)),
    _fetched("a fetch is stopped by the limit of the window",
        lambda f: bool(f.offsets) and has_more(f.after) and f.after.window.end_offset >= f.limit),
    _fetched("a fetch goes past the limit of the window, to the end of a log batch",
        lambda f: f.after.window.end_offset > max(f.before.window.end_offset, f.limit),
        optional=True),
    _acquired("a fetch takes records on both sides of a gap in the log",
        lambda a: any(is_gap(a.after, offset + 1) for offset in a.offsets[:-1]), _GAPS),
    _acquired("a fetch acquires the marker of a transaction",
        lambda a: any(is_gap(a.after, offset) for offset in a.offsets), _GAPS, optional=True),
    _acquired("a fetch acquires records after some were deleted",
        lambda a: a.after.log.start_offset > 0, _DELETE),
    _fetched("a fetch keeps back records of an aborted transaction",
        lambda f: f.kept_back, _ABORTED, _COMMITTED),
    _fetched("a fetch stops at an open transaction",
        lambda f: f.blocked and not f.offsets,
        _TRANSACTIONS, _COMMITTED),
    _fetched("a fetch acquires records below an open transaction",
        lambda f: f.blocked and bool(f.offsets),
        _TRANSACTIONS, _COMMITTED),
    _acquired("a fetch acquires records of an open transaction, under read_uncommitted",
        lambda a: a.offsets[-1] >= a.after.log.stable_offset, _TRANSACTIONS),
    UNBLOCKED,
    _fetch("a response has records of two share-partitions",
        lambda s: len(list(acquired_in(s))) > 1),
    _answered("records are held by several members", lambda s: len(_holders(s)) > 1),
    _acquired("a record is delivered for the last time",
        lambda a: any(r.delivery_count == a.after.config.delivery_count_limit
            for r in a.part.acquired)),
)

_ACKNOWLEDGING = (
    *(_acknowledged(f"{api} acknowledges with {kind.name}", _accepts(api, kind),
                    *((_RENEW,) if kind is AcknowledgeType.RENEW else ()))
      for api in (FETCH, ACKNOWLEDGE) for kind in AcknowledgeType),
    _fetch("a fetch acknowledges and acquires", lambda s: _acknowledges(s) and _number(s) > 0),
    _acquired("a fetch acquires again what it releases", lambda a: any(map(is_held, a.former))),
    _answered("a request acknowledges at two share-partitions",
        lambda s: len(list(acknowledged_in(s))) > 1),
    _acknowledged("an acknowledgement of several batches",
        lambda a: a.well_formed and len(a.asked.batches) > 1),
    *(_named(name, covers) for name, covers in BATCH_SITUATIONS.items()),
    _named("an acknowledgement of an offset in the window that was never in flight",
        lambda n: len(n.records) < len(n.offsets), _GAPS, optional=True),
    _request("an acknowledgement of a record whose lock is over", lambda s: s.past.lapsed),
    _acknowledged("an acknowledgement of a record that was deleted", _deleted, _DELETE),
    _acknowledged("an acknowledgement at a share-partition outside the session",
        lambda a: bool(a.served.session) and a.asked.topic_partition not in _known(a.served),
        _SESSIONS),
    _acknowledged("an acknowledgement at a share-partition that is not in memory",
        lambda a: not a.partition.ready, _SESSIONS, optional=True),
    *(_acknowledged(f"a malformed acknowledgement: {kind}", _is_malformed(kind))
      for kind in Malformed),
    _renewal("a renewal together with other types",
        lambda a: _announced(a) and len(set(a.types.values())) > 1, _RENEW),
    _renewal("a renewal that the request does not announce", lambda a: not _announced(a), _RENEW),
    _renewal("a renewal after part of the lock's duration",
        lambda a: _announced(a) and a.renews_late, _RENEW),
    _request("a renewed lock is held when its first duration is over",
        lambda s: s.past.outlived, _RENEW),
)

_LOCKS = (
    _request("a request comes while a lock is held, after part of its duration", _after_part),
    _request("a request comes after a lock is over", lambda s: bool(s.lapsed())),
    _request("a request comes after some locks are over, while others are held",
        lambda s: bool(s.lapsed() and s.locks())),
    _request("a request comes after locks of several members are over",
        lambda s: len({record.owner for record in s.lapsed()}) > 1),
)

_OF_SESSIONS = (
    _answered("a session is opened", lambda s: s.request.session_epoch == INITIAL_EPOCH),
    _opens("a session is opened in the place of another",
        lambda s: s.session is not None, _SESSIONS),
    _opens("a session is opened by a member that holds records", lambda s: s.holds, _SESSIONS),
    _opens("a session is opened again after it was closed",
        lambda s: s.past.ended is Why.CLOSED, _SESSIONS),
    _opens("a session is opened again after its connection was lost",
        lambda s: s.past.ended is Why.CONNECTION_LOST, _SESSIONS),
    _answered("a session goes on", lambda s: bool(s.session) and s.request.session_epoch > 0),
    _continues("a session goes on over another connection",
        lambda s: s.session is not None and s.connection != s.session.connection,
        _SESSIONS, optional=True),
    _continues("a session of two share-partitions goes on",
        lambda s: sum(s.partition(known) is not None for known in _known(s)) > 1),
    _continues("a share-partition joins a session", _joins, _SESSIONS),
    _continues("a share-partition is forgotten", lambda s: bool(_forgotten(s)), _SESSIONS),
    _continues("a share-partition is forgotten of which the member holds records",
        _forgets_held, _SESSIONS),
    *(_closes(f"a session is closed by {api}, which acknowledges{'' if some else ' nothing'}",
              _closed_by(api, acknowledges=some), _SESSIONS)
      for api in (FETCH, ACKNOWLEDGE) for some in (True, False)),
    _closes("a session is closed while its member holds records", lambda s: s.holds, _SESSIONS),
    LOST,
    LOST_HOLDING,
    _wrong_epoch("a request repeats an epoch",
        lambda s: 0 < s.request.session_epoch < _expected(s), _SESSIONS),
    _wrong_epoch("a request skips an epoch",
        lambda s: 0 < _expected(s) < s.request.session_epoch, _SESSIONS),
    _wrong_epoch("a ShareAcknowledge would open a session",
        lambda s: s.request.session_epoch == INITIAL_EPOCH, _SESSIONS),
    _request("a fetch would open a session and acknowledge",
        lambda s: s.error is ErrorCode.INVALID_REQUEST
            and s.request.session_epoch == INITIAL_EPOCH, _SESSIONS),
    _no_session("a request without a session", lambda s: s.past.ended is None, _SESSIONS),
    _no_session("a request without a session, after it was closed",
        lambda s: s.past.ended is Why.CLOSED, _SESSIONS),
    _no_session("a request without a session, after its connection was lost",
        lambda s: s.past.ended is Why.CONNECTION_LOST, _SESSIONS),
)

DELETIONS = (
    _deletion("records are deleted: below the start offset",
        lambda d: d.partition.ready and d.before <= d.partition.window.start_offset, _DELETE),
    _deletion("records are deleted: to the inside of the window",
        lambda d: d.partition.window.start_offset < d.before < d.partition.window.end_offset,
        _DELETE),
    _deletion("records are deleted: to the inside of a log batch",
        lambda d: any(batch.first < d.before <= batch.last for batch in d.log), _DELETE),
    _deletion("records are deleted: some that a member holds",
        lambda d: any(offset < d.before for offset in d.partition.window.held), _DELETE),
    _deletion("records are deleted: past the end of the window",
        lambda d: d.partition.ready and d.before > d.partition.window.end_offset, _DELETE),
    _deletion("records are deleted: all", lambda d: d.before == d.end, _DELETE),
)

_STARTS = (
    _change("the start offset passes a gap in the log", lambda change: _passes_gap(*change), _GAPS),
    _change("a finished record waits behind one that is not",
        lambda change: any(offset > change[1].window.start_offset and is_finished(record)
            for offset, record in change[1].window.records.items())),
)

DESCRIPTIONS = (
    _description("a start offset is reported before one exists",
        lambda d: d.start_offset < 0, _OFFSETS),
    _description("a start offset is reported",
        lambda d: d.start_offset >= 0, _OFFSETS),
    _lag_described("the lag is reported of an empty log",
        lambda d: d.partition.log.end_offset == 0, _OFFSETS, _LAG),
    _lag_described("the lag is reported before anything was delivered",
        lambda d: d.partition.log.end_offset > 0 and d.partition.window.end_offset == 0,
        _OFFSETS, _LAG),
    _lag_described("the lag is reported while records are held",
        lambda d: bool(d.partition.window.held), _OFFSETS, _LAG),
    _lag_described("the lag is reported while records are available again",
        lambda d: any(is_acquirable(record) and record.delivery_count
            for record in d.partition.window.records.values()), _OFFSETS, _LAG),
    _lag_described("the lag is reported while a finished record waits behind one that is not",
        lambda d: any(map(is_finished, d.partition.window.records.values())), _OFFSETS, _LAG),
    _lag_described("the lag is reported while there are records after the window",
        lambda d: 0 < d.partition.window.end_offset < d.partition.log.end_offset, _OFFSETS, _LAG),
    _lag_described("the lag is reported when every record is finished",
        lambda d: d.lag == 0 < d.partition.log.end_offset,
        _OFFSETS, _LAG),
    _lag_described("the lag is reported after records were deleted",
        lambda d: d.partition.log.start_offset > 0, _OFFSETS, _LAG, _DELETE),
    _lag_described("the lag is reported of a log with gaps",
        lambda d: bool(d.partition.log.holes), _OFFSETS, _LAG, _GAPS),
)
# fmt: on

SERVED = (*_ACQUIRING, *_ACKNOWLEDGING, *_LOCKS, *_OF_SESSIONS, *_STARTS)
SITUATIONS = (
    *_ACQUIRING,
    COLON,
    ODD_ID,
    ALTERED,
    GROUP_AGAIN,
    TOPIC_AGAIN,
    *REDELIVERED.values(),
    *GIVEN_UP.values(),
    *_ACKNOWLEDGING,
    *_LOCKS,
    *_OF_SESSIONS,
    *DELETIONS,
    *_STARTS,
    *DESCRIPTIONS,
)
_ROWS = (*_answers(), *SITUATIONS)
GOALS = (*_ROWS, *rule_goals(_ROWS, "broker"))
"""Every goal, also those that some brokers cannot cover."""

served_situations = recognised(SERVED)
deleted_situations = recognised(DELETIONS)
described_situations = recognised(DESCRIPTIONS)
