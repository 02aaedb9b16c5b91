"""A core with a log and a clock, and the specification as its judge."""

from collections import Counter
from typing import Any

import attrs

from conformance.cores import asks
from conformance.cores.goals import covered
from conformance.cores.target import Hello, Reply, Target
from conformance.cores.transactions import parts_of
from conformance.deviation import CRASHED, UNREADABLE, Deviation, StepText
from judge.engine import SpecEngine
from judge.finding import Finding, FindingKind
from judge.follower import Follower
from judge.words import operation_text, outcome_text, printable, snapshot_text, span
from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.operation_table import OPERATION_TABLE
from model.operations import AcknowledgementBatch, ArchiveAborted, Compact
from model.outcome import Outcome
from model.profile import profile_named
from model.ranges import OffsetRange
from model.snapshot import DurableState, SharePartitionSnapshot
from model.trace import TraceEvent
from model.trace_codec import event_from_row
from model.trace_json import row_from_object
from spec.partition import SharePartition

_SENTENCES = {
    CRASHED: "An operation ends with an answer, not with a failure of the implementation.",
    UNREADABLE: "What an operation answers is possible at all, whatever happened before.",
}
_PARTITION = "group:topic:0"
_MAX_TEXT = 300


class Scene:
    """A fresh core with its log, its clock and its judge.

    ``steps`` is what happened, in words, and ``events`` the same as events of a trace;
    ``answered`` counts the events by operation and status, and ``exercised`` the coverage goals
    that they reached. The judge can always follow, so it is never ``over``.
    """

    over = False

    def __init__(self, target: Target, hello: Hello) -> None:
        """Reset the core. Raises TargetError if that fails."""
        self._target = target
        self._follower = Follower("spec", engine := SpecEngine(profile_named(hello.profile)), 1)
        self._engine = engine
        self._waiting: list[int] = []
        self.log: list[list[int]] = []
        self.aborted: list[list[int]] = []
        self.log_start = self.log_end = self.now = 0
        self.events: list[TraceEvent] = []
        self.answered: Counter[str] = Counter()
        self.steps: list[StepText] = []
        self.exercised: Counter[str] = Counter()
        target.reset()

    @property
    def partition(self) -> SharePartition:
        """Return the share-partition by the specification."""
        return self._engine.partition

    @property
    def waits(self) -> bool:
        """Return whether fetches passed over a record, or found the window full, so far."""
        return self.partition.waiting is not None or self.partition.stuck is not None

    def ask(self, ask: asks.Ask) -> Deviation | None:
        """Send a command and judge the answer. Raises TargetError if there is none."""
        if isinstance(ask, asks.Compact):
            self._compact(ask.batch)
            return None
        operation = self._operation(ask)
        answers = getattr(ask, "answers", ())
        deviation = self._asked(operation, answers) if operation else None
        if isinstance(ask, asks.TakeOver) and not deviation and self._starts_below_the_log():
            return self._asked(self._log_start(), ())
        return deviation

    def _asked(self, operation: dict[str, Any], answers: asks.Answers) -> Deviation | None:
        reply = self._target.apply(len(self.events), operation, answers)
        name = str(operation["op"])
        if "error" in reply:
            asked = ", ".join(f"{key} {operation[key]}" for key in operation if key in _SHOWN)
            self.steps.append(StepText(asked, printable(str(reply["error"]), _MAX_TEXT), ""))
            return self._failed(CRASHED, name, str(reply["error"]), "an answer")
        try:
            finding = self._judged(operation, reply)
        except InvalidValueError as error:
            return self._failed(UNREADABLE, name, str(error), "what is possible")
        return _deviation(name, finding, self._follower.state) if finding else None

    def _starts_below_the_log(self) -> bool:
        """Return whether a new leader starts where the log no longer is: its first read says so."""
        return self.partition.ready and self.partition.window.start_offset < self.log_start

    def _compact(self, number: int) -> None:
        """Remove a batch; the judge learns of it, and the core from what it reads next."""
        if number >= len(self.log):
            return
        first, last = self.log.pop(number)
        gone = Compact((OffsetRange(first, last),))
        seq, after = len(self.events), self._follower.state
        self._follower.step(event := TraceEvent(_PARTITION, seq, self.now, gone, Outcome(), after))
        self.events.append(event)
        self.steps.append(StepText(f"the log loses {span(first, last)}", "", ""))

    def _judged(self, operation: dict[str, Any], reply: Reply) -> Finding | None:
        read = [OffsetRange(*part) for part in operation.get("aborted", ())]
        for event in parts_of(self._event(operation, reply), self.partition, read):
            again = isinstance(event.operation, ArchiveAborted)
            self._note("archive_aborted" if again else operation["op"], event)
            before = self.partition
            if found := self._follower.step(event):
                return found
            self.exercised.update(covered(before, event, self.partition, self.log))
        return None

    def close(self) -> None:
        """Do nothing: the next scene resets the core."""

    def _failed(self, name: str, operation: str, said: str, expected: str) -> Deviation:
        text = printable(said, _MAX_TEXT)
        return Deviation(name, operation, _SENTENCES[name], text, expected, "")

    def _operation(  # noqa: C901, PLR0911 - one for each class
        self, ask: asks.Ask
    ) -> dict[str, Any] | None:
        match ask:
            case asks.TakeOver():
                return self._take_over(ask)
            case asks.Produce(batches):
                return self._produce(batches)
            case asks.ProduceAborted(size):
                self.aborted.append([self.log_end, self.log_end + size - 1])
                return self._produce(((0, size), (0, 1)))
            case asks.Fetch():
                return {
                    "op": "acquire",
                    "member": ask.member,
                    "acquire_mode": ask.mode.value,
                    "batch_size": ask.batch_size,
                    "max_fetch_records": ask.max_records,
                    "max_batches": ask.max_batches,
                    "log": self.log,
                    "log_start_offset": self.log_start,
                    "log_end_offset": self.log_end,
                    **self._aborted(),
                }
            case asks.Acknowledge(member, batches):
                rows = [_row(batch) for batch in batches]
                return {"op": "acknowledge", "member": member, "batches": rows}
            case asks.Release(member):
                return {"op": "release", "member": member}
            case asks.AdvanceTime(ms):
                self.now += ms
                return {"op": "advance_time", "ms": ms}
            case asks.AdvanceLogStart(by):
                self.log_start = min(self.log_end, self.log_start + by)
                self.log = [batch for batch in self.log if batch[1] >= self.log_start]
                return self._log_start()
            case asks.AlterConfig(config):
                return {"op": "alter_config", "config": _config(config)}
            case asks.FinishDeadLetter(nth):
                return {"op": "finish_dead_letter", "nth": nth}
            case asks.CompleteWrite(nth, status) if self._waiting:
                id_ = self._waiting.pop(nth % len(self._waiting))
                return {"op": "complete_write", "id": id_, "status": status.name}
        return None

    def _log_start(self) -> dict[str, Any]:
        return {"op": "advance_log_start", "log_start_offset": self.log_start}

    def _aborted(self) -> dict[str, Any]:
        there = [batch for batch in self.aborted if batch in self.log]
        return {"aborted": there} if there else {}

    def _take_over(self, ask: asks.TakeOver) -> dict[str, Any]:
        first = ask.persisted or DurableState(0, 0)
        persisted = self._engine.durable() if self.events else first
        self._waiting.clear()
        return {
            "op": "initialize",
            "config": _config(ask.config),
            "log_start_offset": self.log_start,
            "log_end_offset": self.log_end,
            "persisted": {
                "start_offset": persisted.start_offset,
                "delivery_complete_count": persisted.delivery_complete_count,
                "state_batches": [
                    [b.first, b.last, int(b.state), b.delivery_count]
                    for b in persisted.state_batches
                ],
            },
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
        told = {key: reply[key] for key in REPLIED if key in reply}
        if told.get("skipped"):
            told |= {"fetch_offset": 0, "log_batches": []}
        plain = {
            "partition": _PARTITION,
            "seq": len(self.events),
            "time_ms": self.now,
            **arguments,
            **told,
        }
        return event_from_row(row_from_object(plain))

    def _note(self, operation: str, event: TraceEvent) -> None:
        self.events.append(attrs.evolve(event, seq=len(self.events)))
        status = event.outcome.status.name if event.outcome.can_acquire else "skipped"
        self.answered[f"{operation} {status}"] += 1
        asked, answered = operation_text(event.operation), outcome_text(event.outcome)
        after = snapshot_text(event.after)
        words = printable(asked), printable(answered), printable(after)
        self.steps.append(StepText(*words, event.after))
        self._waiting += (w.id for w in event.outcome.writes if w.status is ErrorCode.PENDING)


_SHOWN = ("op", "member", "acquire_mode", "max_fetch_records", "batches", "ms", "log", "id")
REPLIED = (
    "result", "writes", "completed", "after", "skipped", "fetch_offset", "log_batches", "ranges",
)  # fmt: skip
"""The fields of a reply that an event of a trace has."""

_RECORDED = {row.name: {"op", *row.fields} for row in OPERATION_TABLE}
"""What an event of a trace has of a request; the rest of a request steers the target."""


def _row(batch: AcknowledgementBatch) -> list[Any]:
    return [batch.first, batch.last, [int(type_) for type_ in batch.types]]


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


def _deviation(operation: str, finding: Finding, state: SharePartitionSnapshot) -> Deviation:
    return Deviation(
        finding.name,
        operation,
        finding.sentence,
        printable(finding.recorded),
        printable(finding.expected),
        printable(finding.before),
        None if finding.kind is FindingKind.GUARD else state,
    )
