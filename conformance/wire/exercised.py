"""What a search of a broker has met, and what it has not, in the words of ``universe``."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from conformance.cores.exercised import Exercised, settled
from conformance.cores.transitions import typed
from conformance.wire.belief import Belief, Lock
from conformance.wire.situations import (
    Served,
    held_by,
    met_when_described,
    met_when_served,
)
from conformance.wire.target import Described, WireCapabilities
from conformance.wire.universe import (
    AT_STAKE,
    CLOSED,
    CONNECTION_LOST,
    LOCK_OVER,
    RELEASED,
    deleted_name,
    given_up_name,
    lacking,
    redelivered_name,
    universe,
)
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.ranges import OffsetRange
from model.share_messages import FINAL_EPOCH, INITIAL_EPOCH
from model.states import AcknowledgeType
from spec.partition import SharePartition
from spec.record import Record, is_held
from spec.share_broker import PartitionKey
from spec.share_session import SessionKey, key_of

__all__ = ["Meter", "exercised"]

Place = tuple[PartitionKey, int]
_AGAIN = {CLOSED: "it was closed", CONNECTION_LOST: "its connection was lost"}


def exercised(counts: Mapping[str, int], can: WireCapabilities) -> Exercised:
    """Return what the counts of a search come to, for what a broker can do."""
    return settled(counts, [(item, lacking(item, can)) for item in universe()], AT_STAKE)


class Meter:
    """What one sequence has met, which was as it should be, in ``counts``.

    It remembers what a request alone does not show: who had a record and why it is free, how a
    session ended, and the lock with which a record was acquired.
    """

    def __init__(self, lock_ms: int) -> None:
        """Nothing has happened yet; locks last ``lock_ms``."""
        self.counts: Counter[str] = Counter()
        self._lock_ms = lock_ms
        self._waiting: list[str] = []
        self._free: dict[Place, tuple[str, str]] = {}
        self._ended: dict[SessionKey, str] = {}
        self._first: dict[Place, Lock] = {}

    def deleted(
        self, there: SharePartition, log: Sequence[OffsetRange], end: int, before: int
    ) -> None:
        """Take note that a log of these batches, up to ``end``, loses its offsets below ``before``.

        That counts once something shows that the broker can be followed.
        """
        window = there.window
        found = {
            "below the start offset": there.ready and before <= window.start_offset,
            "to the inside of the window": window.start_offset < before < window.end_offset,
            "to the inside of a log batch": any(b.first < before <= b.last for b in log),
            "some that a member holds": any(offset < before for offset in window.held),
            "past the end of the window": there.ready and before > window.end_offset,
            "all": before == end,
        }
        self._waiting += [deleted_name(what) for what, there_is in found.items() if there_is]

    def served(self, one: Served) -> None:
        """Count what a request met."""
        self._unseen(one.was, one.before, one.exchange.sent_ms)
        self.counts.update(met_when_served(one))
        self.counts.update(set(self._of_the_past(one)))
        if one.exchange.response.error is not ErrorCode.NONE:
            return
        self._note_ends(one)
        self._note_acquired(one)

    def described(
        self, explanation: tuple[Belief, Belief], key: PartitionKey, told: Described
    ) -> None:
        """Count what was met when a share-partition was described."""
        was, before = explanation
        self._unseen(was, before, told.sent_ms)
        self.counts.update(met_when_described(before.broker.partitions[key], told))

    def _unseen(self, was: Belief, before: Belief, sent: float) -> None:
        """Count what happened before a request that nobody asked for, and remember it."""
        self.counts.update(self._waiting)
        self._waiting.clear()
        lost = set(was.broker.sessions) - set(before.broker.sessions)
        for session in lost:
            self._ended[session] = CONNECTION_LOST
            self.counts["a session is lost with its connection"] += 1
            if any(held_by(was, session[1])):
                self.counts[_LOST_HOLDING] += 1
        for key, locks in was.locks.items():
            then, now = was.broker.partitions[key].window, before.broker.partitions[key]
            for offset, lock in locks.items():
                if offset in now.window.held or offset < now.log.start_offset:
                    continue
                owner = then.records[offset].owner
                gone = (key[0], owner) in lost and lock.latest > sent
                why = CONNECTION_LOST if gone else LOCK_OVER
                self._freed((key, offset), then.records[offset], now.config, why)

    def _freed(self, place: Place, held: Record, config: SharePartitionConfig, why: str) -> None:
        """Take note that a record is not held any more, although its delivery did not succeed."""
        if held.delivery_count < config.delivery_count_limit:
            self._free[place] = str(held.owner), why
        else:
            self.counts[given_up_name(why)] += 1

    def _of_the_past(self, one: Served) -> Iterator[str]:
        """Yield what a request met that only what happened before it tells."""
        request, key = one.request, key_of(one.request)
        error, why = one.exchange.response.error, self._ended.get(key)
        if error is ErrorCode.SHARE_SESSION_NOT_FOUND:
            yield f"a request without a session, after {_AGAIN[why]}" if why else _NO_SESSION
        elif error is ErrorCode.NONE and why and request.session_epoch == INITIAL_EPOCH:
            yield f"a session is opened again after {_AGAIN[why]}"
        lost = request.member_id, LOCK_OVER
        for asked in request.partitions:
            named = (offset for batch in asked.batches for offset, _type in typed(batch))
            at = request.group_id, asked.at
            if any(self._free.get((at, offset)) == lost for offset in named):
                yield "an acknowledgement of a record whose lock is over"
        for at, locks in one.before.locks.items():
            for offset, lock in locks.items():
                first = self._first.get((at, offset), lock)
                if lock.exchange != first.exchange and one.exchange.sent_ms >= first.latest:
                    yield "a renewed lock is held when its first duration is over"

    def _note_ends(self, one: Served) -> None:
        """Remember the end of the session, and what became of what its member held."""
        request, key = one.request, key_of(one.request)
        closes = request.session_epoch == FINAL_EPOCH
        if closes:
            self._ended[key] = CLOSED
        else:
            self._ended.pop(key, None)
        types = {
            ((request.group_id, asked.at), offset): type_
            for asked in request.partitions
            for batch in asked.batches
            for offset, type_ in typed(batch)
        }
        for at, offset in held_by(one.before, request.member_id):
            there = one.after.broker.partitions[at]
            type_ = types.get((at, offset))
            if offset in there.window.held:
                continue
            record = one.before.broker.partitions[at].window.records[offset]
            if type_ == AcknowledgeType.RELEASE:
                self._freed((at, offset), record, there.config, RELEASED)
            elif type_ is None and closes:
                self._freed((at, offset), record, there.config, CLOSED)

    def _note_acquired(self, one: Served) -> None:
        """Count records that are delivered again, and remember the locks of all."""
        member = one.request.member_id
        for part in one.exchange.response.partitions:
            key = one.request.group_id, part.at
            for offset in (o for r in part.acquired for o in range(r.first, r.last + 1)):
                there = one.partition(part.at)
                record = there.window.records.get(offset) if there else None
                own = record is not None and is_held(record)
                former = (member, RELEASED) if own else self._free.pop((key, offset), None)
                if former:
                    owner, why = former
                    self.counts[redelivered_name(why, other=owner != member)] += 1
                self._first[key, offset] = one.after.locks[key][offset]


_LOST_HOLDING = "a session is lost with its connection while its member holds records"
_NO_SESSION = "a request without a session"
