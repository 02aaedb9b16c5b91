"""A core with a log and a clock, and the specification as its judge."""

from collections import Counter
from typing import Any

import attrs

from conformance.cores import asks
from conformance.cores.cause import cause_of
from conformance.cores.crash import cause_of_crash
from conformance.cores.malformed import error_text, is_form, malformed, sent
from conformance.cores.progress import Standing, cause_of_stand
from conformance.cores.target import CoreHello, Reply, Request, Target
from conformance.cores.transactions import parts_of
from conformance.deviation import StepText, crashed, target_finding, unreadable
from conformance.exercised import exercised
from conformance.kit import Stage
from judge.choices import recorded_choice
from judge.engine import SpecEngine, check_offsets
from judge.finding import Finding, FindingKind
from judge.follower import Follower
from judge.words import operation_text, outcome_text, printable, ranges_text, snapshot_text, span
from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.guards import Guard
from model.operation_table import OPERATION_TABLE
from model.operations import (
    AcknowledgementBatch,
    Acquire,
    AlterConfig,
    ArchiveAborted,
    Compact,
    Initialize,
    Operation,
)
from model.outcome import Outcome
from model.profile import Profile, profile_named
from model.ranges import OffsetRange
from model.snapshot import DurableState, SharePartitionSnapshot
from model.trace import TraceEvent
from model.trace_codec import event_from_row
from model.trace_json import row_from_object
from spec.partition import SharePartition

_PARTITION = "group:topic:0"
_MAX_TEXT = 300


@attrs.frozen
class Exchanged:
    """One operation: its ``seq`` and ``answers`` are those of the request."""

    seq: int
    operation: Request
    answers: tuple[str, ...]
    reply: Reply


