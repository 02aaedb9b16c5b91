"""What Python asks of Z3 terms while a function runs on them, and what each question becomes.

A question whose answer is a value splits the run: truth, comparison, equality of keys of a dict or
a set, kinds. An expression that a term would answer otherwise than the value for which it stands
becomes a question, or makes the proof undecided. docs/proofs.md lists what is assumed.
"""

import ast
import builtins
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from types import CodeType, FrameType, ModuleType, NoneType
from typing import Any

import attrs
import z3
from immutables import Map

import spec
from judge import invariants
from model import ranges
from model.states import RecordState
from proofs.theorems.points import Places
from spec import logic
from spec.logic import Term

Ask = Callable[[z3.BoolRef], bool]
Made = dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]]
_HASH = 0x5EED_0F_7E2A5
"""The hash of every term, so that a dict or a set asks which of its keys are equal."""
_hash = hash
_VALUES = (int, str, NoneType)
"""The classes of the values for which terms stand."""
_PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp)
_NOTHING = object()
_HASHED = (dict, set, frozenset, Map)


class UndecidedError(Exception):
    """Z3 reached no answer, a run on terms does not end, or Python cannot ask what it asks."""


class MixedKeysError(Exception):
    """A dict or a set may have a number for a key that equals a term."""


def is_term(value: object) -> bool:
    """Whether the value is a Z3 term."""
    return isinstance(value, z3.ExprRef)


@contextmanager
def lifted(decide: Ask, offsets: tuple[z3.ArithRef, ...], made: Made) -> Iterator[None]:
    """Let ``decide`` answer questions about terms, and let ranges visit the named offsets.

    ``made`` keeps the terms that runs have made.
    """
    ask = _asking(decide)

    def between(*bounds: Term) -> Iterable[Term]:
        if not any(map(is_term, bounds)):
            return builtins.range(*bounds)
        first, end = bounds
        return sorted(offset for offset in offsets if z3.And(first <= offset, offset < end))

    def is_instance(value: object, kind: Any) -> bool:  # noqa: ANN401 - a class, or several
        if not is_term(value):
            return isinstance(value, kind)
        return _may_be_of(kind) and ask(z3.FreshBool("kind"))

    words = {"range": between, "max": _largest, "min": _smallest, "len": _length}
    keys = {"__hash__": lambda term: _hash_of_a_key(term, sys._getframe(1))}  # noqa: SLF001 - who asks
    # Z3 takes long to spell a term, which rules do in the text of a refusal that nobody reads.
    texts = {"__repr__": object.__repr__, "__str__": object.__repr__}
    known = len(sys.modules)
    given: list[tuple[Any, dict[str, Any]]] = [
        *((place, {name: _remembered(getattr(place, name), made)}) for place, name in _MAKERS),
        *((module, words | _asked_of(module)) for module in _of_the_specification(known)),
        *((module, {"isinstance": isinstance}) for module in _asking_of_kinds(known)),
        (builtins, {"isinstance": is_instance, "hash": _hash_of_a_value}),
        (z3.ExprRef, keys | texts),
        (z3.BoolRef, {"__bool__": ask, **_OF_CONDITIONS}),
        (z3.ArithRef, _of_numbers(ask)),
        (RecordState, {"_missing_": _state_of}),
    ]
    with attrs.validators.disabled(), with_attributes(given):
        yield


@contextmanager
def with_attributes(given: Iterable[tuple[Any, dict[str, Any]]]) -> Iterator[None]:
    """Give modules and classes these attributes for a while; ``mock`` does it, and is slow."""
    given = list(given)
    own = [(place, n, vars(place).get(n, _NOTHING)) for place, names in given for n in names]
    for place, names in given:
        for name, value in names.items():
            setattr(place, name, value)
    try:
        yield
    finally:
        for place, name, value in own:
            if value is _NOTHING:
                delattr(place, name)
            else:
                setattr(place, name, value)


