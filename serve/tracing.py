"""What happened at every share-partition, as a trace that ``sharespec replay`` reads."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import BinaryIO

import attrs

from judge.view import snapshot
from model.operations import AdvanceTime, Initialize
from model.outcome import Outcome
from model.trace import TraceEvent
from model.trace_codec import row_from_event
from model.trace_json import line_from_row
from spec.share_broker import Applied, PartitionKey

_NOTHING = Outcome()


@attrs.define
class Trace:
    """A trace that is being written.

    Time that passes at a share-partition without any effect is written with what happens next.
    A share-partition that was deleted and initialized anew has another name: ``lives`` counts.
    A leader that reads the state again is another ``instance`` in its leader epoch.
    """

    file: BinaryIO
    topic_name: Callable[[str], str]
    _events: Counter[str] = attrs.field(factory=Counter)
    _lives: Counter[str] = attrs.field(factory=Counter)
    _led: dict[str, tuple[int, int]] = attrs.field(factory=dict)
    _passed: dict[PartitionKey, Applied] = attrs.field(factory=dict)

    def write(self, journal: Iterable[Applied]) -> None:
        """Write what was applied, in order."""
        for applied in journal:
            if not applied.partition.ready:
                continue
            earlier = self._passed.pop(applied.key, None)
            if isinstance(applied.operation, AdvanceTime):
                applied = _joined(earlier, applied)  # noqa: PLW2901 - it stands for both
                if applied.outcome == _NOTHING:
                    self._passed[applied.key] = applied
                    continue
            elif earlier is not None:
                self._event(earlier)
            self._event(applied)

    def flush(self) -> None:
        """Hand what was written to the operating system."""
        self.file.flush()

    def forget(self, key: PartitionKey) -> None:
        """End the life of a share-partition whose state is deleted."""
        self._passed.pop(key, None)
        self._lives[self._name(key)] += 1

    def close(self) -> None:
        """Write the time that has passed, and close the file."""
        for applied in self._passed.values():
            self._event(applied)
        self._passed.clear()
        self.file.close()

    def _event(self, applied: Applied) -> None:
        name = self._event_name(applied.key)
        if isinstance(applied.operation, Initialize):
            epoch, (before, instance) = (
                applied.operation.persisted.leader_epoch,
                self._led.get(name, (-1, -1)),
            )
            self._led[name] = epoch, instance + 1 if epoch == before else 0
            self._events[name] = 0
        event = TraceEvent(
            name,
            self._events[name],
            applied.partition.now,
            applied.operation,
            applied.outcome,
            snapshot(applied.partition),
            *self._led[name],
        )
        self._events[name] += 1
        self.file.write(line_from_row(row_from_event(event)))

    def _event_name(self, key: PartitionKey) -> str:
        name = self._name(key)
        return f"{name}~{self._lives[name]}" if self._lives[name] else name

    def _name(self, key: PartitionKey) -> str:
        group, topic_partition = key
        return f"{group}:{self.topic_name(topic_partition.topic_id)}:{topic_partition.partition}"


def _joined(earlier: Applied | None, later: Applied) -> Applied:
    """Return two steps of time as one, of which the first had no effect."""
    if earlier is None or not isinstance(later.operation, AdvanceTime):
        return later
    first = earlier.operation
    before = first.ms if isinstance(first, AdvanceTime) else 0
    return attrs.evolve(later, operation=AdvanceTime(before + later.operation.ms))
