"""``sharespec state-topic``: read and check the records of __share_group_state."""

import json
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO
from zlib import error as ZlibError  # noqa: N812 - an exception

import click
from rich.table import Table
from rich.text import Text

from judge.words import durable_text, many, printable
from model.state_topic import SharePartitionKey
from model.state_topic_codec import batch_values
from model.wire import uuid_text
from operations.state_topic import ReadStates
from operations.state_topic_file import RecordAt, read_records
from sharespec.commands.options import JSON
from sharespec.console import output
from sharespec.dump import opened_dump
from sharespec.exit import Exit, exits_on, fail
from spec.coordinator import durable_state
from spec.share_coordinator import HeldState

MAX_PROBLEMS = 100
"""How many problems are shown in full; all are counted."""


@click.command("state-topic")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@JSON
@exits_on()
def state_topic_command(file: str, *, json_lines: bool) -> None:
    """Read and check the records of __share_group_state in FILE; - is the standard input.

    FILE is the output of kafka-console-consumer with ShareGroupStateMessageFormatter, or of
    kafka-dump-log with --share-group-state-decoder; gzip if its name ends in .gz. Shows the state
    of each share-partition, and every record that cannot be read or breaks a rule.

    Exits with 0, 1 if there is such a record, 2 if the file cannot be read or has no record.
    """
    topic, problems = ReadStates(), 0
    try:
        with opened_dump(file) as opened:
            for place, message in _problems(opened, topic):
                problems += 1
                if problems <= MAX_PROBLEMS:
                    _show_problem(place, message, json_lines=json_lines)
    except BrokenPipeError:
        raise  # It is of the output.
    except (OSError, EOFError, ZlibError) as error:
        fail(f"{file}: {getattr(error, 'strerror', None) or error}")
    _show(topic, problems, json_lines=json_lines)
    if not topic.records and not problems:
        fail("no record of __share_group_state was found")
    sys.exit(Exit.WRONG if problems else Exit.WELL)


def _problems(file: BinaryIO, topic: ReadStates) -> Iterator[tuple[int, str]]:
    for item in read_records(file):
        if isinstance(item, RecordAt):
            name = _name(item.record.key)
            for broken in topic.take(item.record):
                yield item.place, f"{name}: {broken}"
        else:
            yield item.place, item.message


def _show_problem(place: int, message: str, *, json_lines: bool) -> None:
    if json_lines:
        click.echo(json.dumps({"byte": place, "problem": message}))
    else:
        click.echo(f"at byte {place:,}: {printable(message)}")


def _show(topic: ReadStates, problems: int, *, json_lines: bool) -> None:
    held = sorted(topic.held.items(), key=lambda pair: _name(pair[0]))
    if json_lines:
        for key, each in held:
            click.echo(json.dumps(_as_json(key, each)))
        return
    if problems > MAX_PROBLEMS:
        click.echo(f"… and {problems - MAX_PROBLEMS:,} more problems")
    console = output()
    if held:
        console.print(_table(held))
    console.print(
        f"\n{many(topic.records, 'record')}, {many(len(held), 'share-partition')}, "
        f"{many(problems, 'problem')}"
    )


def _table(held: list[tuple[SharePartitionKey, HeldState]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("share-partition", overflow="fold")
    for name in ("state epoch", "leader epoch", "snapshot", "updates since"):
        table.add_column(name, justify="right")
    table.add_column("state", overflow="fold")
    for key, each in held:
        durable = each.durable
        numbers = (durable.state_epoch, durable.leader_epoch, durable.snapshot_epoch)
        shown = [str(number) for number in (*numbers, durable.updates)]
        state = printable(durable_text(durable_state(durable)))
        table.add_row(Text(printable(_name(key))), *shown, Text(state))
    return table


def _as_json(key: SharePartitionKey, held: HeldState) -> dict[str, Any]:
    state = durable_state(held.durable)
    return {
        "groupId": key.group_id,
        "topicId": uuid_text(key.topic_id),
        "partition": key.partition,
        "stateEpoch": state.state_epoch,
        "leaderEpoch": state.leader_epoch,
        "snapshotEpoch": held.durable.snapshot_epoch,
        "updates": held.durable.updates,
        "startOffset": state.start_offset,
        "deliveryCompleteCount": state.delivery_complete_count,
        "stateBatches": batch_values(state.state_batches),
    }


def _name(key: SharePartitionKey) -> str:
    return f"{key.group_id}:{uuid_text(key.topic_id)}:{key.partition}"
