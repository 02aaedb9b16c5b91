from tests.mutants.theorems import refuted, theorems_about_the_mutant


def test_properties_with_a_number_hold() -> None:
    theorem = refuted(theorems_about_the_mutant(numbered=True))
    assert theorem == "", theorem
