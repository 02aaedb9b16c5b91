from collections.abc import Iterator

import attrs
import numpy as np
import pyarrow as pa
import pytest

from impl.kernel import KernelResult, replay_partition
from model.profile import KAFKA
from model.trace_arrow import table_from_rows
from replay.check import through_kernel
from replay.pieces import ROWS_AT_ONCE, Part, PartitionRows, Together, begun, each_once, partitions
from replay.plan import Plan
from tests.replay.samples import Row, kafka_rows, placed

NAMES = "core", "log-start", "record-limit", "write-faults"


def same(one: KernelResult, other: KernelResult) -> bool:
    plain = [(r.events, r.divergence, r.unreadable) for r in (one, other)]
    arrays = [(r.lag, r.counts, r.start_offsets, r.end_offsets) for r in (one, other)]
    return plain[0] == plain[1] and all(map(np.array_equal, *arrays))


def changed(rows: list[Row], row: int, field: str, **values: object) -> list[Row]:
    spoilt = {**rows[row], field: {**rows[row][field], **values}}
    return [*rows[:row], spoilt, *rows[row + 1 :]]


def histories() -> Iterator[list[Row]]:
    """Yield share-partitions of which the second diverges and the third has a bad setting."""
    for number, name in enumerate(NAMES):
        rows = kafka_rows(name, number, 300)
        if number == 1:
            rows = changed(rows, 40, "after", start_offset=0, end_offset=1, records=None)
        if number == 2:
            begins = max(i for i, row in enumerate(rows) if row["op"] == "initialize")
            rows = changed(rows, begins, "config", delivery_count_limit=-1)
        yield rows


@pytest.mark.parametrize("most", [270, 700])
def test_share_partitions_taken_together_end_as_each_does_alone(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """In any order, and where they are not all made arrays at once."""
    monkeypatch.setattr("replay.pieces.ROWS_AT_ONCE", most)
    stories = list(histories())
    together = Together(table_from_rows([row for rows in stories for row in rows]))
    alone = [replay_partition(table_from_rows(rows), KAFKA) for rows in stories]
    firsts = np.cumsum([0, *map(len, stories)]).tolist()
    for number in (0, 1, 2, 3, 1, 0):
        found = together.replay(firsts[number], len(stories[number]), KAFKA)
        assert same(found, alone[number])
    assert [result.events for result in alone] == [300, 40, alone[2].events, 300]
    assert alone[1].divergence
    assert alone[2].unreadable
    assert not same(alone[0], alone[3])


@pytest.fixture
def rows() -> list[PartitionRows]:
    both = [*kafka_rows(count=50), *kafka_rows(partition=1, count=50)]
    return [
        begun(each_once(piece), None)
        for _, pieces in partitions([placed(both)], 100)
        for piece in pieces
    ]


def test_rows_that_were_cut_are_not_taken_from_the_whole(rows: list[PartitionRows]) -> None:
    cut = attrs.evolve(rows[1], table=rows[1].table.slice(0, 20))
    assert through_kernel(cut, Plan())[1].events == 20
    part = rows[1].part
    assert part
    assert part.fits
    assert not Part(part.whole, 0, pa.table({"a": range(ROWS_AT_ONCE + 1)})).fits
