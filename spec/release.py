"""Releasing what a member holds, because it leaves (KIP-932, Group membership)."""

from model.operations import Release
from model.outcome import Answer
from spec.partition import SharePartition, Step
from spec.record import is_held_by, release
from spec.writes import write_and_wait

__all__ = ["release_member"]


def release_member(partition: SharePartition, operation: Release, answer: Answer, seq: int) -> Step:
    """Release every record that the member holds (Kafka: releaseAcquiredRecords).

    Guard: the records are held by the member; those whose write is outstanding are not.
    Effect: each as ``record.release``.
    Delivery count: unchanged: the attempt counts.
    Persistence: one write with all of them; none if the member holds nothing.
    """
    records, limit = partition.window.records, partition.config.delivery_count_limit
    released = {
        offset: release(records[offset], limit)
        for offset in sorted(partition.window.held)
        if is_held_by(records[offset], operation.member)
    }
    if not released:
        return Step(partition)
    return write_and_wait(partition, released, answer, seq)
