"""All theorems, in one table."""

import copyreg
from importlib import import_module
from itertools import chain
from pkgutil import iter_modules

from model.errors import InvalidValueError
from proofs import theorems
from proofs.theorems.theorem import Lemma, Theorem, theorems_in

_NAMES = sorted(m.name for m in iter_modules(theorems.__path__) if m.name.endswith("_theorems"))
_MODULES = tuple(import_module(f"{__package__}.{name}") for name in _NAMES)
LEMMAS = tuple(
    value for module in _MODULES for value in vars(module).values() if isinstance(value, Lemma)
)
"""All lemmas that theorems cite, each proved by its base and step."""
THEOREMS: tuple[Theorem, ...] = tuple(
    chain.from_iterable(theorems_in(vars(module)) for module in _MODULES)
)
_NAMED = {theorem.name(): theorem for theorem in THEOREMS}


def theorem_named(name: str) -> Theorem:
    """Return the theorem of this name."""
    return _NAMED[name]


copyreg.pickle(Theorem, lambda theorem: (theorem_named, (theorem.name(),)))


def theorems_about(words: str) -> list[Theorem]:
    """Return the theorems of this property, transition, name or number of docs/properties.md.

    Raises InvalidValueError if there is none.
    """
    matching = [theorem for theorem in THEOREMS if words in _called(theorem)]
    if not matching:
        allowed = (
            "a property, its number or a transition as --list names them, such as owner_iff_held, "
            "2, accept"
        )
        raise InvalidValueError("--only", words, allowed)
    return matching


def _called(theorem: Theorem) -> tuple[str, ...]:
    numbers = map(str, theorem.property.numbers)
    return theorem.property.name, theorem.transition, theorem.name(), *numbers
