import re
import socket
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from replay.distant import find_addressed, make_folder
from replay.sources import Form, NoSuchTraceError
from tests.replay.samples import kafka_rows, write_lines, write_parquet

pytestmark = pytest.mark.xdist_group("spark")


def test_what_lies_under_an_address_is_found_once(spark: SparkSession, tmp_path: Path) -> None:
    rows = kafka_rows(count=2)
    (tmp_path / "deep").mkdir()
    plain = write_lines(tmp_path / "b.jsonl", rows)
    packed = write_lines(tmp_path / "deep" / "a.ndjson.gz", rows)
    table = write_parquet(tmp_path / "deep" / "c d.parquet", rows)
    named = write_lines(tmp_path / "trace.log", rows)
    for name in (".hidden.jsonl", "_SUCCESS"):
        (tmp_path / name).write_text("")
    found = find_addressed(spark, [f"file:{tmp_path}", f"file:{plain}"])
    assert [(each.path, each.form) for each in found.files] == [
        (str(plain), Form.LINES),
        (str(packed), Form.GZIP),
        (str(table), Form.PARQUET),
    ]
    assert [each.size for each in found.files] == [
        path.stat().st_size for path in (plain, packed, table)
    ]
    assert found.passed_over == (str(named),)
    assert find_addressed(spark, [f"file:{named}"]).files[0].form is Form.LINES


def test_an_address_that_cannot_be_opened_is_one_line_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        for address, reason in (
            ("nothing://at/all", 'No FileSystem for scheme "nothing"'),
            ("s3a://bucket/traces", "S3AFileSystem not found"),
            ("file:/no/such/place", "File file:/no/such/place does not exist"),
            (f"hdfs://127.0.0.1:{port}/traces", "refused"),
            ("hdfs://nobody.invalid/traces", "UnknownHostException: nobody.invalid"),
            ("hdfs://127.0.0.1:x/traces", "Port could not be cast"),
        ):
            told = rf"^{re.escape(address)} cannot be opened: [^\n]*{re.escape(reason)}"
            with pytest.raises(NoSuchTraceError, match=told):
                find_addressed(spark, [address])
    with pytest.raises(NoSuchTraceError, match=rf"there is no trace in file:{tmp_path}; "):
        find_addressed(spark, [f"file:{tmp_path}"])


def test_a_folder_is_made_or_told_why_not(spark: SparkSession, tmp_path: Path) -> None:
    make_folder(spark, f"file:{tmp_path}/deep/er")
    assert (tmp_path / "deep" / "er").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(NoSuchTraceError, match=r"/file/x cannot be opened: [^\n]+$"):
        make_folder(spark, f"file:{tmp_path}/file/x")
