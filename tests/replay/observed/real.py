"""The request log of a broker of Apache Kafka 4.4.0, whole and altered."""

import gzip
import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from model.state_topic import StateRecord
from operations.state_topic_file import RecordAt, read_records
from replay.observed.inputs import sorted_out
from replay.observed.rows import line_of
from replay.observed.run import JudgedLogs, judge_inputs
from replay.observed.settings import Assumed
from replay.observed.state_topic import observations_of
from replay.processes import Runner

LOG = Path(__file__).parents[2] / "data" / "observed" / "kafka-request.log.gz"
DUMP = LOG.with_name("state-topic.txt.gz")
KNOWN = Assumed(delivery_limit=5, max_record_locks=2000, compacted=False)

Change = Callable[[dict[str, Any]], None]


@cache
def lines() -> tuple[str, ...]:
    with gzip.open(LOG, "rt") as file:
        return tuple(file)


def altered(api: str, nth: int, change: Change) -> list[str]:
    """Return the lines with a change in the ``nth`` request of a kind that has batches."""
    changed, seen = [], -1
    for line in lines():
        before, mark, rest = line.partition("Completed request:")
        data, end = json.JSONDecoder().raw_decode(rest)
        if data["requestHeader"]["requestApiKeyName"] == api:
            seen += 1
            if seen == nth:
                change(data)
                line = before + mark + json.dumps(data) + rest[end:]  # noqa: PLW2901 - altered
        changed.append(line)
    return changed


@cache
def dump() -> tuple[StateRecord, ...]:
    """Return the records of the state topic after the same run."""
    with gzip.open(DUMP) as file:
        items = list(read_records(file))
    return tuple(item.record for item in items if isinstance(item, RecordAt))


def judged(
    folder: Path,
    text: Iterable[str],
    settings: Assumed = KNOWN,
    runner: Runner | None = None,
    records: Iterable[StateRecord] = (),
) -> JudgedLogs:
    path, topic = folder / "kafka-request.log", folder / "state-topic"
    path.write_text("".join(text))
    topic.write_text("".join(f"{line_of(each)}\n" for each in observations_of(records, "dump")))
    inputs, _ = sorted_out([path, topic])
    return judge_inputs(inputs, settings, runner)
