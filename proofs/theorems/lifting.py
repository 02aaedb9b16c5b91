"""What Python asks of Z3 terms while a function runs on them, and what each question becomes.

A question whose answer is a value splits the run: truth, comparison, equality of keys of a dict or
a set, kinds. An expression that a term would answer otherwise than the value for which it stands
becomes a question, or makes the proof undecided. docs/proofs.md lists what is assumed.
"""

import ast
import builtins
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
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
    with (
        attrs.validators.disabled(),
        _remembering(made),
        _standing_in_the_specification(words),
        _keeping_its_kinds(),
        _with_attributes(builtins, {"isinstance": is_instance, "hash": _hash_of_a_value}),
        _with_attributes(z3.ExprRef, keys),
        _with_attributes(z3.BoolRef, {"__bool__": ask, **_OF_CONDITIONS}),
        _with_attributes(z3.ArithRef, _of_numbers(ask)),
        _with_attributes(RecordState, {"_missing_": _state_of}),
    ):
        yield


@contextmanager
def _with_attributes(place: Any, names: Mapping[str, Any]) -> Iterator[None]:  # noqa: ANN401 - a module or a class
    """Give a module or a class these attributes for a while; ``mock`` does it, and is slow."""
    own = {name: vars(place)[name] for name in names if name in vars(place)}
    for name, value in names.items():
        setattr(place, name, value)
    try:
        yield
    finally:
        for name in names:
            if name in own:
                setattr(place, name, own[name])
            else:
                delattr(place, name)


_MAKERS = (
    *((z3.ExprRef, name) for name in ("__eq__", "__ne__")),
    *((z3.ArithRef, name) for name in ("__lt__", "__le__", "__gt__", "__ge__")),
    *((z3.ArithRef, name) for name in ("__add__", "__radd__", "__sub__", "__rsub__", "__neg__")),
    *((module, name) for module in (z3, z3.z3) for name in ("And", "Or", "Not", "If", "Implies")),
)
"""What makes terms of terms: operators and functions of Z3."""


@contextmanager
def _remembering(made: Made) -> Iterator[None]:
    """Let what makes terms return the term that it made of the same terms before.

    A run is the same up to where it leaves another, and Z3 is slow to make a term from Python.
    """
    originals = [(place, name, getattr(place, name)) for place, name in _MAKERS]
    for place, name, original in originals:
        setattr(place, name, _remembered(original, made))
    try:
        yield
    finally:
        for place, name, original in originals:
            setattr(place, name, original)


def _remembered(make: Callable[..., Any], made: Made) -> Callable[..., Any]:
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


@contextmanager
def _standing_in_the_specification(words: dict[str, Any]) -> Iterator[None]:
    """Let the modules of the specification use other functions for words of Python.

    Of a set of states that they keep it is asked whether each equals a term.
    """
    kept = [
        (names, {name: names[name] for name in sets})
        for names, sets in _names_of_the_specification(len(sys.modules))
    ]
    for names, sets in kept:
        names.update(words, **{name: _AskedNumbers(numbers) for name, numbers in sets.items()})
    try:
        yield
    finally:
        for names, sets in kept:
            names.update(sets)
            for word in words:
                del names[word]


@cache
def _names_of_the_specification(_imported: int) -> list[tuple[dict[str, Any], tuple[str, ...]]]:
    """Return the names of each module, and which are of sets of numbers, until one is imported."""
    modules = [ranges, *(m for m in vars(spec).values() if isinstance(m, ModuleType))]
    return [(vars(module), tuple(_sets_of_numbers(vars(module)))) for module in modules]


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


def _sets_of_numbers(names: Mapping[str, object]) -> dict[str, frozenset[int]]:
    sets = {name: value for name, value in names.items() if isinstance(value, frozenset)}
    return {
        name: value for name, value in sets.items() if any(isinstance(each, int) for each in value)
    }


@contextmanager
def _keeping_its_kinds() -> Iterator[None]:
    """Let Z3 and the words of the specification ask of which kind a term is, and no other."""
    names = _names_of_insiders(len(sys.modules))
    for each in names:
        each["isinstance"] = isinstance
    try:
        yield
    finally:
        for each in names:
            del each["isinstance"]


@cache
def _names_of_insiders(_imported: int) -> list[dict[str, Any]]:
    insiders = [m for name, m in list(sys.modules.items()) if name.partition(".")[0] == "z3"]
    return [vars(module) for module in (*insiders, logic, sys.modules[__name__])]


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
    if z3.is_int(term):
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
        numbers = all(isinstance(value, int) or z3.is_int(value) for value in values)
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
