"""A share coordinator with its state topic, its clock and its judge, for one sequence."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import attrs
from immutables import Map

from conformance.coordinators import share_asks as asks
from conformance.coordinators.share_judge import (
    DEFECTS,
    Seen,
    StateMismatch,
    judged,
    kind_text,
    state_mismatch,
    times_mismatch,
)
from conformance.coordinators.share_messages import APIS, answer_of, body_of, records_of
from conformance.cores.malformed import error_text
from conformance.cores.protocol import DriverTarget
from conformance.deviation import StepText, crashed, target_finding, unreadable
from conformance.exercised import answer_name, changed
from conformance.kit import Stage
from conformance.target import Hello
from judge.finding import Finding
from judge.words import batch_text, durable_text, printable
from model.errors import InvalidValueError
from model.guards import CoordinatorGuard
from model.profile import profile_named
from model.share_state_requests import (
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    WriteState,
)
from model.state_topic import (
    SharePartitionKey,
    ShareSnapshot,
    ShareUpdate,
    StateRecord,
    state_partition,
)
from model.state_topic_codec import record_to_json
from model.wire import uuid_text
from spec.coordinator import Durable, durable_state
from spec.share_coordinator import (
    ShareCoordinator,
    due_for_snapshot,
    forget_topic,
    serve,
    snapshot_again,
)
from spec.state_topic import StateTopicPartition, append, prune, recover, redundant_below

_GUARD = CoordinatorGuard
_NUMBERS = ("start_offset", "delivery_complete_count", "leader_epoch", "state_epoch")


@attrs.frozen
class ShareCapabilities:
    """What a release's share coordinator can do; the kit does not ask for the rest.

    ``initialize``: it serves InitializeShareGroupState; elsewhere the state of a share-partition
    begins with a record that another coordinator wrote. ``summary``, ``delete``: it serves
    ReadShareGroupStateSummary and DeleteShareGroupState. ``cold_snapshots``: idle share-partitions
    get snapshots, which say when. ``deleted_topics``: it forgets the state of topics that are gone.
    ``delivery_complete_count``: it knows KIP-1226. ``validates_epochs``: it refuses negative ones.
    """

    initialize: bool = True
    summary: bool = True
    delete: bool = True
    cold_snapshots: bool = True
    deleted_topics: bool = True
    delivery_complete_count: bool = True
    validates_epochs: bool = True


class _DeviatedError(Exception):
    """What a target did that no rule allows; raised within a command, and returned by ``ask``."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.name)
        self.finding = finding


