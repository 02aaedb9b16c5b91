"""The documents of findings say what the lists of known deviations say."""

from pathlib import Path

import pytest

from conformance.findings import findings_table, with_table
from conformance.kafka import KNOWN
from conformance.known import read_known

FOLDER = Path(__file__).parents[2] / "docs" / "findings"
WHERE = {"kafka": "Apache Kafka 4.4.0, `SharePartition`"}


def test_the_table_is_current() -> None:
    text = (FOLDER / "README.md").read_text()
    assert with_table(text, findings_table({"kafka": read_known(KNOWN)}, WHERE)) == text


def test_each_finding_has_its_page() -> None:
    text = (FOLDER / "apache-kafka.md").read_text()
    for one in read_known(KNOWN):
        assert f"## {one.title}\n\n`{one.name}`" in text
        assert one.consequence in text
        assert one.cause in text


def test_a_document_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="needs the lines"):
        with_table("no marks", "")
