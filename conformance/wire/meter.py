"""Counting the coverage goals that one sequence covers."""

from collections import Counter

import attrs

from conformance.cores.acknowledgements import typed
from conformance.wire.asks import AlterOffset, Recreate
from conformance.wire.belief import Belief, Lock
from conformance.wire.goals import (
    ALTERED,
    COLON,
    DESCRIBE,
    FIND,
    GIVEN_UP,
    GROUP_AGAIN,
    LOST,
    LOST_HOLDING,
    ODD_ID,
    REDELIVERED,
    TOPIC_AGAIN,
    UNBLOCKED,
    answer_name,
    answers_in,
    deleted_situations,
    described_situations,
    served_situations,
)
from conformance.wire.served import (
    Deletion,
    Description,
    Past,
    Served,
    Why,
    acquired_in,
    fetched_in,
    held_by,
)
from conformance.wire.target import Described
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.share_messages import FINAL_EPOCH
from model.states import AcknowledgeType
from spec.record import Record, is_held
from spec.share_broker import PartitionKey
from spec.share_session import SessionKey, key_of

InFlight = tuple[PartitionKey, int]


class Meter:
    """How often one sequence covered each goal, by name, in ``counts``.

    It remembers what a request alone does not show: who had a record and why it is available again,
    how a session ended, and the lock with which a record was acquired.
    """

    def __init__(self, lock_ms: int) -> None:
        """Nothing has happened yet; locks last ``lock_ms``."""
        self.counts: Counter[str] = Counter()
        self._lock_ms = lock_ms
        self._deletions: list[str] = []
        self._free: dict[InFlight, tuple[str, Why]] = {}
        self._ended: dict[SessionKey, Why] = {}
        self._first: dict[InFlight, Lock] = {}
        self._blocked: dict[PartitionKey, range] = {}

    def opened(self, group: str) -> None:
        """Count what the id of the group is like, by its end."""
        self.counts.update(goal.name for goal in (COLON,) if ":" in group)
        self.counts.update(goal.name for goal in (ODD_ID,) if group)

    def coordinated(self, error: ErrorCode) -> None:
        """Count an answer about a share coordinator."""
        self.counts[answer_name(FIND, error)] += 1

    def renewed(self, ask: AlterOffset | Recreate) -> None:
        """Count an altered start offset, or what was created again; nothing is in flight then."""
        again = TOPIC_AGAIN if isinstance(ask, Recreate) and ask.topic else GROUP_AGAIN
        goal = ALTERED if isinstance(ask, AlterOffset) else again
        self.counts[goal.name] += 1
        self._free.clear()
        self._ended.clear()
        self._first.clear()
        self._blocked.clear()

    def deleted(self, deletion: Deletion) -> None:
        """Note that records are deleted: counted once an answer shows that the judge can follow."""
        self._deletions += deleted_situations(deletion)

    def served(self, served: Served) -> None:
        """Count what a request covered."""
        self._unseen(served.was, served.before, served.exchange.sent_ms)
        served = attrs.evolve(served, past=self._past(served))
        self.counts.update(answers_in(served))
        self.counts.update(served_situations(served))
        if served.error is ErrorCode.NONE:
            self._note_ends(served)
            self._note_acquired(served)
            self._note_blocked(served)

    def described(
        self, explanation: tuple[Belief, Belief], key: PartitionKey, answer: Described
    ) -> None:
        """Count what the description of a share-partition covered."""
        was, before = explanation
        self._unseen(was, before, answer.sent_ms)
        self.counts[answer_name(DESCRIBE, answer.error)] += 1
        if answer.error is ErrorCode.NONE:
            partition = before.broker.partitions[key]
            description = Description(partition, answer.start_offset, answer.lag)
            self.counts.update(described_situations(description))

    def _unseen(self, was: Belief, before: Belief, sent: float) -> None:
        """Count and remember what happened before a request without being asked for."""
        self.counts.update(self._deletions)
        self._deletions.clear()
        lost = set(was.broker.sessions) - set(before.broker.sessions)
        for session in lost:
            self._ended[session] = Why.CONNECTION_LOST
            self.counts[LOST.name] += 1
            if any(held_by(was, session[1])):
                self.counts[LOST_HOLDING.name] += 1
        for key, locks in was.locks.items():
            then, now = was.broker.partitions[key].window, before.broker.partitions[key]
            for offset, lock in locks.items():
                if offset in now.window.held or offset < now.log.start_offset:
                    continue
                owner = then.records[offset].owner
                gone = (key[0], owner) in lost and lock.latest > sent
                why = Why.CONNECTION_LOST if gone else Why.LOCK_OVER
                self._freed((key, offset), then.records[offset], now.config, why)

    def _freed(
        self, in_flight: InFlight, held: Record, config: SharePartitionConfig, why: Why
    ) -> None:
        """Note that a record is not held any more, although its delivery did not succeed."""
        if held.delivery_count < config.delivery_count_limit:
            self._free[in_flight] = str(held.owner), why
        else:
            self.counts[GIVEN_UP[why].name] += 1

    def _past(self, served: Served) -> Past:
        request = served.request
        lost = request.member_id, Why.LOCK_OVER
        named = (
            ((request.group_id, asked.topic_partition), offset)
            for asked in request.partitions
            for batch in asked.batches
            for offset, _type in typed(batch)
        )
        lapsed = any(self._free.get(in_flight) == lost for in_flight in named)
        outlived = any(
            lock.exchange != first.exchange and served.exchange.sent_ms >= first.latest
            for key, locks in served.before.locks.items()
            for offset, lock in locks.items()
            for first in [self._first.get((key, offset), lock)]
        )
        return Past(self._ended.get(key_of(request)), lapsed, outlived)

    def _note_ends(self, served: Served) -> None:
        """Remember the end of the session, and what became of what its member held."""
        request, key = served.request, key_of(served.request)
        closes = request.session_epoch == FINAL_EPOCH
        if closes:
            self._ended[key] = Why.CLOSED
        else:
            self._ended.pop(key, None)
        types = {
            ((request.group_id, asked.topic_partition), offset): type_
            for asked in request.partitions
            for batch in asked.batches
            for offset, type_ in typed(batch)
        }
        for topic_partition, offset in held_by(served.before, request.member_id):
            partition = served.after.broker.partitions[topic_partition]
            type_ = types.get((topic_partition, offset))
            if offset in partition.window.held:
                continue
            record = served.before.broker.partitions[topic_partition].window.records[offset]
            if type_ == AcknowledgeType.RELEASE:
                self._freed((topic_partition, offset), record, partition.config, Why.RELEASED)
            elif type_ is None and closes:
                self._freed((topic_partition, offset), record, partition.config, Why.CLOSED)

    def _note_blocked(self, served: Served) -> None:
        """Count records that waited for the end of a transaction, and remember those that wait."""
        for part in acquired_in(served):
            waited = self._blocked.get(
                (served.request.group_id, part.part.topic_partition), range(0)
            )
            self.counts[UNBLOCKED.name] += any(offset in waited for offset in part.offsets)
        for fetched in fetched_in(served):
            if fetched.blocked:
                log, key = fetched.after.log, (served.request.group_id, fetched.topic_partition)
                self._blocked[key] = range(log.stable_offset, log.end_offset)

    def _note_acquired(self, served: Served) -> None:
        """Count records that are delivered again, and remember the locks of all."""
        member = served.request.member_id
        for part in served.exchange.response.partitions:
            key = served.request.group_id, part.topic_partition
            for offset in (o for r in part.acquired for o in range(r.first, r.last + 1)):
                partition = served.partition(part.topic_partition)
                record = partition.window.records.get(offset) if partition else None
                own = record is not None and is_held(record)
                former = (member, Why.RELEASED) if own else self._free.pop((key, offset), None)
                if former:
                    owner, why = former
                    self.counts[REDELIVERED[why, owner != member].name] += 1
                self._first[key, offset] = served.after.locks[key][offset]
