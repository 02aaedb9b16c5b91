import pytest

from model.errors import InvalidValueError
from proofs.theorems.catalogue import THEOREMS, theorem_named, theorems_about


def test_names_are_unique_and_found() -> None:
    names = [theorem.name() for theorem in THEOREMS]
    assert len(set(names)) == len(names)
    assert [theorem_named(name) for name in names] == list(THEOREMS)


@pytest.mark.parametrize("words", ["accept", "owner_iff_held", "accept owner_iff_held"])
def test_theorems_are_found_by_transition_property_and_name(words: str) -> None:
    assert theorem_named("accept owner_iff_held") in theorems_about(words)


def test_unknown_name_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="--only is 'nothing'"):
        theorems_about("nothing")


def test_a_theorem_without_a_number_is_a_lemma_that_another_cites() -> None:
    cited = {citation.lemma.property for theorem in THEOREMS for citation in theorem.cites}
    assert {theorem.property for theorem in THEOREMS if not theorem.property.numbers} <= cited
