"""Every mutant of a module, in a fixed order, and the code of each."""

import ast
import hashlib
import importlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import attrs

from tools.mutation.operators import replacements, without_value

Key = tuple[str, str, str, str, int]
"""Module, function, before, after and occurrence of a mutant."""

_TYPES_ONLY = {
    (ast.arg, "annotation"),
    (ast.AnnAssign, "annotation"),
    (ast.FunctionDef, "returns"),
    (ast.FunctionDef, "decorator_list"),
    (ast.ClassDef, "decorator_list"),
    (ast.ClassDef, "bases"),
    (ast.Subscript, "slice", ast.Tuple),
}
"""Fields of nodes in which nothing is changed: annotations, decorators; the tuple of an index."""
_LONGEST = 160
"""How much of a changed statement is shown, in characters."""


@attrs.frozen
class Mutant:
    """A small change to a module.

    ``function`` is the qualified name of the function or class around it, empty at the top.
    ``before`` and ``after`` are the changed expression or the head of the statement; ``occurrence``
    counts from 0 those that look the same in one function. ``index`` is its place among the
    module's mutants; ``line`` the line of the file, from 1.
    """

    module: str
    function: str
    before: str
    after: str
    occurrence: int
    line: int
    index: int

    @property
    def key(self) -> Key:
        """The mutant's name, which changes elsewhere in the module do not alter."""
        return self.module, self.function, self.before, self.after, self.occurrence


class _Edit(NamedTuple):
    """Put ``new`` into the field of ``owner``, or into the list there, where ``old`` is."""

    owner: ast.AST
    field: str
    place: int | None
    old: ast.AST
    new: ast.AST
    function: str


def source_of(module: str) -> Path:
    """Return the file of a module."""
    return Path(str(importlib.import_module(module).__file__))


def mutants_of(module: str) -> list[Mutant]:
    """Return every mutant of a module, always in the same order."""
    seen: Counter[tuple[str, str, str]] = Counter()
    mutants = []
    for index, edit in enumerate(_edits_of(module)[1]):
        before, after = _shown(_text(edit.old), _text(edit.new))
        looks = (edit.function, before, after)
        line = int(getattr(edit.old, "lineno", getattr(edit.owner, "lineno", 1)))
        mutants.append(Mutant(module, *looks, seen[looks], line, index))
        seen[looks] += 1
    return mutants


def sampled(mutants: Iterable[Mutant], number: int, seed: int) -> list[Mutant]:
    """Return at most this many mutants; each is chosen by its own digest and the seed.

    So a change to one function leaves the sample of all others as it was.
    """

    def place(mutant: Mutant) -> bytes:
        return hashlib.sha256(repr((seed, mutant.key)).encode()).digest()

    return sorted(mutants, key=place)[:number]


def code_of(module: str, index: int) -> CodeType:
    """Return the code of the module's mutant with this index; -1 is the unchanged module."""
    tree, edits = _edits_of(module)
    if index >= 0:
        edit = edits[index]
        new = ast.fix_missing_locations(ast.copy_location(edit.new, edit.old))
        if edit.place is None:
            setattr(edit.owner, edit.field, new)
        else:
            getattr(edit.owner, edit.field)[edit.place] = new
    return compile(tree, str(source_of(module)), "exec")


def _edits_of(module: str) -> tuple[ast.Module, list[_Edit]]:
    tree = ast.parse(source_of(module).read_text())
    names = vars(importlib.import_module(module))
    return tree, list(_edits(tree, names, ""))


def _edits(owner: ast.AST, names: dict[str, Any], function: str) -> Iterator[_Edit]:
    for field, value in ast.iter_fields(owner):
        if (type(owner), field) in _TYPES_ONLY:
            continue
        for place, node in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(node, ast.AST) or _is_inert(node):
                continue
            inside = function
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                inside = f"{function}.{node.name}".lstrip(".")
            edits = [
                _Edit(owner, field, place, node, new, function)
                for new in replacements(node, names)
                if (type(owner), field, type(node)) not in _TYPES_ONLY
            ]
            edits += _edits(node, names, inside)
            if not edits and isinstance(node, ast.stmt):
                edits += [
                    _Edit(owner, field, place, node, new, function) for new in without_value(node)
                ]
            yield from edits


def _is_inert(node: ast.AST) -> bool:
    """Whether a change to the node can only show in texts for people."""
    match node:
        case (
            ast.Expr(value=ast.Constant())
            | ast.JoinedStr()
            | ast.Assert()
            | ast.Import()
            | ast.ImportFrom()
            | ast.AnnAssign(annotation=ast.Name(id="TypeAlias"))
            | ast.If(test=ast.Name(id="TYPE_CHECKING"))
            | ast.Call(func=ast.Name(id="assert_never"))
        ):
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name == "__all__" or _is_type(name) or "TypeVar" in ast.unparse(value)
        case _:
            return False


def _is_type(name: str) -> bool:
    """Whether a name is written in capitalized words, as types are."""
    return name[0].isupper() and not name.isupper() and "_" not in name


def _text(node: ast.AST) -> str:
    """Return the node as Python; of a compound statement, only its head."""
    match node:
        case ast.If(test=test) | ast.While(test=test):
            word = "while" if isinstance(node, ast.While) else "if"
            return f"{word} {ast.unparse(test)}:"
        case ast.For(target=target, iter=iterable):
            return f"for {ast.unparse(target)} in {ast.unparse(iterable)}:"
        case ast.Match(subject=subject, cases=cases):
            patterns = " | ".join(ast.unparse(case.pattern) for case in cases)
            return f"match {ast.unparse(subject)}: {patterns}"
        case _:
            return " ".join(ast.unparse(node).split())


def _shown(before: str, after: str) -> tuple[str, str]:
    """Return both texts, long ones cut to what is near the first difference."""
    if max(len(before), len(after)) <= _LONGEST:
        return before, after
    pairs = enumerate(zip(before, after, strict=False))
    same = next((i for i, (old, new) in pairs if old != new), min(len(before), len(after)))
    start = max(same - _LONGEST // 4, 0)
    return before[start:][:_LONGEST], after[start:][:_LONGEST]
