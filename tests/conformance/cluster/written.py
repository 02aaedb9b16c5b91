"""Histories of a cluster, as tests write them."""

import json
from typing import Any

import attrs

from conformance.cluster.history import EVENTS, ClusterEvent, read_history
from conformance.cluster.rules import judge_history

GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
AVAILABLE, ACKNOWLEDGED = 0, 2
LOCK_MS, LIMIT = 1000, 3
USUAL: dict[str, object] = {
    **dict.fromkeys(("partition", "node", "leader_epoch", "start_offset"), 0),
    "id": 1,
    "sessions": 1,
    "member": "m1",
    "error": "NONE",
    "log_end_offset": 20,
    "delivery_count_limit": LIMIT,
    "partition_max_record_locks": 20,
    "record_lock_duration_ms": LOCK_MS,
    "updates_per_snapshot": 5,
}
"""The fields of events that tests need not give."""


class Written:
    """A history as it is written, an event after the other, 10 ms apart."""

    def __init__(
        self, isolation: str = "read_committed", *, letters: bool = False, reset: str = "earliest"
    ) -> None:
        self.lines: list[str] = []
        self.ms = 0
        drawn = {"isolation_level": isolation, "dead_letter_queue": letters}
        self.add("settings", **drawn, auto_offset_reset=reset)
        self.add("joined")

    def add(self, event: str, **values: Any) -> "Written":  # noqa: ANN401 - values of JSON
        """Add an event; what is not given of it is as usual."""
        self.ms += 10
        names = (f.name for f in attrs.fields(EVENTS[event]) if f.default is attrs.NOTHING)
        usual = {name: USUAL[name] for name in names if name not in values}
        head = {"run": "g:t", "ms": self.ms, "event": event}
        self.lines.append(json.dumps(head | usual | values))
        return self

    def acquired(self, *ranges: list[int], member: str = "m1", epoch: int = 0) -> "Written":
        return self.add("acquired", leader_epoch=epoch, member=member, ranges=ranges)

    def acknowledged(
        self, id_: int, *batches: list[int], epoch: int = 0, start: int = 0, error: str = "NONE"
    ) -> "Written":
        where = {"leader_epoch": epoch, "start_offset": start}
        self.add("acknowledges", id=id_, batches=batches, **where)
        return self.add("acknowledged", id=id_, error=error)

    def write(self, id_: int, *batches: list[int], epoch: int = 0) -> "Written":
        return self.add("writes", id=id_, leader_epoch=epoch, batches=batches)

    def written(self, id_: int = 1, error: str = "NONE") -> "Written":
        return self.add("written", id=id_, error=error)

    def committed(self, *batches: list[int], epoch: int = 0, kind: str = "update") -> "Written":
        return self.add("durable", leader_epoch=epoch, kind=kind, batches=batches)

    def deleted(self, log_start: int) -> "Written":
        return self.add("deleted", log_start_offset=log_start)

    def altered(
        self, limit: int = LIMIT, lock_ms: int = LOCK_MS, *, stable: bool = True
    ) -> "Written":
        level = "read_committed" if stable else "read_uncommitted"
        settings = {"delivery_count_limit": limit, "record_lock_duration_ms": lock_ms}
        return self.add("altered", isolation_level=level, **settings)

    def aborted(self, *ranges: list[int]) -> "Written":
        return self.add("aborted", ranges=ranges)

    def compacted(self, *ranges: list[int]) -> "Written":
        return self.add("compacted", ranges=ranges)

    def letter(self, *offsets: int) -> "Written":
        for offset in offsets:
            self.add("letter", offset=offset)
        return self

    def buried(self, first: int, last: int, error: str) -> "Written":
        return self.add("buries", first_offset=first, last_offset=last).add("buried", error=error)

    def left(self, how: str, node: int = 0, sessions: int = 1) -> "Written":
        return self.add("left", node=node, how=how, sessions=sessions)

    def after(self, ms: int) -> "Written":
        self.ms += ms
        return self

    def received(self, first: int, last: int) -> "Written":
        return self.add("received", ranges=[[first, last]])

    def polled(self, *offsets: int, error: str = "") -> "Written":
        return self.add("polled", partition=0 if offsets else -1, offsets=offsets, error=error)

    def said(self, first: int, last: int, kind: int = ACCEPT) -> "Written":
        return self.add("said", batches=[[first, last, kind]])

    def told(self, *offsets: int, error: str = "NONE") -> "Written":
        return self.add("told", offsets=offsets, error=error)

    def resigned(self, epoch: int, node: int = 0) -> "Written":
        return self.add("resigned", node=node, leader_epoch=epoch)

    def rest(self, start: int, complete: int, log_end: int, end: int | None = None) -> "Written":
        ends = {"log_end_offset": log_end, "end_offset": log_end if end is None else end}
        return self.add("rest", start_offset=start, delivery_complete_count=complete, **ends)

    def reported(self, start: int, complete: int) -> "Written":
        return self.add("reported", start_offset=start, delivery_complete_count=complete)

    def events(self) -> list[ClusterEvent]:
        return list(read_history(self.lines))


def broken(history: Written) -> list[tuple[str, int | None]]:
    return [(finding.name, finding.offset) for finding in judge_history(history.events())]


def caused(history: Written) -> list[tuple[str, ...]]:
    return [finding.probable_cause for finding in judge_history(history.events())]


def begun(*, letters: bool = False) -> Written:
    return Written(letters=letters).acquired([0, 4, 1])
