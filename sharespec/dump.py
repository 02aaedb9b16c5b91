"""A dump of __share_group_state as a file: opened, and as observations beside request logs."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from zlib import error as ZlibError  # noqa: N812 - an exception

import click

from model.state_topic import StateRecord
from operations.state_topic import OffsetAllowance, offsets_of
from operations.state_topic_file import RecordAt, read_records
from replay.observed.inputs import Content, Input
from replay.observed.rows import line_of
from replay.observed.state_topic import observations_of
from replay.sources import Form
from report.scratch import scratch_folder
from sharespec.exit import fail


@contextmanager
def opened_dump(file: str) -> Iterator[BinaryIO]:
    """Open a dump, gzip if its name ends in .gz; - is the standard input. Raises OSError."""
    with click.open_file(file, "rb") as raw:
        if file.endswith(".gz"):
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked  # type: ignore[misc] # it has the read method of a BinaryIO
        else:
            yield raw  # type: ignore[misc] # opened in binary mode


@contextmanager
def observed_dump(file: str) -> Iterator[Input]:
    """Write the records of a dump as observations; exit with one line where it is not one."""
    try:
        with opened_dump(file) as opened:
            allowance = OffsetAllowance()
            records = [_record(file, item, allowance) for item in read_records(opened)]
    except (OSError, EOFError, ZlibError) as error:
        fail(f"{file}: {getattr(error, 'strerror', None) or error}")
    if not records:
        fail(f"{file}: no record of __share_group_state was found")
    with scratch_folder() as folder:
        path = Path(folder) / "dump.observed"
        with path.open("w", encoding="utf-8") as out:
            out.writelines(f"{line_of(each)}\n" for each in observations_of(records, file))
        yield Input(str(path), Form.LINES, path.stat().st_size, Content.OBSERVED)


def _record(file: str, item: object, allowance: OffsetAllowance) -> StateRecord:
    if not isinstance(item, RecordAt):
        place, message = getattr(item, "place", 0), getattr(item, "message", "")
        fail(f"{file}: at byte {place:,}: {message}")
    if refusal := allowance.refusal(offsets_of(item.record)):
        fail(f"{file}: at byte {item.place:,}: {refusal}")
    return item.record
