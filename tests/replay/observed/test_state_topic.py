"""A dump of the state topic beside a log: what it adds, and where the two must agree."""

import json
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import attrs
import pytest

from model.profile import KAFKA_4_4
from model.ranges import StateBatch
from model.state_topic import ShareSnapshot, ShareUpdate, StateRecord
from model.states import RecordState
from replay.observed.verdict import ObservedVerdict
from replay.verdict import Verdict
from spec.coordinator import durable_state
from spec.state_topic import replay_held
from tests.replay.observed.real import KNOWN, dump, judged, lines

HALF = 326
"""The lines before were lost when the log was rotated."""
FINISHED = 503
"""An offset that was acknowledged in them."""


def verdict(
    folder: Path, text: list[str], records: list[StateRecord] | tuple[StateRecord, ...] = ()
) -> ObservedVerdict:
    [one] = judged(folder, text, KNOWN, records=records).verdicts
    return one


def delivered_again(text: list[str]) -> list[str]:
    """Let the first fetch that acquires offsets 182 and 188 again acquire a finished one too."""
    changed = []
    for line in text:
        before, mark, rest = line.partition("Completed request:")
        data, end = json.JSONDecoder().raw_decode(rest)
        if '"firstOffset":182,"lastOffset":182,"deliveryCount":4' in line.replace(" ", ""):
            acquired = data["response"]["responses"][0]["partitions"][0]["acquiredRecords"]
            acquired.append({**acquired[0], "firstOffset": FINISHED, "lastOffset": FINISHED})
            acquired[-1]["deliveryCount"] = 2
            line = before + mark + json.dumps(data) + rest[end:]  # noqa: PLW2901 - altered
        changed.append(line)
    assert changed != text
    return changed


def test_each_write_of_the_log_is_a_record_of_the_dump(tmp_path: Path) -> None:
    one = verdict(tmp_path, list(lines()), dump())
    assert (one.verdict, one.durable, one.writes) == (Verdict.CONFORMS, 98, 98)


def test_a_record_of_the_dump_is_no_request(tmp_path: Path) -> None:
    found = judged(tmp_path, list(lines()), records=dump())
    assert (found.requests, found.lines) == (652, 751)


def test_a_log_without_its_first_half_conforms_with_a_dump(tmp_path: Path) -> None:
    one = verdict(tmp_path, list(lines()[HALF:]), dump())
    assert one.verdict is Verdict.CONFORMS
    assert one.durable == one.writes > 10


def test_a_log_without_its_first_half_is_judged_with_a_dump(tmp_path: Path) -> None:
    text = delivered_again(list(lines()[HALF:]))
    assert verdict(tmp_path, text).divergences == ()
    one = verdict(tmp_path, text, dump())
    assert (one.divergences[0].name, one.divergences[0].offset) == (
        "ONLY_AVAILABLE_IS_ACQUIRED",
        FINISHED,
    )


def with_update(
    nth: int, change: Callable[[ShareUpdate], ShareUpdate], whole: tuple[StateRecord, ...] = ()
) -> list[StateRecord]:
    records = list(whole or dump())
    value = records[nth].value
    assert isinstance(value, ShareUpdate)
    records[nth] = attrs.evolve(records[nth], value=change(value))
    return records


def _one_more(name: str) -> Callable[[ShareUpdate], ShareUpdate]:
    return lambda value: attrs.evolve(value, **{name: getattr(value, name) + 1})


def _other_state(value: ShareUpdate) -> ShareUpdate:
    batch = value.state_batches[-1]
    other = attrs.evolve(batch, delivery_count=batch.delivery_count + 1)
    return attrs.evolve(value, state_batches=(*value.state_batches[:-1], other))


@pytest.mark.parametrize("begin", [0, HALF])
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (_one_more("delivery_complete_count"), "RECORD_IS_THE_WRITE"),
        (_one_more("start_offset"), "RECORD_IS_THE_WRITE"),
        (_other_state, "WRITE_IS_DURABLE"),
        (_one_more("leader_epoch"), "WRITE_IS_DURABLE"),
    ],
    ids=["count", "start", "state", "leader"],
)
def test_an_altered_dump_diverges(
    tmp_path: Path, change: Callable[[ShareUpdate], ShareUpdate], rule: str, begin: int
) -> None:
    one = verdict(tmp_path, list(lines()[begin:]), with_update(90, change))
    assert one.divergences[0].name == rule
    assert one.divergences[0].evidence


