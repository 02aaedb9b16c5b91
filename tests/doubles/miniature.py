"""A share-partition in two hundred naive lines, right or with classic faults.

The kit's own tests let it find each fault. It is also an example of a driver:
``python -m tests.doubles.miniature [FAULT]...`` speaks the protocol on standard input and output.
"""

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar

from conformance.cores.protocol import VERSION
from conformance.cores.target import Capabilities, Hello, Reply, Request
from model.errors import ErrorCode


class FaultKind(StrEnum):
    """What a miniature does wrong."""

    NONE = "none"
    RELEASE_GIVES_ATTEMPT_BACK = "a release takes one from the delivery count"
    RELEASE_IGNORES_LIMIT = "a release at the delivery limit makes the record available"
    EXPIRY_IGNORES_LIMIT = "an expiry at the delivery limit makes the record available"
    REJECT_ACKNOWLEDGES = "a rejected record is ACKNOWLEDGED"
    GAP_IS_RELEASED = "a gap is released"
    ANYBODY_ACKNOWLEDGES = "who does not own a record may acknowledge it"
    LOCK_ENDS_EARLY = "an acquisition lock ends after half its duration"
    LOCK_NEVER_ENDS = "an acquisition lock does not expire"
    RENEW_IS_FORGOTTEN = "a renewed lock ends at its old deadline"
    START_PASSES_HELD = "the start offset passes a record that is held"
    WINDOW_HAS_NO_LIMIT = "the window grows without limit"
    WRITE_AFTER_MOVE = "a write carries the start offset that it causes"
    FAILED_WRITE_STAYS = "a write that fails is not undone"
    HALF_IS_APPLIED = "a refused request is applied up to its error"
    COUNT_STAYS = "a redelivery does not count"
    LEAVING_KEEPS = "a member that leaves keeps its records"


AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED = "AVAILABLE", "ACQUIRED", "ACKNOWLEDGED", "ARCHIVED"
_IDS = {AVAILABLE: 0, ACKNOWLEDGED: 2, ARCHIVED: 4}
_NAMES = {id_: name for name, id_ in _IDS.items()}
_ENDS = {0: ARCHIVED, 1: ACKNOWLEDGED, 3: ARCHIVED}
_RELEASE, _RENEW = 2, 4
_INVALID = "INVALID_RECORD_STATE"

Record = dict[str, Any]


