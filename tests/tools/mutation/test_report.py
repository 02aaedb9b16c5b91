import json
from collections import Counter
from pathlib import Path

import pytest

from model.errors import InvalidValueError
from tools.mutation.cli import module_names
from tools.mutation.mutants import mutants_of
from tools.mutation.report import BEGIN, END, as_json, as_lines, rows_of, scores, with_scores
from tools.mutation.run import MutantJudgement

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "mutation.md").read_text()
MUTANTS = mutants_of("spec.lag")
JUDGED = [
    *(MutantJudgement(mutant, "lockstep", "noticed", 0.1) for mutant in MUTANTS[:4]),
    *(MutantJudgement(mutant, "import", "", 0.1) for mutant in MUTANTS[4:6]),
    *(MutantJudgement(mutant, "", "", 0.1) for mutant in MUTANTS[6:8]),
]
LISTED = {MUTANTS[0].key, MUTANTS[6].key}
SCORES = scores(Counter({"spec.lag": len(MUTANTS), "spec.log": 3}), JUDGED, LISTED)


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_score_is_of_the_mutants_that_change_something() -> None:
    lag, log = SCORES
    assert (lag.run, len(lag.killed), len(lag.equivalent), len(lag.survivors)) == (8, 6, 1, 1)
    assert (lag.percent, lag.by) == ("85.7 %", "import 2, lockstep 4")
    assert (log.run, log.percent, log.by) == (0, "–", "")


def test_survivors_and_wrongly_listed_ones_are_shown_with_their_place() -> None:
    lines = list(as_lines(SCORES[0]))
    assert lines[0].split() == [
        *("spec.lag", "8", "of", str(len(MUTANTS)), "mutants", "6", "killed", "1", "equivalent"),
        *("1", "survived", "85.7", "%", "import", "2,", "lockstep", "4"),
    ]
    survivor, refuted = MUTANTS[7], MUTANTS[0]
    assert lines[1:4] == [
        f"  survived: spec/lag.py:{survivor.line} {survivor.function}",
        f"      before  {survivor.before}",
        f"      after   {survivor.after}",
    ]
    assert lines[4] == f"  listed, yet killed: spec/lag.py:{refuted.line} {refuted.function}"
    assert lines[-1] == "      lockstep: noticed"


def test_json_says_the_same() -> None:
    found = json.loads(as_json(SCORES[0]))
    assert found["killed_by"] == {"lockstep": 4, "import": 2}
    assert [m["before"] for m in found["survivors"]] == [MUTANTS[7].before]
    assert [m["detail"] for m in found["listed_yet_killed"]] == ["noticed"]


def test_scores_replace_the_rows_of_their_modules_alone() -> None:
    old = f"{BEGIN}\n| `spec.lag` | old |\n| `impl.rows` | old |\n{END}"
    document = with_scores(old, SCORES[:1], "abc")
    assert list(rows_of(document)) == ["spec.lag", "impl.rows"]
    assert cells(rows_of(document)["spec.lag"]) == [
        *("`spec.lag`", str(len(MUTANTS)), "8", "6", "1", "1", "85.7 %"),
        *("import 2, lockstep 4", "abc"),
    ]
    assert with_scores(document, SCORES[:1], "abc") == document
    with pytest.raises(InvalidValueError, match="one <!-- begin"):
        with_scores("", SCORES, "abc")


def test_document_has_a_row_for_each_module_that_adds_up() -> None:
    rows = rows_of(DOCUMENT)
    assert set(rows) == set(module_names())
    for row in rows.values():
        _module, total, run, killed, equivalent, survived, percent, by, commit = cells(row)
        counts = [int(count) for count in (killed, equivalent, survived)]
        assert int(total) >= int(run) == sum(counts)
        assert int(killed) == sum(
            int(word) for word in by.replace(",", "").split() if word.isdigit()
        )
        expected = "100 %" if survived == "0" else percent
        assert percent == (expected if int(killed) + int(survived) else "–")
        assert commit


def test_nothing_survives_of_the_specification_that_was_run_whole() -> None:
    rows = [cells(row) for module, row in rows_of(DOCUMENT).items() if module.startswith("spec.")]
    whole = {row[0].strip("`"): int(row[5]) for row in rows if row[1] == row[2]}
    assert {module: survived for module, survived in whole.items() if survived} == {}
