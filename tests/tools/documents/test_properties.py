import re
from pathlib import Path

from proofs.theorems.catalogue import THEOREMS
from tools.documents.properties import properties_table, summary_table

_UNPROVED = {9, 14, 23, 25, 26, 31, 33, 34, 35, 39, 45, 50, 51, 52}
PROVABLE = set(range(1, 56)) - _UNPROVED


def test_every_property_that_can_be_proved_now_is() -> None:
    numbers = {number for theorem in THEOREMS for number in theorem.property.numbers}
    assert numbers >= PROVABLE


def test_table_has_a_row_for_each_sentence() -> None:
    sentences = {theorem.property.sentence for theorem in THEOREMS}
    table = properties_table()
    assert all(f"| {sentence} |" in table for sentence in sentences)


def test_register_calls_proved_what_theorems_are_about() -> None:
    shown = set(re.findall(r"^\| (\d+) \|", summary_table(), re.MULTILINE))
    assert shown == {str(number) for t in THEOREMS for number in t.property.numbers}


def test_summary_counts_theorems(tmp_path: Path) -> None:
    about = [theorem for theorem in THEOREMS if 32 in theorem.property.numbers]
    register = "| 32 | A batch. | Proved, tests |\n| 14 | Fair. | Open |\n| 32 | B. | Proved so |"
    path = tmp_path / "properties.md"
    path.write_text(register)
    assert summary_table(path).splitlines()[2:] == [
        f"| 32 | A batch. | {len(about)} |",
        f"| 32 | B. Proved so. | {len(about)} |",
    ]
