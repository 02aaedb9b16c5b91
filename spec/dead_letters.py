"""Records that have failed for good leave through a dead-letter queue (KIP-1191)."""

from collections.abc import Iterator

from model.guards import Guard
from model.operations import FinishDeadLetter
from model.outcome import Answer, Outcome
from spec.partition import SharePartition, Step, is_being_written, require
from spec.record import UNDELIVERED, finish_dead_letter, is_dead_letter
from spec.writes import write_and_forget


def finish_dead_letters(
    partition: SharePartition, operation: FinishDeadLetter, answer: Answer
) -> Step:
    """Archive records that the dead-letter queue has, or could not take (KIP-1191).

    Guard: each is ``record.is_dead_letter``. Offsets below the start offset are passed over. None
    is named only if the queue is empty: it has what waits for it, whichever leader put that there,
    once the write of that record is answered.
    Effect: each as ``record.finish_dead_letter``, also if there is no queue any more.
    Delivery count: unchanged.
    Persistence: one write, also where the start offset has passed all the records; what becomes of
    it changes nothing here.
    """
    records = partition.window.records
    finished = {}
    for offset in _named(partition, operation):
        record = records.get(offset, UNDELIVERED)
        archiving = is_dead_letter(record)
        require(archiving, Guard.DEAD_LETTER_IS_ARCHIVING, f"offset {offset} is not ARCHIVING")
        finished[offset] = finish_dead_letter(record)
    if not operation.ranges:
        waits = _first_dead_letter(partition)
        require(waits is None, Guard.DEAD_LETTER_IS_QUEUED, f"offset {waits} is not in the queue")
        return Step(partition)
    partition, write = write_and_forget(partition, finished, answer)
    return Step(partition, Outcome(writes=(write,)))


def _first_dead_letter(partition: SharePartition) -> int | None:
    records = partition.window.records
    letters = (offset for offset in records if is_dead_letter(records[offset]))
    return min((o for o in letters if not is_being_written(partition, o)), default=None)


def _named(partition: SharePartition, operation: FinishDeadLetter) -> Iterator[int]:
    start = partition.window.start_offset
    for part in sorted(operation.ranges, key=lambda part: part.first):
        yield from range(max(part.first, start), part.last + 1)
