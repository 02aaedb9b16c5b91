from collections.abc import Iterator

import attrs
import numpy as np
import pyarrow as pa
import pytest

from impl.kernel import KernelResult, replay_partition
from model.profile import KAFKA, Profile
from model.trace_arrow import SCHEMA, table_from_rows
from replay.check import through_kernel
from replay.pieces import ROWS_AT_ONCE, Part, PartitionRows, Together, begun, partitions
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


def test_share_partitions_taken_together_end_as_each_does_alone() -> None:
    stories = list(histories())
    together = Together(table_from_rows([row for rows in stories for row in rows]))
    first, results = 0, []
    for rows in stories:
        alone = replay_partition(table_from_rows(rows), KAFKA)
        results.append(together.replay(first, len(rows), KAFKA))
        assert same(results[-1], alone)
        first += len(rows)
    assert [result.events for result in results] == [300, 40, results[2].events, 300]
    assert results[1].divergence
    assert results[2].unreadable
    assert not same(results[0], results[3])


def test_any_order_and_many_rows_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.pieces.ROWS_AT_ONCE", 70)
    stories = [
        kafka_rows(name, 0, count) for name, count in zip(NAMES, (30, 80, 1, 60), strict=True)
    ]
    together = Together(table_from_rows([row for rows in stories for row in rows]))
    first = np.cumsum([0, *map(len, stories)])
    for number in (0, 1, 2, 3, 1, 0):
        alone = replay_partition(table_from_rows(stories[number]), KAFKA)
        assert same(together.replay(int(first[number]), len(stories[number]), KAFKA), alone)


@pytest.fixture
def rows() -> list[PartitionRows]:
    both = [*kafka_rows(count=50), *kafka_rows(partition=1, count=50)]
    return [begun(piece, None) for _, pieces in partitions([placed(both)], 100) for piece in pieces]


def test_the_kernel_takes_the_rows_of_a_table_together(
    rows: list[PartitionRows], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    replay = Together.replay

    def noted(whole: Together, first: int, count: int, profile: Profile) -> KernelResult:
        taken.append(first)
        return replay(whole, first, count, profile)

    monkeypatch.setattr(Together, "replay", noted)
    for each in rows:
        alone = replay_partition(each.table.select(SCHEMA.names), KAFKA)
        assert same(through_kernel(each, Plan())[1], alone)
    assert taken == [0, 50]


def test_rows_that_were_cut_are_not_taken_from_the_whole(rows: list[PartitionRows]) -> None:
    cut = attrs.evolve(rows[1], table=rows[1].table.slice(0, 20))
    assert through_kernel(cut, Plan())[1].events == 20
    part = rows[1].part
    assert part
    assert part.fits
    assert not Part(part.whole, 0, pa.table({"a": range(ROWS_AT_ONCE + 1)})).fits
