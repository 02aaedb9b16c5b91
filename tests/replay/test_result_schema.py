"""The columns that are written: documented, versioned, and with the states as data."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replay.plan import Plan
from replay.result_schema import DIVERGENCES, LAG, SCHEMA_VERSION, VERDICTS, name_parts
from tests.replay.samples import kafka_rows, replayed, write_lines

GUIDE = Path(__file__).parents[2] / "docs" / "replay.md"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("core:orders:3", ("core", "orders", 3)),
        ("a:b:orders:3", ("a:b", "orders", 3)),
        ("orders", (None, None, None)),
        ("core:orders:x", (None, None, None)),
        ("core:orders:²", (None, None, None)),
        (f"core:orders:{9**99}", (None, None, None)),
    ],
)
def test_a_name_has_parts_if_it_is_one(name: str, parts: tuple[object, ...]) -> None:
    assert tuple(name_parts(name).values()) == parts


@pytest.mark.parametrize(
    "schema", [DIVERGENCES, VERDICTS, LAG], ids=["divergences", "verdicts", "lag"]
)
def test_every_column_is_documented(schema: pa.Schema) -> None:
    guide = GUIDE.read_text()
    assert [name for name in schema.names if f"`{name}`" not in guide] == []
    assert f"version {SCHEMA_VERSION}" in guide


def test_what_is_written_has_states_as_data_and_says_how_it_came_to_be(tmp_path: Path) -> None:
    rows = kafka_rows()
    for seq in (30, 40):
        rows[seq]["after"]["end_offset"] += 1
    path = write_lines(tmp_path / "a.jsonl", [*rows, *kafka_rows(partition=1)])
    plan = Plan(max_divergences=5)
    replayed(path, plan=plan, out=tmp_path / "out")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"divergences.parquet", "lag", "verdicts.parquet"}
    tables = {
        name: pq.read_table(tmp_path / "out" / f"{name}.parquet")
        for name in ("verdicts", "divergences")
    }
    first, second = tables["divergences"].to_pylist()
    assert (first["seq"], second["seq"], first["operation"]) == (30, 40, rows[30]["op"])
    assert (first["group"], first["topic"], first["topic_partition"]) == ("core", "orders", 0)
    assert first["recorded_value"] == first["expected_value"] + 1 == rows[30]["after"]["end_offset"]
    assert first["end_offset_before"] == rows[29]["after"]["end_offset"]
    held = [r for r in first["records_before"] if r["member"] is not None]
    assert {r["state"] for r in held} == {"ACQUIRED"}
    assert first["records_expected"]
    assert [(v["verdict"], v["divergences"]) for v in tables["verdicts"].to_pylist()] == [
        ("diverges", 2),
        ("conforms", 0),
    ]
    lag = pq.read_table(tmp_path / "out" / "lag")
    assert lag.num_rows == 120
    assert set(lag.column("topic_partition").to_pylist()) == {0, 1}
    for table in (*tables.values(), lag):
        labels = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
        assert labels["sharespec.profile"] == "kafka"
        assert labels["sharespec.source"] == str(path)
        assert labels["sharespec.schema"] == str(SCHEMA_VERSION)
        assert labels["sharespec.version"]
