from tests.mutants.theorems import refuted, theorems_about_the_mutant


def test_theorems_without_a_number_hold() -> None:
    theorem = refuted(theorems_about_the_mutant(numbered=False))
    assert theorem == "", theorem
