"""What ``kafka-share-groups.sh --describe --offsets`` prints of a group (KIP-932, KIP-1226)."""

from collections.abc import Iterable
from itertools import groupby

import attrs

from judge.view import durable
from judge.words import printable
from operations.local import SharePartitionName
from spec.lag import durable_lag, lag
from spec.partition import SharePartition

MISSING = "-"
"""What Kafka prints for a value that is not known."""

LEAST_WIDTH = 15
"""The least width of Kafka's columns of groups and topics, in characters."""


@attrs.frozen
class Offsets:
    """One line. None: not known, because no start offset, or no count, was ever written.

    ``lag`` is the reported one, ``leader_lag`` the leader's; ``note`` says how far it was followed.
    """

    name: SharePartitionName
    leader_epoch: int | None
    start_offset: int | None
    lag: int | None
    leader_lag: int | None = None
    note: str = ""


def described(name: SharePartitionName, partition: SharePartition, note: str = "") -> Offsets:
    """Return the answer of the group coordinator to DescribeShareGroupOffsets.

    Everything but the end of the log is the state of the share coordinator, not of the leader; the
    leader's lag is beside it.
    """
    state, leader = durable(partition), lag(partition)
    if state.start_offset == -1:
        return Offsets(name, None, None, None, leader, note)
    reported = durable_lag(partition.log.end_offset, state)
    return Offsets(name, state.leader_epoch, state.start_offset, reported, leader, note)


def offsets_text(
    lines: Iterable[Offsets], *, verbose: bool = False, leader_lag: bool = False
) -> str:
    """Return the lines as Kafka's command prints them, a table for each group.

    ``leader_lag`` shows both lags, each under its own name.
    """
    ordered = sorted(lines, key=lambda line: line.name)
    groups = groupby(ordered, key=lambda line: line.name.group)
    return "".join(
        _table(group, list(members), verbose=verbose, leader_lag=leader_lag)
        for group, members in groups
    )


def _table(group: str, lines: list[Offsets], *, verbose: bool, leader_lag: bool) -> str:
    shown = printable(group)
    topics = [printable(line.name.topic) for line in lines]
    widths = [max(LEAST_WIDTH, len(shown)), max(LEAST_WIDTH, *map(len, topics)), 10, 13]
    head = ["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"]
    rows = [
        [shown, topic, str(line.name.partition), _cell(line.start_offset), _cell(line.lag)]
        for topic, line in zip(topics, lines, strict=True)
    ]
    if verbose:
        widths.append(13)
        head.insert(3, "LEADER-EPOCH")
        for row, line in zip(rows, lines, strict=True):
            row.insert(3, _cell(line.leader_epoch))
    if leader_lag:
        widths.append(13)
        head[-1:] = ["REPORTED-LAG", "LEADER-LAG"]
        for row, line in zip(rows, lines, strict=True):
            row.append(_cell(line.leader_lag))
    for row, line in zip(rows, lines, strict=True):
        row[-1] += f" ({printable(line.note)})" if line.note else ""
    return "".join(f"\n{_row(row, widths)}" for row in (head, *rows)) + "\n"


def _row(cells: list[str], widths: list[int]) -> str:
    *fixed, last = cells
    padded = (f"{cell:<{width}}" for cell, width in zip(fixed, widths, strict=True))
    return " ".join([*padded, last])


def _cell(value: int | None) -> str:
    return MISSING if value is None else str(value)