class Miniature:
    """One share-partition: a dictionary of records by offset."""

    _new: ClassVar[Record] = {"state": AVAILABLE, "count": 0, "owner": None, "write": None}

    def __init__(self, *faults: FaultKind) -> None:
        """Do these things wrong."""
        self._faults = frozenset(faults)
        self._title = ", ".join(faults) or FaultKind.NONE
        self.reset()

    def hello(self) -> Hello:
        """Return who this is."""
        failing = (ErrorCode.COORDINATOR_NOT_AVAILABLE,)
        can = Capabilities(("record_limit",), pending_writes=True, write_errors=failing)
        return Hello(f"miniature: {self._title}", "1", "kip", can)

    def reset(self) -> None:
        """Forget everything."""
        self._records: dict[int, Record] = {}
        self._start = self._end = self._now = self._writes = 0
        self._log: set[int] = set()
        self._waiting: dict[int, tuple[int, list[int]]] = {}

    def close(self) -> None:
        """Do nothing: there is nothing to let go."""

    def apply(self, seq: int, operation: Request, answers: Sequence[ErrorCode]) -> Reply:
        """Apply one operation."""
        self._seq, self._answers = seq, [answer.name for answer in answers]
        self._written: list[dict[str, Any]] = []
        self._completed: list[dict[str, Any]] = []
        told = getattr(self, f"_{operation['op']}")(operation) or {"result": {"status": "NONE"}}
        self._move_start()
        records = [
            [o, o, r["state"], r["count"], r["owner"], r["write"] is not None]
            for o, r in sorted(self._records.items())
        ]
        after = {
            "start_offset": self._start,
            "end_offset": self._end,
            "delivery_complete_count": self._complete(),
            "records": records,
        }
        return {**told, "writes": self._written, "completed": self._completed, "after": after}

    def _complete(self) -> int:
        return sum(r["state"] in (ACKNOWLEDGED, ARCHIVED) for r in self._records.values())

    def _initialize(self, operation: Request) -> dict[str, Any] | None:
        config, stored = operation["config"], operation["persisted"]
        self._limit = config["delivery_count_limit"]
        self._width = config["partition_max_record_locks"]
        self._lock = config["record_lock_duration_ms"]
        self._renews = config.get("renew_acknowledge_enable", True)
        self._waiting.clear()
        self._now, start = operation["time_ms"], stored["start_offset"]
        if start == -1:
            earliest = config["auto_offset_reset"] == "earliest"
            start = operation["log_start_offset" if earliest else "log_end_offset"]
        bounds = [start, *(o + at for b in stored["state_batches"] for at, o in enumerate(b[:2]))]
        if bounds != sorted(bounds):
            self.reset()
            return {"result": {"status": "UNKNOWN_SERVER_ERROR"}}
        self._start = start
        self._records = {
            offset: {**self._new, "state": _NAMES[state], "count": count}
            for first, last, state, count in stored["state_batches"]
            for offset in range(first, last + 1)
        }
        self._end = max(self._records, default=self._start - 1) + 1
        return None

    def _produce(self, operation: Request) -> None:
        for first, last in operation["log_batches"]:
            self._log.update(range(first, last + 1))

    def _acquire(self, operation: Request) -> dict[str, Any]:
        inside = range(self._start, self._end)
        present = (o for o in inside if o in self._records or o in self._log)
        wanted = (o for o in present if self._is_free(self._records.get(o, self._new)))
        at = next(wanted, self._end)
        if at == self._end and self._end - self._start >= self._width:
            return {"skipped": True, "result": {"can_acquire": False}}
        read = [b for b in operation["log"] if b[1] >= at][: operation["max_batches"]]
        self._learn(at, read)
        self._move_start()
        taken: list[list[int]] = []
        lowest = self._start if self._records or not read else max(self._start, read[0][0])
        for offset in (o for first, last in read for o in range(first, last + 1)):
            room = offset < lowest + self._width
            if FaultKind.WINDOW_HAS_NO_LIMIT in self._faults:
                room = True
            record = self._records.get(offset, self._new)
            if len(taken) == operation["max_fetch_records"] or offset < self._start:
                continue
            if self._is_free(record) and (room or offset < self._end):
                redelivered = record["count"] and FaultKind.COUNT_STAYS in self._faults
                count = record["count"] + (not redelivered)
                taken.append([offset, offset, count])
                self._records[offset] = {
                    **self._new, "state": ACQUIRED, "count": count, "owner": operation["member"],
                    "deadline": self._now + self._lock,
                }  # fmt: skip
                self._end = max(self._end, offset + 1)
        result = {"status": "NONE", "acquired": taken, "count": len(taken)}
        return {"result": result, "fetch_offset": at, "log_batches": read}

    def _learn(self, at: int, read: list[list[int]]) -> None:
        """Learn from a read which offsets the log lacks; available records there are archived."""
        seen = {o for first, last in read for o in range(first, last + 1)}
        for offset in range(at, max(seen, default=at)):
            if offset not in seen:
                self._log.discard(offset)
        for offset, record in self._records.items():
            if read and at <= offset < read[0][0] and record["state"] == AVAILABLE:
                record["state"], record["former"] = ARCHIVED, None

    @staticmethod
    def _is_free(record: Record) -> bool:
        return record["state"] == AVAILABLE and record["write"] is None

    def _acknowledge(self, operation: Request) -> dict[str, Any]:
        before = {offset: dict(record) for offset, record in self._records.items()}
        changed: list[int] = []
        for first, last, types in operation["batches"]:
            if last >= max(self._end, self._start):
                return self._refused(before, changed, "INVALID_REQUEST")
            for offset in range(max(first, self._start), last + 1):
                record = self._records.get(offset)
                kind = types[0] if len(types) == 1 else types[offset - first]
                if record is None:
                    continue
                owns = record["owner"] == operation["member"]
                owns = owns or FaultKind.ANYBODY_ACKNOWLEDGES in self._faults
                if record["state"] != ACQUIRED or not owns or (kind == _RENEW and not self._renews):
                    return self._refused(before, changed, _INVALID)
                if kind != _RENEW:
                    self._finish(record, kind)
                    changed.append(offset)
                elif FaultKind.RENEW_IS_FORGOTTEN not in self._faults:
                    record["deadline"] = self._now + self._lock
        return self._written_and_answered(changed)

    def _refused(
        self, before: dict[int, Record], changed: list[int], status: str
    ) -> dict[str, Any]:
        if FaultKind.HALF_IS_APPLIED in self._faults and changed:
            self._written_and_answered(changed)
        else:
            self._records = before
        return {"result": {"status": status}}

    def _finish(self, record: Record, kind: int) -> None:
        record["former"] = dict(record)
        record["state"] = _ENDS.get(kind) or self._after_attempt(
            record, FaultKind.RELEASE_IGNORES_LIMIT
        )
        if kind == _RELEASE and FaultKind.RELEASE_GIVES_ATTEMPT_BACK in self._faults:
            record["count"] -= 1
        if kind == 0 and FaultKind.GAP_IS_RELEASED in self._faults:
            record["state"] = AVAILABLE
        if record["state"] == ARCHIVED and kind not in (0, _RELEASE):
            wrong = FaultKind.REJECT_ACKNOWLEDGES in self._faults
            record["state"] = ACKNOWLEDGED if wrong else ARCHIVED
        record["owner"] = None

    def _after_attempt(self, record: Record, ignores: FaultKind | None = None) -> str:
        over = record["count"] >= self._limit and ignores not in self._faults
        return ARCHIVED if over else AVAILABLE

    def _release(self, operation: Request) -> dict[str, Any]:
        held = [o for o, r in sorted(self._records.items()) if r["owner"] == operation["member"]]
        if FaultKind.LEAVING_KEEPS in self._faults:
            held = []
        for offset in held:
            self._finish(self._records[offset], _RELEASE)
        return self._written_and_answered(held)

    def _advance_time(self, operation: Request) -> None:
        self._now += operation["ms"]
        early = self._lock // 2 if FaultKind.LOCK_ENDS_EARLY in self._faults else 0
        over = [
            o
            for o, r in sorted(self._records.items())
            if r["state"] == ACQUIRED and r["deadline"] - early <= self._now
        ]
        if FaultKind.LOCK_NEVER_ENDS in self._faults or not over:
            return
        for offset in over:
            record = self._records[offset]
            state = self._after_attempt(record, FaultKind.EXPIRY_IGNORES_LIMIT)
            self._records[offset] = {**self._new, "state": state, "count": record["count"]}
        status = self._write(over)
        if status == "PENDING":
            self._waiting[self._writes - 1] = (-1, [])

    def _advance_log_start(self, operation: Request) -> None:
        start = operation["log_start_offset"]
        if start > self._start:
            self._start, self._end = start, max(self._end, start)
            self._records = {o: r for o, r in self._records.items() if o >= start}

    def _complete_write(self, operation: Request) -> dict[str, Any]:
        seq, offsets = self._waiting.pop(operation["id"])
        self._settle(offsets, operation["status"])
        if seq >= 0:
            self._completed.append({"seq": seq, "status": operation["status"]})
        return {"result": {"status": operation["status"]}}

    def _written_and_answered(self, offsets: list[int]) -> dict[str, Any]:
        if not offsets:
            return {"result": {"status": "NONE"}}
        for offset in offsets:
            self._records[offset]["write"] = self._writes
        status = self._write(offsets)
        if status == "PENDING":
            self._waiting[self._writes - 1] = (self._seq, offsets)
        else:
            self._settle(offsets, status)
        return {"result": {"status": status}}

    def _write(self, offsets: list[int]) -> str:
        start, complete = self._start, self._complete()
        if FaultKind.WRITE_AFTER_MOVE in self._faults:
            start = self._passed()
        rows = [[o, o, _IDS[self._records[o]["state"]], self._records[o]["count"]] for o in offsets]
        status = self._answers.pop(0) if self._answers else "NONE"
        write = {"id": self._writes, "start_offset": start, "delivery_complete_count": complete}
        self._written.append({**write, "state_batches": rows, "status": status})
        self._writes += 1
        return status

    def _settle(self, offsets: list[int], status: str) -> None:
        for offset in offsets:
            record = self._records.get(offset)
            if record is None or record["write"] is None:
                continue
            former = record.get("former")
            record["write"] = None
            if status == "NONE" or former is None or FaultKind.FAILED_WRITE_STAYS in self._faults:
                continue
            if former["deadline"] > self._now:
                self._records[offset] = former
            else:
                state = self._after_attempt(former)
                self._records[offset] = {**self._new, "state": state, "count": former["count"]}

    def _passed(self) -> int:
        at = self._start
        while at < self._end:
            record = self._records.get(at)
            done = at not in self._log
            if record is not None:
                done = record["state"] in (ACKNOWLEDGED, ARCHIVED) and record["write"] is None
                if FaultKind.START_PASSES_HELD in self._faults:
                    done = done or record["state"] == ACQUIRED
            if not done:
                break
            at += 1
        return at

    def _move_start(self) -> None:
        self._start = self._passed()
        self._records = {o: r for o, r in self._records.items() if o >= self._start}


def serve(*faults: str) -> None:
    """Speak the protocol until the kit says goodbye."""
    target = Miniature(*(FaultKind(fault) for fault in faults))
    for line in sys.stdin:
        asked = json.loads(line)
        reply: dict[str, Any] = {}
        if asked["do"] == "hello":
            hello = target.hello()
            can = {
                "acquire_modes": list(hello.capabilities.acquire_modes),
                "pending_writes": True,
                "write_errors": [error.name for error in hello.capabilities.write_errors],
            }
            reply = {"protocol": VERSION, "name": hello.name, "version": "1", "profile": "kip"}
            reply["capabilities"] = can
        elif asked["do"] == "reset":
            target.reset()
        elif asked["do"] == "apply":
            answers = [ErrorCode[name] for name in asked["answers"]]
            reply = target.apply(asked["seq"], asked["operation"], answers)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
        if asked["do"] == "goodbye":
            return


if __name__ == "__main__":
    serve(*sys.argv[1:])