class ShareScene(Stage[asks.StateAsk]):
    """A stage. ``coordinator`` and ``topic`` are what the specification makes of what happened.

    ``keys`` are the share-partitions that were asked about, and ``commands`` what each step asked.
    """

    def __init__(
        self, target: DriverTarget[ShareCapabilities], hello: Hello[ShareCapabilities]
    ) -> None:
        """Wait for the first command."""
        self._target, self.can = target, hello.capabilities
        self._profile = profile_named(hello.profile)
        self.coordinator = ShareCoordinator(self._profile)
        self.topic = StateTopicPartition()
        self._plain: list[dict[str, Any]] = []
        self._interval = self.now = 0
        self.keys: dict[SharePartitionKey, None] = {}
        self.commands: list[asks.StateAsk] = []
        self._before, self._befores = self.coordinator, list[ShareCoordinator]()
        self._noted: list[tuple[Finding, int]] = []
        self._operation = ""
        self.steps: list[StepText] = []
        self.answered: Counter[str] = Counter()
        self.exercised: Counter[str] = Counter()

    def ask(self, command: asks.StateAsk) -> Finding | None:
        """Send a command and judge the answer. Raises TargetError if there is none."""
        self._operation = type(command).__name__
        if not self._can(command):
            if isinstance(command, InitializeState):
                self._write_elsewhere(command)
            return None
        try:
            self._do(command)
        except _DeviatedError as deviated:
            return deviated.finding
        return None

    def _can(self, command: asks.StateAsk) -> bool:
        return getattr(self.can, asks.NEEDS.get(type(command), ""), True)

    def end(self) -> tuple[Finding, ...]:
        """Return the known defects that the sequence went on after."""
        return tuple(finding for finding, _steps in self._noted)

    def steps_of(self, deviation: Finding) -> tuple[StepText, ...]:
        """Return the steps up to the deviation."""
        steps = next((n for noted, n in self._noted if noted is deviation), len(self.steps))
        return tuple(self.steps[:steps])

    def expect_state(self, step: int) -> Durable | None:
        """Return what the rules make of a share-partition by the request of a step, from 0 on.

        None where it has no state then, or the step is no request.
        """
        request, before = self.commands[step], self._befores[step]
        if not isinstance(request, StateRequest):
            return None
        plain = attrs.evolve(before, profile=self._profile)
        held = serve(plain, request, self.steps[step].time_ms or 0).coordinator.held
        return held[request.key].durable if request.key in held else None

    def _do(self, command: asks.StateAsk) -> None:
        match command:
            case asks.OpenCoordinator():
                self._open(command)
            case asks.PassTime(ms):
                self.now += ms
                self._step(command, "")
            case asks.FailOver():
                self._fail_over()
            case asks.TakeSnapshots():
                self._take_snapshots()
            case asks.PruneTopic():
                self._prune()
            case asks.DeleteTopic(topic_id):
                self._delete_topic(topic_id)
            case asks.FindPartition(key):
                self._find(key)
            case _:
                self._request(command)

    def _open(self, command: asks.OpenCoordinator) -> None:
        self.coordinator = ShareCoordinator(
            self._profile, Map(asks.TOPICS), updates_per_snapshot=command.updates_per_snapshot
        )
        self._interval = command.snapshot_interval_ms
        self._target.reset(
            topics={uuid_text(topic): partitions for topic, partitions in asks.TOPICS.items()},
            updates_per_snapshot=command.updates_per_snapshot,
            snapshot_interval_ms=command.snapshot_interval_ms,
            partitions=asks.STATE_PARTITIONS,
        )
        self._step(command, "")

    # The five requests.

    def _request(self, request: StateRequest) -> None:
        self.keys[request.key] = None
        self._before = self.coordinator
        asked = {"api": APIS[type(request)], "body": body_of(request)}
        reply = self._asked(request, "request", **asked)
        with self._reading(request, reply):
            answer = answer_of(reply.get("response"))
            records = records_of(reply, stamped=self.can.cold_snapshots)
        record = records[0] if records else None
        self.answered[f"{self._operation} {answer.status.name}"] += 1
        answered = "; ".join((answer.status.name, *map(_record_text, records)))
        if len(records) > 1:
            self._step(request, answered)
            texts = "several records", answered, "at most one"
            raise self._deviated(_GUARD.STATE_IS_WRITTEN, *texts)
        can = self.can
        seen = Seen(
            request, self.now, answer, record, can.delivery_complete_count, can.cold_snapshots
        )
        self._judge(seen, answered)
        self._plain += reply.get("records", [])

    def _judge(self, seen: Seen, answered: str) -> None:
        before, found = self.coordinator, judged(self.coordinator, seen)
        if isinstance(found, StateMismatch):
            self._step(seen.request, answered)
            raise self._deviated(*attrs.astuple(found))
        self.coordinator = found.reply.coordinator
        self.topic = append(self.topic, seen.record)
        self._step(seen.request, answered)
        # A known defect is told at the end: the sequence goes on as the defect has it.
        for name, mismatch in found.defects.items():
            deviated = self._deviated(*attrs.astuple(mismatch))
            noted = attrs.evolve(deviated.finding, cause=(DEFECTS[name],))
            self._noted.append((noted, len(self.steps)))
        self.exercised.update(_requested(before, self.coordinator, seen))

    def _write_elsewhere(self, request: InitializeState) -> None:
        """Begin the state of a share-partition with the record of another coordinator."""
        reply = serve(self.coordinator, request, self.now)
        if reply.record is None or request.key in self.coordinator.held:
            return
        self.coordinator, self.topic = reply.coordinator, append(self.topic, reply.record)
        self._plain.append(record_to_json(reply.record))
        self._step(request, "written by another coordinator")
        self._recover()

    # What befalls the coordinator.

    def _fail_over(self) -> None:
        self._recover()
        self.coordinator = recover(self.topic, self.coordinator)
        self._step(asks.FailOver(), "")
        self.exercised.update(_replayed(self.topic))
        for key in tuple(self.keys):
            held = self.coordinator.held.get(key)
            self._request(ReadState(key, held.leader_fence if held else 0))
            if self.can.summary:
                self._request(ReadStateSummary(key))

    def _recover(self) -> None:
        offset = self.topic.first_offset
        reply = self._target.ask("recover", records=self._plain, offset=offset)
        if "error" in reply:
            raise _DeviatedError(crashed(self._operation, error_text(reply)))

    def _take_snapshots(self) -> None:
        records = self._appended(asks.TakeSnapshots(), "snapshots")
        held = self.coordinator.held
        # Apache Kafka lets the timer pass while every latest snapshot is one of an idle
        # share-partition: nothing was written whole since, so that nothing waits for its pruning.
        active = any(each.created_ms == each.written_ms for each in held.values())
        due = set(due_for_snapshot(self.coordinator, self.now, self._interval) if active else ())
        for record in records:
            due.discard(record.key)
            self._snapshot(record)
        if due:
            key = min(due, key=str)
            texts = "none", "no snapshot", f"one of {asks.key_text(key)}"
            raise self._deviated(_GUARD.IDLE_GETS_SNAPSHOT, *texts)

    def _snapshot(self, record: StateRecord) -> None:
        """Judge a snapshot of an idle share-partition."""
        if record.key not in self.coordinator.held or not isinstance(record.value, ShareSnapshot):
            texts = "no such snapshot", _record_text(record), "a snapshot of what is held"
            raise self._deviated(_GUARD.STATE_IS_WRITTEN, *texts)
        reply = snapshot_again(self.coordinator, record.key, self.now)
        after = recover(append(self.topic, record), self.coordinator).held[record.key]
        told = reply.record.value if reply.record else None
        assert isinstance(told, ShareSnapshot)  # noqa: S101 - snapshot_again writes one
        durable = reply.coordinator.held[record.key].durable
        counts = self.can.delivery_complete_count
        mismatch = state_mismatch(after.durable, durable, counts=counts)
        if mismatch := mismatch or times_mismatch(record.value, told):
            raise self._deviated(*attrs.astuple(mismatch))
        self.coordinator, self.topic = reply.coordinator, append(self.topic, record)
        self.exercised.update(_records_named((record,), self._operation))

    def _delete_topic(self, topic_id: UUID) -> None:
        if topic_id not in self.coordinator.topics:
            return
        command = asks.DeleteTopic(topic_id)
        after, wanted = forget_topic(self.coordinator, topic_id)
        records = self._appended(command, "forget", topics=[uuid_text(topic_id)])
        if sorted(map(_record_text, records)) != sorted(map(_record_text, wanted)):
            texts = ["; ".join(map(_record_text, each)) or "nothing" for each in (records, wanted)]
            way = "the tombstones of a deleted topic"
            raise self._deviated(_GUARD.STATE_IS_WRITTEN, way, *texts)
        self.coordinator = attrs.evolve(after, topics=after.topics.delete(topic_id))
        self.topic = append(self.topic, *records)
        self.exercised.update(_records_named(tuple(records), self._operation))

    def _appended(self, command: asks.StateAsk, do: str, **fields: object) -> list[StateRecord]:
        """Return the records that the coordinator appends by itself."""
        reply = self._asked(command, do, **fields)
        with self._reading(command, reply):
            records = records_of(reply, stamped=True)
        self._plain += reply.get("records", [])
        self._step(command, "; ".join(map(_record_text, records)) or "no record")
        self.answered[f"{self._operation} NONE"] += 1
        return records

    def _prune(self) -> None:
        reply = self._asked(asks.PruneTopic(), "redundant")
        told, first = reply.get("offset"), self.topic.first_offset
        limit = redundant_below(self.topic)
        self.answered[f"{self._operation} NONE"] += 1
        self._step(asks.PruneTopic(), "nothing is redundant" if told is None else f"below {told}")
        below = told if type(told) is int else first
        recorded, expected = f"below {below}", f"below {limit}"
        if below > limit:
            raise self._deviated(_GUARD.PRUNED_IS_REDUNDANT, "too much", recorded, expected)
        if below < limit and self.coordinator.held:
            raise self._deviated(_GUARD.PRUNING_GOES_ON, "too little", recorded, expected)
        del self._plain[: max(below - first, 0)]
        before, self.topic = self.topic, prune(self.topic, below)
        self.exercised.update(changed(before, self.topic, "the topic", self._operation))

    def _find(self, key: SharePartitionKey) -> None:
        text = f"{key.group_id}:{uuid_text(key.topic_id)}:{key.partition}"
        command, wanted = asks.FindPartition(key), state_partition(key, asks.STATE_PARTITIONS)
        reply = self._target.ask("find", key=text)
        found = reply.get("partition")
        got = error_text(reply) if "error" in reply else f"partition {found}"
        self._step(command, got)
        self.answered[f"{self._operation} {'refused' if 'error' in reply else 'NONE'}"] += 1
        if found != wanted or "error" in reply:
            way = "a key is refused" if "error" in reply else "another partition"
            raise self._deviated(_GUARD.COORDINATOR_IS_FOUND, way, got, f"partition {wanted}")
        whose = "a group with a colon" if ":" in key.group_id else "a group"
        self.exercised[answer_name(f"{self._operation} of {whose}", "NONE")] += 1

    # What is told of it.

    def _asked(self, command: asks.StateAsk, do: str, **fields: object) -> dict[str, Any]:
        end = self.topic.first_offset + len(self.topic.records)
        reply = self._target.ask(do, now=self.now, offset=end, **fields)
        if "error" in reply:
            self._step(command, error_text(reply))
            raise _DeviatedError(crashed(self._operation, error_text(reply)))
        return reply

    @contextmanager
    def _reading(self, command: asks.StateAsk, reply: dict[str, Any]) -> Iterator[None]:
        """Read a reply in a block; what cannot be read deviates."""
        try:
            yield
        except InvalidValueError as error:
            self._step(command, printable(str(reply), 300))
            raise _DeviatedError(unreadable(self._operation, error)) from None

    def _step(self, command: asks.StateAsk, answered: str) -> None:
        key = getattr(command, "key", None)
        held = self.coordinator.held.get(key) if key else None
        after = _held_text(held.durable) if held else ""
        asked = printable(asks.ask_text(command))
        self.commands.append(command)
        self._befores.append(self._before)
        self.steps.append(StepText(asked, printable(answered), after, time_ms=self.now))

    def _deviated(
        self, rule: CoordinatorGuard, cause: str, recorded: str, expected: str
    ) -> _DeviatedError:
        words = printable(recorded), expected
        finding = target_finding(rule.name, self._operation, rule.value, *words)
        return _DeviatedError(attrs.evolve(finding, cause=(self._operation, cause)))


