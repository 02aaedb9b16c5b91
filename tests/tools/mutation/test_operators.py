import ast
from enum import Enum
from types import ModuleType

import pytest

from tools.mutation.operators import replacements, without_value


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
        ("continue", {"pass", "break"}),
        ("break", {"pass", "continue"}),
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
