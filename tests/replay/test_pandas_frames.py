"""DataFrames of a replay have what is written to files."""

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

import sharespec
from replay.pandas_frames import to_pandas
from replay.result_schema import DIVERGENCES, VERDICTS
from replay.verdict import Replay
from tests.replay.samples import kafka_rows, replayed, write_lines

HIGH = 2**53 + 1
"""An offset that no floating point number has."""


def test_they_have_the_rows_and_columns_of_the_files(tmp_path: Path) -> None:
    rows = kafka_rows()
    rows[30]["after"]["end_offset"] += 1
    path = write_lines(tmp_path / "a.jsonl", [*rows, *kafka_rows(partition=1)])
    replay = replayed(path, out=tmp_path / "out")
    frames = to_pandas(replay)
    assert list(frames.verdicts.columns) == VERDICTS.names
    assert list(frames.divergences.columns) == DIVERGENCES.names
    assert frames.verdicts.set_index("partition").verdict.to_dict() == {
        "core:orders:0": "diverges",
        "core:orders:1": "conforms",
    }
    (row,) = frames.divergences.to_dict("records")
    (written,) = pq.read_table(tmp_path / "out" / "divergences.parquet").to_pylist()
    lists = {name for name, value in written.items() if isinstance(value, list)}
    assert {name: list(row[name]) for name in lists} == {name: written[name] for name in lists}
    plain = {name: value for name, value in written.items() if name not in lists}
    assert len(plain) > 15
    assert {name: None if pd.isna(row[name]) else row[name] for name in plain} == plain


def test_a_number_stays_whole_where_others_are_missing(tmp_path: Path) -> None:
    rows = kafka_rows()
    rows[30]["after"]["end_offset"] = HIGH
    path = write_lines(tmp_path / "a.jsonl", rows)
    frame = to_pandas(replayed(path)).divergences
    assert int(frame.recorded_value[0]) == HIGH
    assert str(frame.recorded_value.dtype) == "Int64"
    assert frame.offset.isna().all()


def test_of_nothing_there_are_the_columns() -> None:
    frames = to_pandas(Replay((), (), 0.0))
    assert list(frames.verdicts.columns) == VERDICTS.names
    assert (len(frames.verdicts), len(frames.divergences)) == (0, 0)


def test_it_is_a_public_name() -> None:
    assert sharespec.to_pandas is to_pandas
