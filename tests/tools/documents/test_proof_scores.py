import json
from pathlib import Path

import pytest

from model.errors import InvalidValueError
from tools.documents.proof_scores import BEGIN, END, measured, with_scores
from tools.mutation.cli import selected
from tools.mutation.results import unknown_keys


def test_every_survivor_is_a_mutant() -> None:
    listed = [tuple(key) for group in measured()["survivors"] for key in group["mutants"]]
    assert unknown_keys(listed, selected(measured()["modules"])) == []


def test_every_survivor_has_its_reason() -> None:
    assert all(group["reason"] for group in measured()["survivors"])


def test_numbers_that_do_not_add_up_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    numbers = {"mutants": 9, "tried": 3, "killed": 1, "equivalent": 1}
    wrong = {"modules": {"spec.lag": numbers}, "survivors": []}
    path.write_text(json.dumps(wrong))
    with pytest.raises(InvalidValueError, match="the killed, the equivalent and the survivors, 2"):
        measured(path)


def test_the_table_counts_what_is_listed() -> None:
    text = with_scores(f"{BEGIN}{END}")
    assert text.count("\n| `spec.") == len(measured()["modules"]) + sum(
        len(group["mutants"]) for group in measured()["survivors"]
    )
    assert "\n| these " in text