def test_a_dump_that_begins_with_another_start_offset_diverges(tmp_path: Path) -> None:
    first = dump()[0]
    assert isinstance(first.value, ShareSnapshot)
    state = attrs.evolve(first.value.state, start_offset=5)
    records = [attrs.evolve(first, value=attrs.evolve(first.value, state=state)), *dump()[1:]]
    one = verdict(tmp_path, list(lines()), records)
    assert one.divergences[0].name == "RECORD_IS_THE_WRITE"


def test_a_dump_that_lacks_a_record_diverges(tmp_path: Path) -> None:
    one = verdict(tmp_path, list(lines()), [*dump()[:40], *dump()[41:]])
    assert one.divergences[0].name == "WRITE_IS_DURABLE"


@pytest.mark.parametrize(
    "change", [{"topic_id": UUID(int=7)}, {"group_id": "another"}, {"partition": 1}], ids=str
)
def test_a_dump_of_other_share_partitions_changes_nothing(
    tmp_path: Path, change: dict[str, object]
) -> None:
    records = [
        attrs.evolve(each, key=attrs.evolve(each.key, **change))  # type: ignore[arg-type] # any
        for each in with_update(90, _one_more("delivery_complete_count"))
    ]
    text = list(lines())
    assert (
        judged(tmp_path, text, KNOWN, records=records).verdicts == judged(tmp_path, text).verdicts
    )


def snapshot_of(records: list[StateRecord] | tuple[StateRecord, ...]) -> StateRecord:
    """Return one record that holds all that others hold."""
    held = None
    for each in records:
        held = replay_held(held, each, KAFKA_4_4)
    assert held is not None
    value = ShareSnapshot(held.durable.snapshot_epoch + 1, durable_state(held.durable))
    return StateRecord(records[0].key, value)


@pytest.mark.parametrize(("first", "last"), [(0, 60), (30, 99), (30, 60), (0, 1), (98, 99)])
def test_a_dump_need_not_reach_over_the_whole_log(tmp_path: Path, first: int, last: int) -> None:
    begin = [snapshot_of(dump()[: first + 1])] if first else [dump()[0]]
    one = verdict(tmp_path, list(lines()), [*begin, *dump()[first + 1 : last]])
    assert one.verdict is Verdict.CONFORMS
    assert one.durable == max(0, last - first - 1)


def test_a_write_may_be_recorded_as_a_snapshot(tmp_path: Path) -> None:
    snapshot = snapshot_of(dump()[:51])
    later = [
        attrs.evolve(each, value=attrs.evolve(each.value, snapshot_epoch=1))
        for each in dump()[51:]
        if isinstance(each.value, ShareUpdate)
    ]
    records = [*dump()[:50], snapshot, *later]
    assert verdict(tmp_path, list(lines()), records).verdict is Verdict.CONFORMS
    assert isinstance(snapshot.value, ShareSnapshot)
    state = attrs.evolve(snapshot.value.state, state_batches=())
    records[50] = attrs.evolve(snapshot, value=attrs.evolve(snapshot.value, state=state))
    one = verdict(tmp_path, list(lines()), records)
    assert one.divergences[0].name == "WRITE_IS_DURABLE"


def test_what_is_durable_as_finished_is_finished(tmp_path: Path) -> None:
    batch = StateBatch(600, 600, RecordState.ARCHIVED, 3)
    more = StateRecord(dump()[0].key, ShareUpdate(0, 0, -1, -1, (batch,)))
    records = [dump()[0], more, *dump()[1:]]
    one = verdict(tmp_path, list(lines()), records)
    assert one.divergences[0].name in {
        "DURABLE_IS_FINISHED",
        "ONLY_AVAILABLE_IS_ACQUIRED",
        "ACQUIRED",
    }
