"""All theorems, in one table."""

import copyreg
from itertools import chain

from model.errors import InvalidValueError
from proofs.theorems import (
    acknowledge_theorems,
    acquire_guard_theorems,
    acquire_theorems,
    broker_theorems,
    counting_theorems,
    durable_theorems,
    group_theorems,
    membership_theorems,
    offered_theorems,
    operation_theorems,
    partition_theorems,
    progress_theorems,
    record_theorems,
    request_theorems,
    serving_theorems,
    session_theorems,
    takeover_theorems,
    window_theorems,
    write_theorems,
)
from proofs.theorems.theorem import Lemma, Theorem, theorems_in

_MODULES = (
    *(record_theorems, window_theorems, operation_theorems, acknowledge_theorems, write_theorems),
    *(takeover_theorems, acquire_theorems, acquire_guard_theorems, offered_theorems),
    *(counting_theorems, durable_theorems, request_theorems, progress_theorems),
    *(session_theorems, broker_theorems, group_theorems),
    *(membership_theorems, serving_theorems, partition_theorems),
)
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
