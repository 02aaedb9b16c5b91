"""The changes that mutants make: for a node of the syntax tree, the nodes that may replace it.

Own operators, because those of the tools at hand do not fit: cosmic-ray has none that removes a
statement or an argument or takes one state for another, and brings twenty packages; mutmut changes
functions only, not the tables of a module, and wants a copy of the tree and pytest for each check.
"""

import ast
import copy
from collections.abc import Iterator
from enum import EnumMeta
from types import ModuleType
from typing import Any

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_LOGICAL = (ast.BitAnd, ast.BitOr)
_TWINS = {
    name: twin
    for pair in (("first", "last"), ("start_offset", "end_offset"), ("min", "max"), ("any", "all"))
    for name, twin in (pair, pair[::-1])
}
_SYMMETRIC = {"max", "min"}
"""Functions for which the order of arguments says nothing."""
_TRANSPARENT = {"negate", "sorted", "reversed", "abs"}
"""Functions of which a call may be left out so that only its argument remains."""


def replacements(  # noqa: C901, PLR0912 - one case for each kind of node
    node: ast.AST, names: dict[str, Any]
) -> Iterator[ast.AST]:
    """Yield what may replace the node; ``names`` are the values of the module's names."""
    match node:
        case ast.Compare():
            yield from _comparisons(node)
        case ast.BoolOp():
            yield from _boolean(node)
        case ast.BinOp():
            yield from _arithmetic(node)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant():
            yield from _constants(node)
        case ast.Name(id=name, ctx=ast.Load()):
            yield from (ast.Name(other, ast.Load()) for other in _other_names(name, names))
        case ast.Attribute(ctx=ast.Load()):
            yield from _attributes(node, names)
        case ast.Call():
            yield from _calls(node)
        case ast.Dict() | ast.Set() | ast.List(ctx=ast.Load()) | ast.Tuple(ctx=ast.Load()):
            yield from _displays(node)
        case ast.If() | ast.IfExp():
            yield from (_with(node, test=ast.Constant(value)) for value in (True, False))
        case ast.While():
            yield _with(node, test=ast.Constant(value=False))
        case ast.For():
            yield _with(node, iter=ast.Tuple([], ast.Load()))
        case ast.comprehension() if node.ifs:
            yield from (_with(node, ifs=_without(node.ifs, i)) for i in range(len(node.ifs)))
        case ast.Match() if len(node.cases) > 1:
            yield from _matches(node)
        case ast.Raise() | ast.AugAssign() | ast.Delete() | ast.Expr():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case ast.Continue():
            yield from (ast.Pass(), ast.Break())
        case ast.Break():
            yield from (ast.Pass(), ast.Continue())
        case _:
            pass


def without_value(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statement with None for its value, for statements without other mutants."""
    if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign):
        match node.value:
            case None | ast.Constant(value=None):
                pass
            case ast.Constant(value=str(text)) if " " in text:
                pass  # For people to read.
            case _:
                yield _with(node, value=ast.Constant(None))


def _with(node: Any, **fields: object) -> Any:  # noqa: ANN401 - any kind of node
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _without(items: list[Any], index: int) -> list[Any]:
    return [*items[:index], *items[index + 1 :]]


def _comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for i, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            yield _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])


def _boolean(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for i in range(len(node.values)):
        others = _without(node.values, i)
        yield _with(node, values=others) if len(others) > 1 else others[0]


def _arithmetic(node: ast.BinOp) -> Iterator[ast.AST]:
    if type(node.op) in _ARITHMETIC:
        yield _with(node, op=_ARITHMETIC[type(node.op)]())
    if isinstance(node.op, _LOGICAL):
        yield from (node.left, node.right)


def _constants(node: ast.Constant) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield from (ast.Constant(value + 1), ast.Constant(value - 1))
    elif isinstance(value, str) and value and " " not in value:
        # A text with spaces is for people to read.
        yield ast.Constant("")


def _other_names(name: str, names: dict[str, Any]) -> Iterator[str]:
    """Yield the twin of a name, and for a constant the next constant of its kind."""
    if name in _TWINS and name not in names:
        yield _TWINS[name]
    if name not in names or not name.strip("_").isupper():
        return
    value = names[name]
    alike = sorted(
        other
        for other, its in names.items()
        if other.strip("_").isupper() and type(its) is type(value) and _differ(its, value)
    )
    if alike:
        yield next((other for other in alike if other > name), alike[0])


def _differ(value: object, other: object) -> bool:
    try:
        return bool(value != other)
    except ValueError:  # Arrays are compared element by element.
        return value is not other


def _attributes(node: ast.Attribute, names: dict[str, Any]) -> Iterator[ast.AST]:
    if node.attr in _TWINS:
        yield _with(node, attr=_TWINS[node.attr])
    of = names.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if isinstance(of, ModuleType):
        yield from (_with(node, attr=other) for other in _other_names(node.attr, vars(of)))
    if isinstance(of, EnumMeta) and node.attr in of.__members__:
        members = list(of.__members__)
        yield _with(node, attr=members[(members.index(node.attr) + 1) % len(members)])


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    called, arguments = ast.unparse(node.func), node.args
    for i in range(len(arguments) - 1 if called not in _SYMMETRIC else 0):
        argument, following = arguments[i : i + 2]
        if ast.dump(argument) != ast.dump(following):
            yield _with(node, args=[*arguments[:i], following, argument, *arguments[i + 2 :]])
    if len(arguments) > 1 and called[0].isupper():
        yield _with(node, args=arguments[:-1])
    for i in range(len(node.keywords)):
        yield _with(node, keywords=_without(node.keywords, i))
    if called in _TRANSPARENT and len(arguments) == 1:
        yield arguments[0]


def _displays(node: ast.Dict | ast.Set | ast.List | ast.Tuple) -> Iterator[ast.AST]:
    if isinstance(node, ast.Dict):
        for i in range(len(node.keys)):
            yield _with(node, keys=_without(node.keys, i), values=_without(node.values, i))
    elif len(node.elts) > 1:
        for i in range(len(node.elts)):
            yield _with(node, elts=_without(node.elts, i))


def _matches(node: ast.Match) -> Iterator[ast.AST]:
    for i, case in enumerate(node.cases):
        if "assert_never" not in ast.unparse(case):
            yield _with(node, cases=_without(node.cases, i))