_MAKERS = (
    *((z3.ExprRef, name) for name in ("__eq__", "__ne__")),
    *((z3.ArithRef, name) for name in ("__lt__", "__le__", "__gt__", "__ge__")),
    *((z3.ArithRef, name) for name in ("__add__", "__radd__", "__sub__", "__rsub__", "__neg__")),
    *((module, name) for module in (z3, z3.z3) for name in ("And", "Or", "Not", "If", "Implies")),
)
"""What makes terms of terms: operators and functions of Z3."""


def _remembered(make: Callable[..., Any], made: Made) -> Callable[..., Any]:
    """Let what makes terms return the term that it made of the same terms before.

    A run is the same up to where it leaves another, and Z3 is slow to make a term from Python.
    """

    def remembered(*parts: Any) -> Any:  # noqa: ANN401 - as Z3
        key = make, *map(_same, parts)
        known = made.get(key)
        if known is None:
            # The parts are kept too: a term that is gone may leave its id to another.
            known = made[key] = (make(*parts), parts)
        return known[0]

    return remembered


def _same(part: Any) -> object:  # noqa: ANN401 - what Z3 makes terms of
    """Return what two parts have alike that make the same term."""
    if isinstance(part, z3.ExprRef):
        return id(part)
    return tuple(map(_same, part)) if isinstance(part, list | tuple) else (type(part), part)


def _asking(decide: Ask) -> Ask:
    """Return the truth of a condition: what is asked while a question is answered is Z3's own."""
    original, busy = z3.BoolRef.__bool__, False

    def ask(term: z3.BoolRef) -> bool:
        nonlocal busy
        if busy:
            return bool(original(term))
        busy = True
        try:
            return decide(term)
        finally:
            busy = False

    return ask


@cache
def _of_the_specification(_imported: int) -> list[ModuleType]:
    """Return the modules that get other functions for words of Python, until one is imported."""
    own = (module for module in vars(spec).values() if isinstance(module, ModuleType))
    return [ranges, invariants, *own]


def _asked_of(module: ModuleType) -> dict[str, "_AskedNumbers"]:
    """Return the sets of states that the module keeps, as they are asked about terms."""
    return {name: _AskedNumbers(vars(module)[name]) for name in _sets_of(module)}


@cache
def _sets_of(module: ModuleType) -> list[str]:
    sets = ((name, each) for name, each in vars(module).items() if isinstance(each, frozenset))
    return [name for name, each in sets if any(isinstance(number, int) for number in each)]


class _AskedNumbers(tuple[int, ...]):
    """A set of numbers, of which it is asked at once whether a term equals one of them."""

    __slots__ = ()

    def __contains__(self, value: object) -> bool:
        """Whether the value is one of the numbers."""
        if not is_term(value):
            return super().__contains__(value)
        return bool(z3.Or([value == number for number in self]))

    def issuperset(self, others: Iterable[Term]) -> bool:
        """Whether each of the others is one of the numbers."""
        return all(other in self for other in others)


@cache
def _asking_of_kinds(_imported: int) -> list[ModuleType]:
    """Return Z3 and the words of the specification, which ask of which kind a term is."""
    insiders = [m for name, m in list(sys.modules.items()) if name.partition(".")[0] == "z3"]
    return [*insiders, logic, sys.modules[__name__]]


def _may_be_of(kind: Any) -> bool:  # noqa: ANN401 - a class, or several
    """Whether a value for which a term stands may be of the class, or of one of them."""
    each = kind if isinstance(kind, tuple) else getattr(kind, "__args__", (kind,))
    return any(issubclass(of, _VALUES) or issubclass(int, of) or issubclass(str, of) for of in each)


def _hash_of_a_value(value: object) -> int:
    if is_term(value):
        raise UndecidedError("the hash of a term is that of none of its values")
    return _hash(value)


def _hash_of_a_key(term: z3.ExprRef, frame: FrameType) -> int:
    """Return the hash of all terms, if the term equals no number that may be a key beside it."""
    if isinstance(term, z3.ArithRef):
        for number in sorted(_numbers_in_sight(frame)):
            if term == number:
                raise MixedKeysError
    return _HASH


