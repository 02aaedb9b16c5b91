"""Every mutant of a module, in a fixed order, and the source of each."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from threading import Lock
from typing import Any

import attrs

from tools.mutation.operators import replacements, without_value

Key = tuple[str, str, str, str, int]
"""Module, function, before, after, and how many before it in the function look the same."""

_NEVER_CHANGED = {"annotation", "returns", "decorator_list", "bases"}
"""Fields that say what a name is."""
_TYPE = re.compile(r"[A-Z]\w*[a-z]\w*|[A-Z]_?|__all__")
"""Names of types and type variables."""
_CHANGING = Lock()
"""Held while a tree is not that of the file: threads share it."""


@attrs.frozen
class Mutant:
    """A small change to a module, or none: then function, before and after are empty.

    ``digest`` is that of the unchanged module; ``source`` makes the source of the mutant.
    """

    key: Key
    digest: str
    source: Callable[[], str]


def module_names(name: str) -> list[str]:
    """Return the module of this name, or the modules of the package."""
    inside = walk_packages(getattr(import_module(name), "__path__", ()), f"{name}.")
    return [module.name for module in inside if not module.ispkg] or [name]


def mutants_of(module: str) -> list[Mutant]:
    """Return the unchanged module, and then every mutant of it."""
    names = vars(import_module(module))
    text = Path(names["__file__"]).read_text()
    tree, digest = ast.parse(text), sha256(text.encode()).hexdigest()[:16]
    seen: Counter[tuple[str, str, str]] = Counter()
    mutants = [Mutant((module, "", "", "", 0), digest, lambda: text)]
    for old, new, function in _edits(tree, dict(sorted(names.items())), ""):
        looks = function, _head(old), _head(new)
        source = partial(_changed, tree, old, new)
        mutants.append(Mutant((module, *looks, seen[looks]), digest, source))
        seen[looks] += 1
    return mutants


def sampled(mutants: Iterable[Mutant], number: int | None, seed: int) -> list[Mutant]:
    """Return at most this many mutants; each is chosen by its own digest and the seed.

    So a change to one function leaves the sample of all others as it was.
    """
    return sorted(mutants, key=lambda m: sha256(repr((seed, m.key)).encode()).digest())[:number]


def _head(node: ast.AST) -> str:
    """Return the node as Python; of a compound statement, only its first line."""
    return ast.unparse(node).strip().split("\n")[0]


def _changed(tree: ast.Module, old: ast.AST, new: ast.AST) -> str:
    """Return the source while the old node is what the new one is."""
    with _CHANGING:
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
            inside = function
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                inside = f"{function}.{node.name}".strip(".")
            edits += _edits(node, names, inside)
            yield from edits or ((node, new, function) for new in without_value(node))


def _is_inert(node: ast.AST) -> bool:
    """Whether a change to the node only shows to people or a type checker."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return bool(_TYPE.fullmatch(name))
        case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case _:
            return isinstance(node, ast.JoinedStr | ast.Assert)