def _held_text(durable: Durable) -> str:
    epochs = f"state epoch {durable.state_epoch}, leader epoch {durable.leader_epoch}"
    return f"{epochs}, {durable_text(durable_state(durable))}"


def _record_text(record: StateRecord) -> str:
    """Return a record in a few words."""
    value = record.value
    kind = "tombstone" if value is None else type(value).__name__
    batches = value.state.state_batches if isinstance(value, ShareSnapshot) else ()
    batches = value.state_batches if isinstance(value, ShareUpdate) else batches
    told = record_to_json(record)["value"] or {"data": {}}
    numbers = (f"{n} {v}" for n, v in told["data"].items() if n != "stateBatches")
    return ", ".join(
        (f"{kind} of {asks.key_text(record.key)}", *numbers, *map(batch_text, batches))
    )


def _requested(before: ShareCoordinator, after: ShareCoordinator, seen: Seen) -> Iterator[str]:
    """Yield what a request exercised that was answered legally."""
    request, name = seen.request, type(seen.request).__name__
    yield answer_name(name, seen.answer.status.name)
    held, now = before.held.get(request.key), after.held.get(request.key)
    durable = held.durable if held else None
    yield from changed(durable, now.durable if now else None, "a state", name)
    yield from _records_named((seen.record,) if seen.record else (), name)
    if isinstance(request, WriteState | InitializeState | ReadState) and durable:
        asked = answer_name(name, seen.answer.status.name)
        yield from (f"{number}: {asked}" for number in _compared(request, durable))


def _compared(request: WriteState | InitializeState | ReadState, held: Durable) -> Iterator[str]:
    """Yield how each number of a request relates to the one that is held."""
    for name in _NUMBERS:
        asked, number = getattr(request, name, None), getattr(held, name)
        if asked is None:
            continue
        way = "below" if asked < number else "above" if asked > number else "at"
        yield f"{name.replace('_', ' ')} {'not given' if asked == -1 else way}"


def _records_named(records: tuple[StateRecord, ...], name: str) -> Iterator[str]:
    """Yield the kinds of records that were appended."""
    return (f"{kind_text(record)} → the topic: {name}" for record in records)


def _replayed(topic: StateTopicPartition) -> Iterator[str]:
    """Yield the kinds of records from which a coordinator that took over has its states."""
    for kind in {kind_text(record) for record in topic.records}:
        yield f"the topic → {kind}: FailOver"
    if topic.first_offset:
        yield "the topic → a pruned topic: FailOver"
