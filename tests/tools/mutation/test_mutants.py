import ast
import re
from pathlib import Path

import pytest

from tools.mutation.mutants import Mutant, code_of, mutants_of, sampled, source_of

ROOT = Path(__file__).parents[3]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("spec", "impl")
    for path in sorted((ROOT / package).rglob("*.py"))
    if path.stem != "__init__"
]


def lines_without_mutant(module: str, mutants: list[Mutant]) -> list[str]:
    """Simple statements that run, but those that only import or say what a name is."""
    tree = ast.parse(source_of(module).read_text())
    hit = {mutant.line for mutant in mutants}
    plain = ast.Return | ast.Assign | ast.AugAssign | ast.Expr | ast.Raise | ast.Delete
    return [
        text
        for node in ast.walk(tree)
        if isinstance(node, plain)
        and not hit & set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        and not (text := ast.unparse(node)).startswith(("__all__", "return None"))
        and not re.match(r"_?[A-Z][a-z]\w+ = |\w+ = TypeVar", text)
        and "assert_never" not in text
        and not isinstance(getattr(node, "value", 0), ast.Constant | type(None))
    ]


@pytest.mark.slow
def test_mutants_touch_every_statement_and_each_has_its_own_name() -> None:
    for module in MODULES:
        mutants = mutants_of(module)
        assert mutants == mutants_of(module)
        assert len({mutant.key for mutant in mutants}) == len(mutants)
        assert all(mutant.before != mutant.after for mutant in mutants)
        assert lines_without_mutant(module, mutants) == []


def test_statement_without_a_mutant_is_noticed() -> None:
    mutants = [m for m in mutants_of("spec.lag") if m.function != "lag"]
    assert lines_without_mutant("spec.lag", mutants) != []


def test_code_of_a_mutant_differs_in_what_it_says() -> None:
    mutant = next(m for m in mutants_of("spec.ranges") if m.after == "part.last")
    source = source_of("spec.ranges").read_text().splitlines()
    assert mutant.before in source[mutant.line - 1]
    code = code_of("spec.ranges", mutant.index)
    assert code != code_of("spec.ranges", -1)
    assert code_of("spec.ranges", -1) == code_of("spec.ranges", -1)


def test_every_mutant_compiles() -> None:
    whole = code_of("impl.rows", -1)
    assert all(code_of("impl.rows", m.index) != whole for m in mutants_of("impl.rows"))


def test_code_that_does_not_run_has_no_mutants() -> None:
    mutants = mutants_of("impl.policy") + mutants_of("spec.acquire")
    source = {m.before for m in mutants}
    assert not any("TYPE_CHECKING" in text or "__all__" in text for text in source)
    assert not any(text.startswith(("import ", "from ", "assert ")) for text in source)
    assert not any("'''" in text for text in source)


def test_sample_stays_when_other_mutants_come_and_go() -> None:
    mutants = mutants_of("spec.lag") + mutants_of("spec.log")
    few = sampled(mutants, 10, 1)
    assert few == sampled(mutants[::-1], 10, 1)
    assert few != sampled(mutants, 10, 2)
    kept = [m for m in few if m.module == "spec.log"]
    assert kept
    assert set(kept) <= set(sampled(mutants_of("spec.log"), 10, 1))
    assert len(sampled(mutants, 10**6, 1)) == len(mutants)
