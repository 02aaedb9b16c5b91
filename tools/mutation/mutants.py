"""Every mutant of a module, in a fixed order, and the source of each."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import sha256
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import numpy as np

Key = tuple[str, str, str, str, int]
"""Module, function, before, after, and how many before it in the function look the same."""
_PAIRS = (
    "Lt LtE, Gt GtE, Lt GtE, LtE Gt, Eq NotEq, Is IsNot, In NotIn, And Or, Add Sub, Mult FloorDiv,"
    " FloorDiv Mod, LShift RShift, BitAnd BitOr,"
    " first last, start_offset end_offset, min max, any all"
)
"""Operators and names that stand in for each other."""
_NEVER_CHANGED = {"annotation", "returns", "decorator_list", "bases"}
"""Fields that say what a name is."""


def module_names(name: str) -> list[str]:
    """Return the module of this name, or the modules of the package."""
    inside = walk_packages(getattr(import_module(name), "__path__", ()), f"{name}.")
    return [module.name for module in inside if not module.ispkg] or [name]


def mutants_of(module: str) -> dict[Key, Callable[[], str]]:
    """Return what makes the source of each mutant; the first, of no function, changes nothing."""
    names = vars(import_module(module))
    text = Path(names["__file__"]).read_text()
    tree, seen = ast.parse(text), Counter[tuple[str, ...]]()
    mutants: dict[Key, Callable[[], str]] = {(module, "", "", "", 0): lambda: text}
    for old, new, function in _edits(tree, dict(sorted(names.items())), ""):
        before, after = (ast.unparse(node).strip().split("\n")[0] for node in (old, new))
        number = seen[function, before, after]
        seen[function, before, after] += 1
        mutants[module, function, before, after, number] = partial(_changed, tree, old, new)
    return mutants


def sampled(mutants: Iterable[Key], number: int | None, seed: int) -> list[Key]:
    """Return at most so many, by digests of key and seed: so others may come and go."""
    return sorted(mutants, key=lambda key: sha256(repr((seed, key)).encode()).digest())[:number]


def _changed(tree: ast.Module, old: ast.AST, new: ast.AST) -> str:
    """Return the source while the old node is what the new one is."""
    before = type(old), vars(old).copy()
    old.__class__, old.__dict__ = type(new), vars(new).copy()
    source = ast.unparse(tree)
    old.__class__, old.__dict__ = before
    return source


def _edits(
    owner: ast.AST, names: dict[str, Any], function: str
) -> Iterator[tuple[ast.AST, ast.AST, str]]:
    """Yield what is replaced, by what, and in which function."""
    for field, value in ast.iter_fields(owner):
        for node in value if isinstance(value, list) else [value]:
            if field in _NEVER_CHANGED or not isinstance(node, ast.AST) or _is_inert(node):
                continue
            is_index = isinstance(owner, ast.Subscript) and isinstance(node, ast.Tuple)
            edits = [(node, new, function) for new in replacements(node, names) if not is_index]
            is_named = isinstance(node, ast.FunctionDef | ast.ClassDef)
            inside = f"{function}.{vars(node)['name']}".strip(".") if is_named else function
            edits += _edits(node, names, inside)
            yield from edits or ((node, new, function) for new in without_value(node))


def _is_inert(node: ast.AST) -> bool:
    """Whether a change to the node only shows to people or a type checker."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return bool(re.fullmatch(r"[A-Z]\w*[a-z]\w*|[A-Z]_?|__all__", name))  # Of a type.
        case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return isinstance(node, ast.JoinedStr | ast.Assert)


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
        case ast.Constant(value=str(text)) if text and " " not in text:
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
        case ast.comprehension():
            yield from _less(node, "ifs")
        case ast.If() | ast.IfExp():
            yield from (_with(node, test=ast.Constant(value)) for value in (True, False))
        case ast.While():
            yield _with(node, test=ast.Constant(value=False))
        case ast.For():
            yield _with(node, iter=ast.Tuple([], ast.Load()))
        case ast.match_case() if "assert_never" not in ast.unparse(node):
            yield _with(node, guard=ast.Constant(value=False))
        case ast.Raise() | ast.AugAssign() | ast.Delete() | ast.Expr():
            yield ast.Pass()
        case ast.Continue() | ast.Break() | ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()


def without_value(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statement with None for its value, for statements without other mutants."""
    match node:
        case ast.Return(value=value) | ast.Assign(value=value) | ast.AnnAssign(value=value):
            text = ast.unparse(value) if value else "None"
            if text != "None" and not (isinstance(value, ast.Constant) and " " in text):
                yield _with(node, value=ast.Constant(None))


def _with(node: Any, **fields: object) -> Any:  # noqa: ANN401 - any kind of node
    return type(node)(**{**vars(node), **fields})


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
            o for o, its in names.items() if o.strip("_").isupper() and type(its) is type(value)
        ]
        others = [*alike[alike.index(name) + 1 :], *alike[: alike.index(name)]]
        yield from [other for other in others if not np.array_equal(names[other], value)][:1]


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
