import json
from pathlib import Path

import pytest

from model.errors import InvalidValueError
from tools.mutation.cli import selected
from tools.mutation.mutants import mutants_of
from tools.mutation.results import as_line, equivalents, from_lines, unknown_keys
from tools.mutation.run import MutantJudgement

MUTANTS = mutants_of("spec.lag")
KILLED = MutantJudgement(MUTANTS[0], "lockstep", "AssertionError: impl 1, spec 2", 0.25)
SURVIVED = MutantJudgement(MUTANTS[1], "", "", 20.0)


def listed(tmp_path: Path, *groups: object) -> Path:
    path = tmp_path / "equivalent.json"
    path.write_text(json.dumps(groups))
    return path


def test_results_are_read_as_they_were_written() -> None:
    lines = [as_line(KILLED), as_line(SURVIVED)]
    assert from_lines(lines, MUTANTS) == {KILLED.mutant.key: KILLED, SURVIVED.mutant.key: SURVIVED}


def test_the_last_result_counts_and_unreadable_lines_are_skipped() -> None:
    of_other_source = as_line(SURVIVED).replace('"source": "', '"source": "0')
    again = MutantJudgement(KILLED.mutant, "", "", 1.0)
    lines = [as_line(KILLED), as_line(again), of_other_source, as_line(SURVIVED)[:-9], "", "[1]"]
    assert from_lines(lines, MUTANTS) == {again.mutant.key: again}
    assert from_lines(lines, MUTANTS[2:]) == {}


def test_every_listed_equivalent_is_a_mutant() -> None:
    assert unknown_keys(equivalents(), selected(())) == []


def test_listed_equivalent_that_is_no_mutant_is_noticed() -> None:
    gone = ("spec.lag", "lag", "gone", "gone too", 0)
    assert unknown_keys([MUTANTS[0].key, gone], MUTANTS) == [gone]


def test_reasons_are_given_and_nothing_is_listed_twice(tmp_path: Path) -> None:
    key = MUTANTS[0].key
    with pytest.raises(InvalidValueError, match="reason is ''"):
        equivalents(listed(tmp_path, {"reason": "", "mutants": [key]}))
    with pytest.raises(InvalidValueError, match="each listed once"):
        equivalents(listed(tmp_path, {"reason": "so", "mutants": [key, key]}))
    assert equivalents(listed(tmp_path, {"reason": "so", "mutants": [key]})) == {key: "so"}
