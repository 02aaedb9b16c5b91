"""A member leaves, and the records that it holds are released (KIP-932, Group membership)."""

import attrs

from model.operations import MemberLeaves
from model.outcome import Answer, Choice
from spec.kafka import may_write_passed
from spec.partition import SharePartition, Step
from spec.record import Record, can_stay, failed_state, give_grace, is_held_by, release
from spec.window import replace
from spec.writes import write_and_wait


def release_member(
    partition: SharePartition, operation: MemberLeaves, choice: Choice, answer: Answer, seq: int
) -> Step:
    """Release every record that the member holds (Kafka: releaseAcquiredRecords).

    Guard: the records are held by the member; those whose write is outstanding are not.
    Effect: each as ``record.release``; but a record IN_PROGRESS with a fresh sign of progress stays
    with the member, as ``record.give_grace``: it may come back (KAFKA-20458, Rebalance flow).
    Delivery count: unchanged: the attempt counts.
    Persistence: one write with all that were released; none if none was, but for
    ``kafka.may_write_passed``.
    """
    config, now = partition.config, partition.now
    failed = failed_state(config.dead_letter_queue)
    kept: dict[int, Record] = {}
    released: dict[int, Record] = {}
    for offset in sorted(partition.window.held):
        record = partition.window.records[offset]
        if not is_held_by(record, operation.member):
            continue
        if can_stay(record, operation.member, now, config.in_progress_staleness_threshold_ms):
            kept[offset] = give_grace(record, now + config.in_progress_rebalance_grace_ms)
        else:
            released[offset] = release(record, config.delivery_count_limit, failed)
    partition = attrs.evolve(partition, window=replace(partition.window, kept))
    if not released and not may_write_passed(partition.profile, choice):
        return Step(partition)
    return write_and_wait(partition, released, answer, seq)
