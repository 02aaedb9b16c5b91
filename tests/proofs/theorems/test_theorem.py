from proofs.theorems.catalogue import theorem_named
from proofs.theorems.theorem import about


def test_name_is_the_transition_and_the_property() -> None:
    assert theorem_named("roll back owner_iff_held").transition == "roll back"


def test_about_binds_what_comes_after_the_situation() -> None:
    assert about(lambda situation, more: (situation, more), 2)(1) == (1, 2)
