import re

from proofs.theorems.catalogue import THEOREMS
from tools.documents.properties import summary_table

_UNPROVED = {9, 14, 23, 25, 26, 31, 33, 34, 35, 39, 45, 50, 51, 52}
PROVABLE = set(range(1, 56)) - _UNPROVED


def test_every_property_that_can_be_proved_now_is() -> None:
    numbers = {number for theorem in THEOREMS for number in theorem.property.numbers}
    assert numbers >= PROVABLE


def test_register_calls_proved_what_theorems_are_about() -> None:
    shown = set(re.findall(r"^\| (\d+) \|", summary_table(), re.MULTILINE))
    assert shown == {str(number) for t in THEOREMS for number in t.property.numbers}
