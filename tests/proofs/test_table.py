from pathlib import Path

import pytest

from model.errors import InvalidValueError
from proofs.catalogue import THEOREMS
from proofs.table import BEGIN, END, properties_table, with_table

DOCUMENT = Path(__file__).parents[2] / "docs" / "proofs.md"
PROVABLE = {*range(1, 9), 10, 11, 12, *range(15, 23), 24, 27, 28, 29, 30, 37, 38, *range(40, 44)}


def test_document_shows_the_table_as_it_is() -> None:
    document = DOCUMENT.read_text()
    assert with_table(document) == document


def test_every_property_that_can_be_proved_now_is() -> None:
    numbers = {number for theorem in THEOREMS for number in theorem.property.numbers}
    assert numbers >= PROVABLE


def test_table_has_a_row_for_each_sentence() -> None:
    sentences = {theorem.property.sentence for theorem in THEOREMS}
    table = properties_table()
    assert all(f"| {sentence} |" in table for sentence in sentences)


def test_document_without_markers_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="one <!-- begin"):
        with_table(f"{BEGIN} {BEGIN} {END}")
