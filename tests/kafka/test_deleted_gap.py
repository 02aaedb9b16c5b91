"""A broker of Apache Kafka that loses one record of its log, inside a gap of the durable state."""

from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from tests.recorder.account import Row, read
from tests.recorder.released import Broker, broker, end, eventually

pytestmark = [pytest.mark.slow, pytest.mark.broker]

LONG = "share.record.lock.duration.ms=60000"
GAP, OTHER = "g:t:0", "g:t:1"


@pytest.mark.long
def test_after_a_restart_nothing_of_the_share_partition_is_delivered(tmp_path: Path) -> None:
    settings = ["group.share.max.record.lock.duration.ms=60000"]
    with broker(tmp_path, "records=1", settings=settings) as first:
        members = first.work_on("produce,sleep,sleep,mixed,mixed", LONG)
        eventually(lambda: begins_with_a_gap(read(first.trace).rows))
        end(members)  # What they hold is not released.
        first.kill()
    before = read(tmp_path / "trace").rows
    with broker(tmp_path, "records=1", settings=settings) as second:
        delete(second, last_state(before)["start_offset"] + 1)
        second.work("produce,accept", 12, LONG)
        second.stop()
    rows = read(tmp_path / "trace").rows
    given = Counter(
        row["partition"] for row in rows[len(before) :] if row["result"].get("acquired")
    )
    assert given[OTHER] > 0
    assert given[GAP] == 0
    assert (
        f"The log start offset: {last_state(before)['start_offset'] + 1} is not greater"
        in second.log
    )


def begins_with_a_gap(rows: list[Row]) -> bool:
    """Return whether members hold some records at the start offset, and others behind are done."""
    held, *others = last_state(rows)["records"] or [(0, 0, "", 0)]
    return (
        held[2] == "ACQUIRED" and held[1] > held[0] and any(r[2] == "ACKNOWLEDGED" for r in others)
    )


def last_state(rows: list[Row]) -> Row:
    """Return the window of the share-partition after its last event."""
    states = [row["after"] for row in rows if row["partition"] == GAP and row.get("after")]
    return dict(states[-1]) if states else {"records": []}


def delete(running: Broker, before: int) -> None:
    """Delete the records of the partition before an offset."""
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{running.port}"})
    (deleted,) = admin.delete_records([TopicPartition("t", 0, before)]).values()
    assert deleted.result(60).low_watermark == before
