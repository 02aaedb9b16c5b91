"""The changes that mutants make: for a node of the syntax tree, the nodes that may replace it."""

import ast
import copy
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

_PAIRS = (
    "Lt LtE, Gt GtE, Lt GtE, LtE Gt, Eq NotEq, Is IsNot, In NotIn, And Or, Add Sub, Mult FloorDiv,"
    " FloorDiv Mod, LShift RShift, BitAnd BitOr,"
    " first last, start_offset end_offset, min max, any all"
)
"""Operators and names that stand in for each other."""


def replacements(  # noqa: C901, PLR0912 - one case for each kind of node
    node: ast.AST, names: dict[str, Any]
) -> Iterator[ast.AST]:
    """Yield what may replace the node; ``names`` are the values of the module's names."""
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield from (_with(node, ops=[*ops[:i], o, *ops[i + 1 :]]) for o in _operators(op))
        case ast.BoolOp(op=op, values=values):
            yield from (_with(node, op=other) for other in _operators(op))
            yield from _less(node, "values") if len(values) > 2 else values  # noqa: PLR2004
        case ast.BinOp(op=op, left=left, right=right):
            yield from (_with(node, op=other) for other in _operators(op))
            yield from (left, right) if isinstance(op, ast.BitAnd | ast.BitOr) else ()
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(value=str(text)) if text and not is_prose(node):
            yield ast.Constant("")
        case ast.Name(id=name, ctx=ast.Load()):
            yield from (_with(node, id=other) for other in _other_names(name, names))
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()):
            of = names.get(value.id) if isinstance(value, ast.Name) else None
            inside = sorted(vars(of).items()) if isinstance(of, ModuleType) else ()
            members = getattr(of, "__members__", dict(inside))
            yield from (_with(node, attr=other) for other in _other_names(name, members))
        case ast.Call():
            yield from _calls(node)
        case ast.Dict():
            yield from _less(node, "keys", "values")
        case ast.Set() | ast.List(ctx=ast.Load()) | ast.Tuple(ctx=ast.Load()) if node.elts[1:]:
            yield from _less(node, "elts")
        case ast.If() | ast.IfExp():
            yield from (_with(node, test=ast.Constant(value)) for value in (True, False))
        case ast.While():
            yield _with(node, test=ast.Constant(value=False))
        case ast.For():
            yield _with(node, iter=ast.Tuple([], ast.Load()))
        case ast.comprehension():
            yield from _less(node, "ifs")
        case ast.match_case() if "assert_never" not in ast.unparse(node):
            yield _with(node, guard=ast.Constant(value=False))
        case ast.Raise() | ast.AugAssign() | ast.Delete() | ast.Expr():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case ast.Continue():
            yield from (ast.Pass(), ast.Break())
        case ast.Break():
            yield from (ast.Pass(), ast.Continue())


def without_value(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statement with None for its value, for statements without other mutants."""
    match node:
        case ast.Return(value=value) | ast.Assign(value=value) | ast.AnnAssign(value=value):
            if value and not is_prose(value) and ast.unparse(value) != "None":
                yield _with(node, value=ast.Constant(None))


def is_prose(node: ast.AST) -> bool:
    """Whether the node is a text for people to read: one with spaces."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value


def _with(node: Any, **fields: object) -> Any:  # noqa: ANN401 - any kind of node
    new = copy.copy(node)
    vars(new).update(fields)
    return new


def _less(node: ast.AST, *fields: str) -> Iterator[ast.AST]:
    """Yield the node without the first element of the fields, without the second, and so on."""
    lists = [getattr(node, field) for field in fields]
    for i in range(len(lists[0])):
        shorter = [[*items[:i], *items[i + 1 :]] for items in lists]
        yield _with(node, **dict(zip(fields, shorter, strict=True)))


def _twins(word: str) -> list[str]:
    pairs = [pair.split() for pair in _PAIRS.split(", ")]
    return [other for pair in pairs for one, other in (pair, pair[::-1]) if one == word]


def _operators(old: ast.AST) -> list[Any]:
    return [getattr(ast, name)() for name in _twins(type(old).__name__)]


def _other_names(name: str, names: dict[str, Any]) -> Iterator[str]:
    """Yield the twin of a name, and for a constant the next of its kind that differs."""
    if name not in names:
        yield from _twins(name)
    elif name.strip("_").isupper():
        value = names[name]
        alike = [
            other
            for other, its in names.items()
            if other.strip("_").isupper() and type(its) is type(value)
            if other == name or not np.array_equal(its, value)
        ]
        yield from [*alike[alike.index(name) + 1 :], *alike[: alike.index(name)]][:1]


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    """Yield the call with two arguments swapped, with one left out, or its only argument."""
    called, given = ast.unparse(node.func), node.args
    for i, (one, other) in enumerate(pairwise(given)):
        if called not in {"max", "min"} and ast.dump(one) != ast.dump(other):
            yield _with(node, args=[*given[:i], other, one, *given[i + 2 :]])
    if len(given) > 1 and called[0].isupper():
        yield _with(node, args=given[:-1])
    yield from _less(node, "keywords")
    if called in {"negate", "sorted", "reversed", "abs"} and len(given) == 1:
        yield given[0]
