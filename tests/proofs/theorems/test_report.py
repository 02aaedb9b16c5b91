import json

import attrs

from proofs.theorems.catalogue import THEOREMS, theorem_named
from proofs.theorems.harness import Refutation, check_control, prove
from proofs.theorems.reachable import Witness
from proofs.theorems.report import (
    TheoremFinding,
    as_json,
    as_lines,
    is_proved,
    listed,
    summary,
    totals,
)

THEOREM = theorem_named("accept owner_iff_held")
WITNESS = Witness(None, 3)
FINDING = TheoremFinding(prove(THEOREM), WITNESS, check_control(THEOREM))


def test_proof_without_witness_does_not_count() -> None:
    missing = attrs.evolve(FINDING, witness=None)
    assert is_proved(FINDING)
    assert not is_proved(missing)
    assert "    no run reaches a state of which it says something" in as_lines(missing)


def test_proof_whose_control_holds_does_not_count() -> None:
    idle = attrs.evolve(FINDING, refutation=Refutation(THEOREM, fails=False, seconds=0.0, test=""))
    assert not is_proved(idle)
    assert any("STILL HOLDS" in line for line in as_lines(idle))


def test_totals_count_proofs_witnesses_and_controls() -> None:
    line = totals([FINDING], 1.25)
    assert line == "1 of 1 theorems proved in 2 cases, 1 witnesses, 1 controls fail; 1.2 s"


def test_lemmas_that_a_theorem_cites_are_shown() -> None:
    citing = theorem_named("change complete_count_is_the_number_of_complete_offsets")
    finding = TheoremFinding(prove(citing), WITNESS)
    cited = ["a_count_follows_one_change", "a_count_is_that_of_the_parts"]
    assert f"    by {', '.join(cited)}" in as_lines(finding)
    assert json.loads(as_json(finding))["cites"] == cited


def test_a_base_and_a_step_are_of_their_lemma() -> None:
    step = theorem_named("step a_count_follows_one_change")
    first, *_ = as_lines(TheoremFinding(prove(step), WITNESS))
    assert first.startswith("step of a_count_follows_one_change ")


def test_properties_are_listed_once_with_all_that_they_are_of() -> None:
    lines = list(listed(THEOREMS))
    heads = [line for line in lines if not line.startswith(" ")]
    assert len(heads) == len({theorem.property.name for theorem in THEOREMS})
    assert any(line.startswith("owner_iff_held [2]") for line in heads)
    assert max(len(line) for part in lines if part not in heads for line in part.split("\n")) <= 80


def test_a_summary_counts_the_proofs_of_a_property() -> None:
    other = theorem_named("renew owner_iff_held")
    unproved = TheoremFinding(prove(other), None)
    (line,) = summary([FINDING, unproved])
    assert line.startswith("owner_iff_held ")
    assert " 1 of 2    NOT PROVED: 1 " in line
    (line,) = summary([FINDING])
    assert " 1 of 1    proved " in line
