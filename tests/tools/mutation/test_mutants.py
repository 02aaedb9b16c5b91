import ast
from enum import Enum
from itertools import chain
from types import ModuleType

import pytest

from tools.mutation.mutants import (
    module_names,
    mutants_of,
    replacements,
    sampled,
    without_value,
)

MODULES = [*module_names("spec"), *module_names("impl")]
STATEMENTS = ast.Return | ast.AugAssign | ast.Raise | ast.Delete


def statements_without_mutant(module: str, without: str = "") -> list[str]:
    """Simple statements that no mutant changes, but those that return nothing."""
    (_whole, source), *mutants = mutants_of(module).items()
    befores = {key[2] for key, _changed in mutants if key[1] != without}
    return [
        text
        for node in ast.walk(ast.parse(source()))
        if isinstance(node, STATEMENTS)
        and (text := ast.unparse(node)) not in {"return", "return None"}
        and not any(ast.unparse(part).strip() in befores for part in ast.walk(node))
    ]


@pytest.mark.slow
def test_mutants_touch_every_statement() -> None:
    for module in MODULES:
        assert statements_without_mutant(module) == []


def test_statement_without_a_mutant_is_noticed() -> None:
    assert statements_without_mutant("spec.lag") == []
    assert statements_without_mutant("spec.lag", without="lag") != []


def test_source_of_a_mutant_differs_in_what_it_says() -> None:
    source, *mutants = mutants_of("spec.log").values()
    plain = ast.unparse(ast.parse(source()))
    for mutant in mutants:
        changed = mutant()
        assert changed != plain
        ast.parse(changed)
        lines = set(changed.splitlines()) - set(plain.splitlines())
        assert len(lines) <= 1


def test_code_that_does_not_run_has_no_mutants() -> None:
    befores = {key[2] for key in chain(mutants_of("model.checks"), mutants_of("spec.acquire"))}
    assert not any("TYPE_CHECKING" in text or "__all__" in text for text in befores)
    assert not any(text.startswith(("import ", "from ", "assert ", "'''")) for text in befores)


def test_sample_stays_when_other_mutants_come_and_go() -> None:
    mutants = [*mutants_of("spec.lag"), *mutants_of("spec.log")]
    few = sampled(mutants, 10, 1)
    assert few == sampled(mutants[::-1], 10, 1) != sampled(mutants, 10, 2)
    assert {key for key in few if key[0] == "spec.log"} <= {*sampled(mutants_of("spec.log"), 10, 1)}
    assert len(sampled(mutants, None, 1)) == len(mutants)


class Colour(Enum):
    RED = 1
    BLUE = 2


LEVELS = ModuleType("levels")
vars(LEVELS).update(LOW=1, HIGH=2)
NAMES = {"Colour": Colour, "levels": LEVELS, "NEAR": 1, "FAR": 2, "WORD": "far", "start": 0}


def changed(source: str) -> set[str]:
    """What may stand for the first statement, or for its expression if it is one."""
    node = ast.parse(source).body[0]
    changes = replacements(node.value if isinstance(node, ast.Expr) else node, NAMES)
    return {ast.unparse(ast.fix_missing_locations(new)) for new in changes}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {"a <= b", "a >= b"}),
        ("a <= b < c", {"a < b < c", "a > b < c", "a <= b <= c", "a <= b >= c"}),
        ("a is None", {"a is not None"}),
        ("a not in b", {"a in b"}),
        ("a and b", {"a or b", "a", "b"}),
        ("a or b or c", {"a and b and c", "a or b", "a or c", "b or c"}),
        ("not a", {"a"}),
        ("-a", {"a"}),
        ("a + b", {"a - b"}),
        ("a & b", {"a | b", "a", "b"}),
        ("a ** b", set()),
        ("1", {"0", "2"}),
        ("True", {"False"}),
        ("None", set()),
        ("'name'", {"''"}),
        ("'a text for people'", set()),
        ("NEAR", {"FAR"}),
        ("FAR", {"NEAR"}),
        ("WORD", set()),
        ("start", set()),
        ("min(a, b)", set()),
        ("min", {"max"}),
        ("Colour.RED", {"Colour.BLUE"}),
        ("Colour.BLUE", {"Colour.RED"}),
        ("levels.LOW", {"levels.HIGH"}),
        ("batch.first", {"batch.last"}),
        ("batch.other", set()),
        ("f(a, b, c)", {"f(b, a, c)", "f(a, c, b)"}),
        ("f(a, a)", set()),
        ("f(a, k=b)", {"f(a)"}),
        ("Value(a, b)", {"Value(b, a)", "Value(a)"}),
        ("negate(a)", {"a"}),
        ("(a, b)", {"(b,)", "(a,)"}),
        ("(a,)", set()),
        ("{a: b, c: d}", {"{c: d}", "{a: b}"}),
        ("b if a else c", {"b if True else c", "b if False else c"}),
        ("if a: b", {"if True:\n    b", "if False:\n    b"}),
        ("while a: b", {"while False:\n    b"}),
        ("for a in b: c", {"for a in ():\n    c"}),
        ("raise a", {"pass"}),
        ("a += 1", {"pass"}),
        ("a[0] = 1", {"pass"}),
        ("a.b = 1", {"pass"}),
        ("a = 1", set()),
        ("del a[0]", {"pass"}),
        ("continue", {"pass"}),
        ("break", {"pass"}),
    ],
)
def test_the_replacements_of_each_kind_of_code(source: str, expected: set[str]) -> None:
    assert changed(source) == expected


def test_a_case_never_matches_but_for_one_that_cannot() -> None:
    node = ast.parse("match a:\n    case 1: b\n    case _: assert_never(a)").body[0]
    assert isinstance(node, ast.Match)
    one, other = (
        [ast.unparse(new).strip() for new in replacements(case, {})] for case in node.cases
    )
    assert [text.split("\n")[0] for text in one] == ["case 1 if False:"]
    assert other == []


def test_condition_of_a_comprehension_is_left_out() -> None:
    node = ast.parse("[a for a in b if a if c]").body[0]
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.ListComp)
    left = [ast.unparse(new) for new in replacements(node.value.generators[0], NAMES)]
    assert left == [" for a in b if c", " for a in b if a"]


def test_call_as_a_statement_is_left_out() -> None:
    assert [type(new) for new in replacements(ast.parse("f()").body[0], {})] == [ast.Pass]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = b", ["a = None"]),
        ("a: int = b", ["a: int = None"]),
        ("a = None", []),
        ("a = 'for people'", []),
        ("return", []),
        ("f()", []),
    ],
)
def test_value_is_left_out(source: str, expected: list[str]) -> None:
    node = ast.parse(source).body[0]
    assert [ast.unparse(new) for new in without_value(node)] == expected