class Scene(Stage[asks.Ask]):
    """A fresh core with its log, its clock and its judge.

    ``steps`` is what happened, in words, ``past`` the same as events of a trace, each with the
    share-partition before it, and ``exchanges`` as the core was asked and answered, with the
    compactions, which ask for nothing;
    ``answered`` counts the events by operation and status, and ``exercised`` the coverage goals
    that they reached. The judge can always follow. A core that has one acquire mode fetches in it,
    whatever a command says: the rules judge what it does.
    """

    def __init__(self, target: Target, hello: CoreHello, profile: Profile | None = None) -> None:
        """Reset the core; its own profile judges it, or another. Raises TargetError."""
        self._target = target
        profile = profile or profile_named(hello.profile)
        self._follower = Follower("spec", engine := SpecEngine(profile), 1, is_recorded=False)
        self._engine = engine
        self._can = hello.capabilities
        self._waiting: list[int] = []
        self.log: list[list[int]] = []
        self.aborted: list[list[int]] = []
        self.log_start = self.log_end = self.now = 0
        self.past: list[Standing] = []
        self.exchanges: list[Exchanged] = []
        self.answered: Counter[str] = Counter()
        self.steps: list[StepText] = []
        self.exercised: Counter[str] = Counter()
        target.reset()

    @property
    def partition(self) -> SharePartition:
        """Return the share-partition by the specification."""
        return self._engine.partition

    @property
    def expected(self) -> Outcome:
        """Return what the rules make of the last event, with the choices that it shows."""
        return self._follower.outcome

    @property
    def waits(self) -> bool:
        """Return whether fetches passed over a record, or found the window full, so far."""
        return bool(self.partition.passed_over) or self.partition.stuck is not None

    def ask(self, ask: asks.Ask) -> Finding | None:
        """Send a command and judge the answer. Raises TargetError if there is none."""
        if isinstance(ask, asks.CoreCompact):
            self._compact(ask.batch)
            return None
        operation = self._operation(ask)
        answers = getattr(ask, "answers", ())
        deviation = self._asked(operation, answers) if operation else None
        if isinstance(ask, asks.CoreTakeOver) and not deviation and self._starts_below_the_log():
            return self._asked(self._log_start(), ())
        return deviation

    def _asked(self, operation: dict[str, Any], answers: asks.Answers) -> Finding | None:
        reply = self._target.apply(len(self.past), operation, answers)
        names = tuple(answer.name for answer in answers)
        self.exchanges.append(Exchanged(len(self.past), operation, names, reply))
        name, steps = str(operation["op"]), len(self.steps)
        if "error" in reply:
            self._unjudged(operation, error_text(reply))
            cause = cause_of_crash(operation, self.partition)
            return attrs.evolve(crashed(name, error_text(reply)), cause=cause)
        before = len(self.past)
        try:
            finding = self._judged(operation, self._event(operation, reply))
        except InvalidValueError as error:
            if is_form(error):
                raise malformed(name, error, reply) from None
            if len(self.steps) == steps:
                self._unjudged(operation, sent(reply))
            return unreadable(name, error)
        if finding:
            return _deviation(name, *finding, self._follower.state)
        return self._not_of_the_log(self.past[before].event.operation)

    def _starts_below_the_log(self) -> bool:
        """Return whether a new leader starts where the log no longer is: its first read says so."""
        return self.partition.ready and self.partition.window.start_offset < self.log_start

    def _compact(self, number: int) -> None:
        """Remove a batch; the judge learns of it, and the core from what it reads next."""
        if number >= len(self.log):
            return
        first, last = self.log.pop(number)
        gone = Compact((OffsetRange(first, last),))
        seq, after = len(self.past), self._follower.state
        self.exchanges.append(Exchanged(seq, {"op": "compact", "first": first}, (), {}))
        event = TraceEvent(_PARTITION, seq, self.now, gone, Outcome(), after)
        self.past.append(Standing(event, self.partition))
        self._follower.step(event)
        self._step(f"the log loses {span(first, last)}")

    def _judged(
        self, operation: dict[str, Any], event: TraceEvent
    ) -> tuple[Finding, tuple[str, ...]] | None:
        """Return what is wrong with a reply, and the probable cause."""
        check_offsets(event.operation, recorded_choice(event))
        read = [OffsetRange(*part) for part in operation.get("aborted", ())]
        for part in parts_of(event, self.partition, read):
            again = isinstance(part.operation, ArchiveAborted)
            fails = bool(operation.get("fails"))
            self._note("archive_aborted" if again else operation["op"], part, fails=fails)
            before = self.partition
            finding = self._follower.step(part)
            if finding and not self._keeps_all_or_none():
                known = cause_of_stand(finding.name, self.past)
                return finding, known or cause_of(finding, part, before, self._follower.outcome)
            self.exercised.update(exercised(before, part, self.partition))
        return None

    def _keeps_all_or_none(self) -> bool:
        """Return whether all conforms if a refused request renews nothing, and go on so.

        KIP-932 has all or none, from which a profile may deviate: a core does either, throughout.
        """
        rules = self.partition.profile.all_or_none
        if rules is None:
            return False
        strict = SpecEngine(rules)
        follower = Follower("spec", strict, 1)
        if any(follower.step(each.event) for each in self.past):
            return False
        self._follower, self._engine = follower, strict
        return True

    def _not_of_the_log(self, operation: Operation) -> Finding | None:
        """Return a deviation if the core read a log batch that the kit's log does not hold.

        The relation cannot say so of a batch that was compacted: a real log may keep its header.
        """
        for read in operation.log_batches if isinstance(operation, Acquire) else ():
            if any(first <= read.first and read.last <= last for first, last in self.log):
                continue
            guard = Guard.READ_IS_OF_THE_LOG
            held = ranges_text(OffsetRange(first, last) for first, last in self.log)
            texts = f"read {span(read.first, read.last)}", f"parts of {held}"
            state = self._follower.state
            return target_finding(guard.name, "acquire", guard.value, *texts, state=state)
        return None

    def _step(
        self,
        asked: str,
        answered: str = "",
        after: str = "",
        state: SharePartitionSnapshot | None = None,
    ) -> None:
        words = printable(asked), printable(answered), printable(after)
        self.steps.append(StepText(*words, state, self.now))

    def _unjudged(self, request: dict[str, Any], answered: str) -> None:
        """Add a step whose answer cannot be judged, or that has none."""
        name = request["op"]
        reply = NOTHING | _UNTOLD.get(name, {})
        if "status" in request:
            reply |= {"result": {"status": request["status"]}}
        operation = self._event(request, reply).operation
        asked = self._asked_text(operation_text(operation), operation)
        if isinstance(operation, Acquire):
            log = ranges_text(OffsetRange(first, last) for first, last in self.log)
            asked = f"{asked.partition(_READ)[0]}, of the log {log}"
        elif name == "finish_dead_letter":
            asked = f"dead letters end: number {request['nth']}"
        self._step(asked, printable(answered, _MAX_TEXT))

    def _asked_text(self, text: str, operation: Operation) -> str:
        """Return an operation in words; a sequence begins with the profile that judges it."""
        profile = f"profile {self.partition.profile.name}: "
        return profile + text if isinstance(operation, Initialize) else text

    def _operation(  # noqa: C901, PLR0911 - one for each class
        self, ask: asks.Ask
    ) -> dict[str, Any] | None:
        modes = self._can.acquire_modes
        match ask:
            case asks.CoreTakeOver():
                return self._take_over(ask)
            case asks.CoreProduce(batches):
                return self._produce(batches)
            case asks.CoreProduceAborted(size):
                self.aborted.append([self.log_end, self.log_end + size - 1])
                return self._produce(((0, size), (0, 1)))
            case asks.CoreFetch():
                return {
                    "op": "acquire",
                    "member": ask.member,
                    "acquire_mode": modes[0] if len(modes) == 1 else ask.mode.value,
                    "batch_size": ask.batch_size,
                    "max_fetch_records": ask.max_records,
                    "max_batches": ask.max_batches,
                    "log": [*self.log],
                    "log_start_offset": self.log_start,
                    "log_end_offset": self.log_end,
                    **self._aborted(),
                }
            case asks.CoreAcknowledge(member, batches):
                rows = [_row(batch) for batch in batches]
                return {"op": "acknowledge", "member": member, "batches": rows}
            case asks.CoreMemberLeaves(member):
                return {"op": "release", "member": member}
            case asks.CoreAdvanceTime(ms):
                self.now += ms
                return {"op": "advance_time", "ms": ms}
            case asks.CoreAdvanceLogStart(by):
                self.log_start = min(self.log_end, self.log_start + by)
                self.log = [batch for batch in self.log if batch[1] >= self.log_start]
                return self._log_start()
            case AlterConfig(config):
                return {"op": "alter_config", "config": _config(config)}
            case asks.CoreFinishDeadLetter(nth):
                fails = {"fails": True} if ask.fails else {}
                return {"op": "finish_dead_letter", "nth": nth, **fails}
            case asks.CoreCompleteWrite(nth, status) if self._waiting:
                id_ = self._waiting.pop(nth % len(self._waiting))
                return {"op": "complete_write", "id": id_, "status": status.name}
        return None

    def _log_start(self) -> dict[str, Any]:
        return {"op": "advance_log_start", "log_start_offset": self.log_start}

    def _aborted(self) -> dict[str, Any]:
        present = [batch for batch in self.aborted if batch in self.log]
        return {"aborted": present} if present else {}

    def _take_over(self, ask: asks.CoreTakeOver) -> dict[str, Any]:
        if not self.past:
            self.log_start = self.log_end = ask.log_start
        first = ask.persisted or DurableState(ask.log_start, 0)
        persisted = self._engine.durable() if self.past else first
        self._waiting.clear()
        return {
            "op": "initialize",
            "config": _config(ask.config),
            "log_start_offset": self.log_start,
            "log_end_offset": self.log_end,
            "persisted": durable_object(persisted),
            "time_ms": self.now,
        }

    def _produce(self, batches: tuple[tuple[int, int], ...]) -> dict[str, Any]:
        rows = []
        for missing, size in batches:
            first = self.log_end + missing
            self.log_end = first + size
            rows.append([first, self.log_end - 1])
        self.log += rows
        return {"op": "produce", "log_batches": rows, "log_end_offset": self.log_end}

    def _event(self, operation: dict[str, Any], reply: Reply) -> TraceEvent:
        """Return a request and its reply as an event of a trace; the core reports what it read."""
        arguments = {k: v for k, v in operation.items() if k in _RECORDED[operation["op"]]}
        answer = {key: reply[key] for key in REPLIED if key in reply}
        if answer.get("skipped"):
            answer |= {"fetch_offset": 0, "log_batches": []}
        plain = {
            "partition": _PARTITION,
            "seq": len(self.past),
            "time_ms": self.now,
            **arguments,
            **answer,
        }
        event = event_from_row(row_from_object(plain))
        if self._can.delivery_complete_count and not all(
            write.counted for write in event.outcome.writes
        ):
            raise InvalidValueError("writes.delivery_complete_count", None, "an integer")
        return event

    def _note(self, operation: str, event: TraceEvent, *, fails: bool) -> None:
        self.past.append(Standing(attrs.evolve(event, seq=len(self.past)), self.partition))
        status = event.outcome.status.name if event.outcome.can_acquire else "skipped"
        self.answered[f"{operation} {status}"] += 1
        asked, answered = operation_text(event.operation), outcome_text(event.outcome)
        asked += "; the queue fails" if fails else ""
        after = snapshot_text(event.after)
        self._step(self._asked_text(asked, event.operation), answered, after, event.after)
        self._waiting += (w.id for w in event.outcome.writes if w.status is ErrorCode.PENDING)


