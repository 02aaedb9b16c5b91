from collections.abc import Callable, Iterator

import attrs
import numpy as np
import pyarrow as pa
import pytest

from impl.kernel import KernelResult, replay_partition
from model.profile import KAFKA
from model.trace import TraceEvent
from model.trace_arrow import table_from_rows
from replay.check import through_kernel, verdict_on
from replay.check_sorted import check_sorted
from replay.pieces import ROWS_AT_ONCE, Part, PartitionRows, Together, begun, each_once, partitions
from replay.plan import CheckedPartition, Plan
from replay.tables import BadRow, BadRowError
from replay.verdict import Verdict
from tests.replay.samples import Row, kafka_rows, placed, present, recorded, renamed

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
    firsts = np.cumsum([0, *map(len, stories)]).tolist()
    together = Together(table_from_rows([row for rows in stories for row in rows]), firsts[:-1])
    alone = [replay_partition(table_from_rows(rows), KAFKA) for rows in stories]
    for number in (0, 1, 2, 3, 1, 0):
        found = together.replay(firsts[number], len(stories[number]), KAFKA)
        assert same(found, alone[number])
    assert [result.events for result in alone] == [300, 40, alone[2].events, 300]
    assert alone[1].divergence
    assert alone[2].unreadable
    assert not same(alone[0], alone[3])


def test_share_partitions_that_tell_whole_states_are_taken_together_too() -> None:
    traces = ("agent-4.4.0-records-deleted", "agent-4.4.0-seven-members")
    stories = [rows for name in traces for rows in recorded(name).values()]
    assert any(row["op"] == "checkpoint" for rows in stories for row in rows)
    firsts = np.cumsum([0, *map(len, stories)]).tolist()
    together = Together(table_from_rows([row for rows in stories for row in rows]), firsts[:-1])
    whole = 0
    for first, rows in zip(firsts, stories, strict=False):
        alone = replay_partition(table_from_rows(rows), KAFKA)
        assert same(together.replay(first, len(rows), KAFKA), alone)
        whole += alone.events == len(rows)
    assert whole


@pytest.fixture
def rows() -> list[PartitionRows]:
    both = [*kafka_rows(count=50), *kafka_rows(partition=1, count=50)]
    return [
        begun(each_once(piece), None)
        for _, pieces in partitions([placed(both)], 100)
        for piece in pieces
    ]


def test_text_of_another_share_partition_that_is_not_utf_8_harms_none() -> None:
    table = placed([*kafka_rows(count=50), *kafka_rows(partition=1, count=50)])
    members = table.column("member").cast(pa.binary()).to_pylist()
    members[60] = b"\xff"
    place = table.schema.get_field_index("member")
    spoilt = pa.array(members, pa.binary()).view(pa.string())
    table = table.set_column(place, table.schema.field(place), spoilt)
    checked = [each for each in check_sorted([table], Plan()) if isinstance(each, CheckedPartition)]
    ends = [(each.verdict.verdict, each.verdict.checked) for each in checked]
    assert ends == [(Verdict.CONFORMS, 50), (Verdict.UNREADABLE, 10)]


def test_rows_that_were_cut_are_not_taken_from_the_whole(rows: list[PartitionRows]) -> None:
    cut = attrs.evolve(rows[1], table=rows[1].table.slice(0, 20))
    assert through_kernel(cut, Plan())[1].events == 20
    part = present(rows[1].part)
    assert part.fits
    assert not Part(part.whole, 0, pa.table({"a": range(ROWS_AT_ONCE + 1)})).fits


def told(row: int, **values: object) -> Callable[[list[Row]], list[Row]]:
    """Return what gives a row other values."""
    return lambda rows: [*rows[:row], {**rows[row], **values}, *rows[row + 1 :]]


ODD: dict[str, Callable[[list[Row]], list[Row]]] = {
    "a row is missing": lambda rows: [*rows[:8], *rows[9:]],
    "the first is missing": lambda rows: rows[1:],
    "a row is there twice": lambda rows: [*rows[:9], *rows[8:]],
    "a seq is there twice": lambda rows: [*rows[:9], {**rows[9], "seq": 8}, *rows[10:]],
    "a gap": told(9, op="gap", lost=3),
    "a gap at the beginning": told(0, op="gap", lost=None),
    "another leader": lambda rows: [
        *rows[:9],
        *({**row, "leader_epoch": 7, "seq": n} for n, row in enumerate(rows[9:])),
    ],
    "another leader goes on counting": lambda rows: [
        *rows[:9],
        *({**row, "leader_epoch": 7} for row in rows[9:]),
    ],
    "another instance": lambda rows: [
        *rows[:9],
        *({**row, "instance": 1, "seq": n} for n, row in enumerate(rows[9:])),
    ],
    "a pause is claimed": told(9, paused_ms=5),
}
LATE = "begins with no beginning"
UNSOUND = "what came of an event is missing"
EVEN: dict[str, Callable[[list[Row]], list[Row]]] = {
    "as recorded": lambda rows: rows,
    "a single row": lambda rows: rows[:1],
    "a timer is late": lambda rows: told(9, due_ms=rows[9]["time_ms"] - 7)(told(5, due_ms=9)(rows)),
    "a state is told": told(9, op="checkpoint"),
    "a state is told with the log": told(9, op="checkpoint", log_known=True),
    "the log is known": told(0, log_known=True),
    "the log is not known": told(0, log_known=False),
}


def events_told(rows: PartitionRows) -> list[TraceEvent | BadRow]:
    """Return the events of rows up to the first that holds none, and why that is."""
    found: list[TraceEvent | BadRow] = []
    try:
        found.extend(rows.events_in_order())
    except BadRowError as error:
        found.append(error.bad)
    return found


@pytest.mark.parametrize("leads", [False, True])
@pytest.mark.parametrize("sound", [False, True])
def test_what_is_asked_of_a_whole_table_is_what_each_share_partition_answers(
    *, sound: bool, leads: bool
) -> None:
    """Each is odd in a way of its own: its rows, what is wrong, the verdict and its events."""
    rows = next(iter(recorded("agent-4.4.0-records-deleted").values())) if leads else kafka_rows()
    ways = {**ODD, **EVEN, LATE: told(0, op="release")}
    if not sound:
        ways |= {"the last has no seq": told(-1, seq=None), UNSOUND: told(9, after=None)}
    table = placed([row for name, odd in ways.items() for row in renamed(odd(rows[:20]), name)])
    in_sequence = set()
    for name, pieces in partitions([table], 100):
        (piece,) = pieces
        assert piece.part
        assert piece.part.whole.is_sound is sound
        if piece.part.is_in_sequence:
            in_sequence.add(name)
        ends = []
        for part in (piece.part, None):
            own = begun(each_once(attrs.evolve(piece, part=part)), None)
            verdicts = [verdict_on(own, n, None) for n in (own.table.num_rows, 3)]
            ends.append((own.table, own.events, own.problem, verdicts, events_told(own)))
        assert ends[0] == ends[1], name
    assert in_sequence == {*EVEN, *(() if leads else (LATE,)), *(() if sound else (UNSOUND,))}
