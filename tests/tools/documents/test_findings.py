"""The documents of findings say what the lists of known deviations say."""

from pathlib import Path

import pytest

from conformance.known import Known, read_known
from conformance.subjects import Subject
from tools.documents.findings import findings_table, with_table

FOLDER = Path(__file__).parents[3] / "docs" / "findings"
PAGES = {
    "kafka": "apache-kafka.md",
    "kafka-broker": "kafka-broker.md",
    "librdkafka-mock": "librdkafka-mock.md",
    "kfake": "kfake.md",
    "crabka": "crabka.md",
    "crabka-core": "crabka.md",
}
WHERE = {
    "kafka": "Apache Kafka 4.4.0, `SharePartition`",
    "kafka-broker": "Apache Kafka 4.4.0, a broker",
    "librdkafka-mock": "librdkafka 2.16.0, mock cluster",
    "kfake": "kfake v0.0.0-20260918054303",
    "crabka": "crabka-broker 0.3.8",
    "crabka-core": "crabka-broker 0.3.8, `AcquisitionState`",
}


def known(name: str) -> tuple[Known, ...]:
    subject = Subject(name)
    assert subject.known is not None
    return read_known(subject.known, subject.kind)


def test_the_table_is_current() -> None:
    text = (FOLDER / "README.md").read_text()
    table = findings_table({name: known(name) for name in PAGES}, WHERE)
    assert with_table(text, table) == text


@pytest.mark.parametrize("name", PAGES)
def test_each_finding_has_its_page(name: str) -> None:
    text = (FOLDER / PAGES[name]).read_text()
    for one in known(name):
        assert f"## {one.title}\n\n`{one.name}`" in text
        assert one.consequence in text
        assert one.cause in text


def test_a_document_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="needs the lines"):
        with_table("no marks", "")