NOTHING: Reply = {
    "result": {"status": "NONE"},
    "writes": [],
    "completed": [],
    "after": {"start_offset": 0, "end_offset": 0, "delivery_complete_count": 0},
}
_UNTOLD: dict[str, Reply] = {
    "acquire": {"fetch_offset": 0, "log_batches": []},
    "finish_dead_letter": {"ranges": []},
}
"""A reply that is as good as none, and what some operations add."""

_READ = ", read at "
"""What the words of an acquire go on with that only an answer can tell."""

REPLIED = (
    "result", "writes", "completed", "after", "skipped", "fetch_offset", "log_batches", "ranges",
)  # fmt: skip
"""The fields of a reply that an event of a trace has."""

_RECORDED = {row.name: {"op", *row.fields} for row in OPERATION_TABLE}
"""What an event of a trace has of a request; the rest of a request steers the target."""


def _config(config: SharePartitionConfig) -> dict[str, Any]:
    return {
        "delivery_count_limit": config.delivery_count_limit,
        "partition_max_record_locks": config.partition_max_record_locks,
        "record_lock_duration_ms": config.record_lock_duration_ms,
        "auto_offset_reset": config.auto_offset_reset.value,
        "isolation_level": config.isolation_level.value,
        "renew_acknowledge_enable": config.renew_acknowledge_enable,
        "dead_letter_queue": config.dead_letter_queue,
    }


def durable_object(held: DurableState) -> dict[str, Any]:
    """Return a durable state as messages have it."""
    batches = [[b.first, b.last, int(b.state), b.delivery_count] for b in held.state_batches]
    return {
        "start_offset": held.start_offset,
        "delivery_complete_count": held.delivery_complete_count,
        "state_batches": batches,
    }


def _row(batch: AcknowledgementBatch) -> list[Any]:
    return [batch.first, batch.last, [int(type_) for type_ in batch.types]]


def _deviation(
    operation: str, finding: Finding, cause: tuple[str, ...], state: SharePartitionSnapshot
) -> Finding:
    found = target_finding(
        finding.name,
        operation,
        finding.sentence,
        printable(finding.recorded),
        printable(finding.expected),
        before=printable(finding.before),
        state=None if finding.kind is FindingKind.GUARD else state,
    )
    return attrs.evolve(found, cause=cause)
