"""Histories of a cluster, as tests write them."""

import json
from typing import Any

from conformance.cluster.history import ClusterEvent, read_history
from conformance.cluster.rules import judge_history

GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
AVAILABLE, ACKNOWLEDGED = 0, 2
LOCK_MS, LIMIT = 1000, 3


class Written:
    """A history as it is written, an event after the other, 10 ms apart."""

    def __init__(self, isolation: str = "read_committed", *, letters: bool = False) -> None:
        self.lines: list[str] = []
        self.ms = 0
        self.add(
            "settings",
            delivery_count_limit=LIMIT,
            partition_max_record_locks=20,
            record_lock_duration_ms=LOCK_MS,
            updates_per_snapshot=5,
            isolation_level=isolation,
            dead_letter_queue=letters,
        )

    def add(self, event: str, **values: Any) -> "Written":  # noqa: ANN401 - values of JSON
        self.ms += 10
        self.lines.append(json.dumps({"run": "s1", "ms": self.ms, "event": event, **values}))
        return self

    def acquired(self, *ranges: list[int], member: str = "m1", epoch: int = 0) -> "Written":
        return self.add(
            "acquired", partition=0, node=0, leader_epoch=epoch, member=member, ranges=ranges
        )

    def acknowledged(
        self, id_: int, *batches: list[int], epoch: int = 0, start: int = 0, error: str = "NONE"
    ) -> "Written":
        self.add(
            "acknowledges",
            id=id_,
            partition=0,
            node=0,
            leader_epoch=epoch,
            start_offset=start,
            member="m1",
            batches=batches,
        )
        return self.add("acknowledged", id=id_, error=error)

    def write(self, id_: int, *batches: list[int], epoch: int = 0) -> "Written":
        values = {"partition": 0, "node": 0, "leader_epoch": epoch, "start_offset": 0}
        return self.add("writes", id=id_, batches=batches, **values)

    def committed(self, *batches: list[int], epoch: int = 0, kind: str = "update") -> "Written":
        values = {"partition": 0, "leader_epoch": epoch, "start_offset": 0, "kind": kind}
        return self.add("durable", batches=batches, **values)

    def deleted(self, log_start: int) -> "Written":
        return self.add("deleted", partition=0, log_start_offset=log_start)

    def altered(
        self, limit: int = LIMIT, lock_ms: int = LOCK_MS, *, stable: bool = True
    ) -> "Written":
        return self.add(
            "altered",
            delivery_count_limit=limit,
            partition_max_record_locks=20,
            record_lock_duration_ms=lock_ms,
            isolation_level="read_committed" if stable else "read_uncommitted",
        )

    def aborted(self, *ranges: list[int]) -> "Written":
        return self.add("aborted", partition=0, ranges=ranges)

    def letter(self, *offsets: int) -> "Written":
        for offset in offsets:
            self.add("letter", partition=0, offset=offset)
        return self

    def buried(self, first: int, last: int, error: str) -> "Written":
        values = {"partition": 0, "node": 0, "first_offset": first, "last_offset": last}
        return self.add("buries", id=7, **values).add("buried", id=7, error=error)

    def left(self, how: str, node: int = 0) -> "Written":
        return self.add("left", member="m1", node=node, how=how)

    def after(self, ms: int) -> "Written":
        self.ms += ms
        return self

    def received(self, first: int, last: int) -> "Written":
        return self.add("received", member="m1", partition=0, ranges=[[first, last]])

    def polled(self, *offsets: int, error: str = "") -> "Written":
        values = {"partition": 0 if offsets else -1, "offsets": offsets, "error": error}
        return self.add("polled", member="m1", **values)

    def said(self, first: int, last: int) -> "Written":
        return self.add("said", member="m1", partition=0, batches=[[first, last, ACCEPT]])

    def told(self, *offsets: int, error: str = "NONE") -> "Written":
        return self.add("told", member="m1", partition=0, offsets=offsets, error=error)

    def resigned(self, epoch: int, node: int = 0) -> "Written":
        return self.add("resigned", partition=0, node=node, leader_epoch=epoch)

    def rest(self, start: int, complete: int, log_end: int, end: int | None = None) -> "Written":
        return self.add(
            "rest",
            partition=0,
            log_end_offset=log_end,
            leader_epoch=0,
            start_offset=start,
            end_offset=log_end if end is None else end,
            delivery_complete_count=complete,
        )

    def reported(self, start: int, complete: int) -> "Written":
        values = {"start_offset": start, "delivery_complete_count": complete}
        return self.add("reported", partition=0, log_end_offset=20, **values)

    def events(self) -> list[ClusterEvent]:
        return list(read_history(self.lines))


def broken(history: Written) -> list[tuple[str, int | None]]:
    return [(finding.name, finding.offset) for finding in judge_history(history.events())]


def begun(*, letters: bool = False) -> Written:
    return Written(letters=letters).acquired([0, 4, 1])