def _numbers_in_sight(frame: FrameType) -> set[int]:
    """Return the numbers that are keys of dicts and sets which the function sees or displays."""
    code, names, known = frame.f_code, frame.f_locals, frame.f_globals
    seen = [*names.values(), *(known[name] for name in code.co_names if name in known)]
    keys = chain.from_iterable(each for each in seen if isinstance(each, _HASHED))
    written = (_value_of(key, known, names) for key in _keys_written_down(code))
    return {key for key in (*keys, *written) if isinstance(key, int)}


def _value_of(key: CodeType, known: dict[str, Any], names: dict[str, Any]) -> object:
    try:
        return eval(key, known, names)  # noqa: S307 - a name or a number of the specification
    except (NameError, AttributeError):  # A name of a function within this one.
        return None


@cache
def _keys_written_down(code: CodeType) -> tuple[CodeType, ...]:
    """Return the names and constants that are keys of dicts and sets displayed by the function."""
    lines = [line for _, _, line in code.co_lines() if line]
    displays = (
        node for node in _displays_of(code.co_filename) if min(lines) <= node.lineno <= max(lines)
    )
    keys = chain.from_iterable(n.elts if isinstance(n, ast.Set) else n.keys for n in displays)
    plain = (key for key in keys if isinstance(key, _PLAIN))
    return tuple(compile(ast.Expression(key), code.co_filename, "eval") for key in plain)


@cache
def _displays_of(file: str) -> tuple[ast.Dict | ast.Set, ...]:
    path = Path(file)
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.is_file() else ()
    return tuple(node for node in nodes if isinstance(node, ast.Dict | ast.Set))


def _length(values: Sized) -> Term:
    return values.width if isinstance(values, Places) else builtins.len(values)


def _choosing(builtin: Callable[..., Term], is_first: Callable[..., Term]) -> Callable[..., Term]:
    """Return ``max`` or ``min``, which of two numbers chooses one without a question."""

    def choose(*values: Term, **how: Term) -> Term:
        numbers = all(isinstance(value, int | z3.ArithRef) for value in values)
        if len(values) != 2 or how or not numbers or not any(map(is_term, values)):  # noqa: PLR2004 - a pair
            return builtin(*values, **how)
        return z3.If(is_first(*values), *values)

    return choose


_largest, _smallest = _choosing(max, operator.ge), _choosing(min, operator.le)


def _state_of(term: Term) -> RecordState | None:
    """Return the state that equals the term, for ``RecordState(term)``."""
    return next((state for state in RecordState if term == state), None)


def _undecided(*_values: Term) -> Term:
    raise UndecidedError("Z3 computes this otherwise than Python does")


_OTHERWISE = (
    *("__truediv__", "__rtruediv__", "__rfloordiv__", "__rmod__", "__divmod__", "__rdivmod__"),
    *("__pow__", "__rpow__", "__index__", "__int__", "__float__"),
)
"""What Z3 has of numbers and Python otherwise, or what needs a value, as an index does."""

_OF_CONDITIONS: dict[str, Any] = {
    "__rand__": lambda term, other: z3.And(other, term),
    "__ror__": lambda term, other: z3.Or(other, term),
    "__radd__": lambda term, other: other + z3.If(term, 1, 0),
    "__rsub__": lambda term, other: other - z3.If(term, 1, 0),
    "__invert__": _undecided,
}
"""Operators of conditions that Z3 lacks, with a value on the left, and one that it has otherwise:
of Python's True the inverse is -2."""


def _of_numbers(ask: Ask) -> dict[str, Any]:
    """Return the operators of numbers that Z3 lacks, or that it has otherwise.

    A number is true if it is not 0. Python divides towards minus infinity, and Z3 so that the rest
    is not negative: they agree where the divisor is positive.
    """

    def by_positive(divide: Callable[[Term, Term], Term]) -> Callable[[Term, Term], Term]:
        return lambda term, other: divide(term, other) if other > 0 else _undecided()

    rest, quotient = z3.ArithRef.__mod__, z3.ArithRef.__truediv__
    return dict.fromkeys(_OTHERWISE, _undecided) | {
        "__bool__": lambda term: ask(term != 0),
        "__mod__": by_positive(rest),
        "__floordiv__": by_positive(quotient),
    }
