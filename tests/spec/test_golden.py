"""The examples that the KIPs work out, kept as data; what each field means stands in the files."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from judge.view import durable, snapshot
from model import operations as ops
from model.config import SharePartitionConfig
from model.outcome import Choice, Write
from model.profile import KIP, Profile
from model.ranges import OffsetRange, StateBatch
from model.snapshot import DurableState
from model.states import AcquireMode, RecordState
from spec.coordinator import Durable, durable_state, merge
from spec.lag import durable_lag, lag, share_partition_lag
from spec.partition import SharePartition, Step
from spec.step import apply, new_partition
from tests.spec.worlds import BOTH, acknowledgement, fetch, spans, started, states

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
EXAMPLE = json.loads((GOLDEN / "kip932.json").read_text())
PICTURE = json.loads((GOLDEN / "picture.json").read_text())
CONFIG = SharePartitionConfig(**EXAMPLE["config"])
LOG_END = EXAMPLE["log"]["produced"][1] + 1


def batches(rows: list[list[int]]) -> tuple[StateBatch, ...]:
    return tuple(StateBatch(a, b, RecordState(state), count) for a, b, state, count in rows)


def window(partition: SharePartition) -> tuple[int, int, list[list[Any]]]:
    seen = snapshot(partition)
    ranges = {}
    for r in seen.records or ():
        for offset in range(r.first, r.last + 1):
            ranges[offset] = (r.state.name, r.delivery_count)
    return seen.start_offset, seen.end_offset, [[o, o, *said] for o, said in ranges.items()]


def expected_window(shown: dict[str, Any]) -> tuple[int, int, list[list[Any]]]:
    each = [[o, o, *said] for first, last, *said in shown["states"] for o in range(first, last + 1)]
    return shown["start_offset"], shown["end_offset"], each


def expected_write(id_: int, shape: dict[str, Any]) -> Write:
    count = shape["delivery_complete_count"]
    return Write(id_, shape["start_offset"], count, batches(shape["state_batches"]))


def recover(profile: Profile, persisted: DurableState) -> SharePartition:
    operation = ops.Initialize(CONFIG, 0, LOG_END, persisted)
    return apply(new_partition(profile), operation).partition


def first_leader(profile: Profile) -> SharePartition:
    log_end = EXAMPLE["log"]["end_offset"]
    started_at = ops.Initialize(CONFIG, 0, log_end, DurableState(-1, -1))
    produced = ops.Produce(spans(EXAMPLE["log"]["produced"]), LOG_END)
    return apply(apply(new_partition(profile), started_at).partition, produced).partition


def perform(partition: SharePartition, row: dict[str, Any]) -> Step:
    step = Step(partition)
    for told in row["operations"]:
        passed = ops.AdvanceTime(told["at_ms"] - step.partition.now)
        step = apply(step.partition, passed)
        if told["op"] == "expire":
            continue
        assert step.outcome.writes == ()
        if told["op"] == "acknowledge":
            step = apply(step.partition, acknowledgement(told["member"], *told["batches"]))
            continue
        step = apply(
            step.partition,
            fetch(
                told["member"],
                (told["from"], LOG_END - 1),
                most=told["most"],
                mode=AcquireMode.RECORD_LIMIT,
            ),
        )
        assert [[*attrs.astuple(part)] for part in step.outcome.acquired] == told["takes"]
    return step


def check_example(example: dict[str, Any], profile: Profile) -> None:
    """Walk through the rows; raise AssertionError where the specification shows something else."""
    partition, by_kip = first_leader(profile), Durable()
    for row in example["rows"]:
        step = perform(partition, row)
        partition = step.partition
        assert window(partition) == expected_window(row)
        assert lag(partition) == row["lag"]
        if row["kafka_write"] is None:
            assert step.outcome.writes == ()
        else:
            assert step.outcome.writes == (
                expected_write(partition.next_write - 1, row["kafka_write"]),
            )
            assert durable_lag(LOG_END, durable(partition)) == row["lag"]
        if row["kip_write"] is not None:
            by_kip = merge(by_kip, expected_write(0, row["kip_write"]), KIP)
            assert durable_lag(LOG_END, durable_state(by_kip)) == row["lag"]
        if row["recovered"] is not None:
            for held in (durable(partition), durable_state(by_kip)):
                assert window(recover(profile, held)) == expected_window(row["recovered"])


@BOTH
def test_the_example_of_kip_932_shows_what_its_table_shows(profile: Profile) -> None:
    check_example(EXAMPLE, profile)


def test_the_example_has_all_its_rows() -> None:
    assert [row["row"] for row in EXAMPLE["rows"]] == list(range(12))


CORRUPTIONS = {
    "start offset": lambda rows: rows[10].update(start_offset=110),
    "end offset": lambda rows: rows[6].update(end_offset=120),
    "state": lambda rows: rows[8]["states"][2].__setitem__(2, "ARCHIVED"),
    "delivery count": lambda rows: rows[9]["states"][0].__setitem__(3, 1),
    "lag": lambda rows: rows[8].update(lag=11),
    "acquired": lambda rows: rows[6]["operations"][0]["takes"][0].__setitem__(2, 1),
    "written start offset": lambda rows: rows[11]["kafka_write"].update(start_offset=120),
    "written complete count": lambda rows: rows[8]["kafka_write"].update(delivery_complete_count=0),
    "written state": lambda rows: rows[7]["kafka_write"]["state_batches"][0].__setitem__(2, 4),
    "no write": lambda rows: rows[4].update(kafka_write=None),
    "KIP write": lambda rows: rows[8]["kip_write"].update(start_offset=111),
    "KIP write's state": lambda rows: rows[5]["kip_write"]["state_batches"][0].__setitem__(3, 2),
    "recovered start offset": lambda rows: rows[10]["recovered"].update(start_offset=110),
    "recovered end offset": lambda rows: rows[4]["recovered"].update(end_offset=120),
    "recovered state": lambda rows: rows[7]["recovered"]["states"].pop(),
}


@BOTH
@pytest.mark.parametrize("corrupt", CORRUPTIONS.values(), ids=list(CORRUPTIONS))
def test_a_corrupted_row_is_noticed(
    profile: Profile, corrupt: Callable[[list[dict[str, Any]]], object]
) -> None:
    example = copy.deepcopy(EXAMPLE)
    corrupt(example["rows"])
    with pytest.raises(AssertionError):
        check_example(example, profile)


def pictured(profile: Profile) -> SharePartition:
    """Reach the picture: 3 is released twice, and 7 to 9 enter the window without being taken."""
    end = PICTURE["highest_offset"] + 1
    partition = started(profile, start=2, end=end, config=CONFIG)
    for operation, choice in (
        (fetch("c1", (2, 6)), Choice()),
        (acknowledgement("c1", (3, 3, 2)), Choice()),
        (fetch("c1", (3, 3)), Choice()),
        (acknowledgement("c1", (3, 3, 2)), Choice()),
        (acknowledgement("c1", (5, 6, 1, 3)), Choice()),
        (fetch("c2", (7, 9)), Choice(acquired=(), entered=(OffsetRange(7, 9),))),
    ):
        partition = apply(partition, operation, choice).partition
    return partition


@BOTH
def test_the_picture_shows_its_records_and_its_lag(profile: Profile) -> None:
    partition = pictured(profile)
    assert window(partition) == expected_window(PICTURE)
    assert states(partition) == "2:Q1@c1 3:A2 4:Q1@c1 5:K1 6:X1 7-9:A0"
    assert lag(partition) == PICTURE["lag"] == len(PICTURE["unprocessed"])


def test_the_formula_of_kip_1226_gives_the_lag_of_the_picture() -> None:
    highest, start = PICTURE["highest_offset"], PICTURE["start_offset"]
    processed = len(PICTURE["processed"])
    assert highest - start + 1 - processed == PICTURE["lag"]
    assert share_partition_lag(highest + 1, start, processed) == PICTURE["lag"]
