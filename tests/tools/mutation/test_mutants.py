import ast
from itertools import chain

import pytest

from tools.mutation.mutants import module_names, mutants_of, sampled

MODULES = [*module_names("spec"), *module_names("impl")]
STATEMENTS = ast.Return | ast.AugAssign | ast.Raise | ast.Delete


def statements_without_mutant(module: str, without: str = "") -> list[str]:
    """Simple statements that no mutant changes, but those that return nothing."""
    whole, *mutants = mutants_of(module)
    befores = {mutant.key[2] for mutant in mutants if mutant.key[1] != without}
    return [
        text
        for node in ast.walk(ast.parse(whole.source()))
        if isinstance(node, STATEMENTS)
        and (text := ast.unparse(node)) not in {"return", "return None"}
        and not any(ast.unparse(part).strip() in befores for part in ast.walk(node))
    ]


@pytest.mark.slow
def test_mutants_touch_every_statement_and_each_has_its_own_name() -> None:
    for module in MODULES:
        mutants = mutants_of(module)
        assert len({mutant.key for mutant in mutants}) == len(mutants)
        assert statements_without_mutant(module) == []


def test_statement_without_a_mutant_is_noticed() -> None:
    assert statements_without_mutant("spec.lag") == []
    assert statements_without_mutant("spec.lag", without="lag") != []


def test_source_of_a_mutant_differs_in_what_it_says() -> None:
    whole, *mutants = mutants_of("spec.log")
    plain = ast.unparse(ast.parse(whole.source()))
    for mutant in mutants:
        changed = mutant.source()
        assert changed != plain
        ast.parse(changed)
        lines = set(changed.splitlines()) - set(plain.splitlines())
        assert len(lines) <= 1
    assert mutants[0].source() == mutants_of("spec.log")[1].source()


def test_code_that_does_not_run_has_no_mutants() -> None:
    mutants = chain(mutants_of("model.checks")[1:], mutants_of("spec.acquire")[1:])
    befores = {mutant.key[2] for mutant in mutants}
    assert not any("TYPE_CHECKING" in text or "__all__" in text for text in befores)
    assert not any(text.startswith(("import ", "from ", "assert ", "'''")) for text in befores)


def test_sample_stays_when_other_mutants_come_and_go() -> None:
    mutants = [*mutants_of("spec.lag")[1:], *mutants_of("spec.log")[1:]]
    few = [mutant.key for mutant in sampled(mutants, 10, 1)]
    assert few == [mutant.key for mutant in sampled(mutants[::-1], 10, 1)]
    assert few != [mutant.key for mutant in sampled(mutants, 10, 2)]
    of_log = {mutant.key for mutant in sampled(mutants_of("spec.log")[1:], 10, 1)}
    assert {key for key in few if key[0] == "spec.log"} <= of_log
    assert len(sampled(mutants, None, 1)) == len(mutants)
