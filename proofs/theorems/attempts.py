"""What a rule answers or refuses, and what it asks of others."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import ModuleType
from typing import Any

import attrs

from model.errors import IllegalChoiceError, InvalidValueError
from proofs.theorems.lifting import with_attributes
from spec.logic import Term


@attrs.frozen
class Refusal:
    """What refused a choice; None: the operation itself is impossible."""

    guard: Enum | None


def attempted(operation: Callable[[], Any]) -> Any:  # noqa: ANN401 - as the operation, or Refusal
    """Return what the operation returns, or its refusal."""
    try:
        return operation()
    except IllegalChoiceError as refused:
        return Refusal(refused.guard)
    except InvalidValueError:
        return Refusal(None)


def refused_by(check: Callable[[], Any]) -> Any:  # noqa: ANN401 - a guard, or None
    """Return the guard by which a check refuses, or None."""
    answer = attempted(check)
    return answer.guard if isinstance(answer, Refusal) else None


def first_broken(*rules: tuple[Term, Enum]) -> Enum | None:
    """Return the guard of the first condition that does not hold, or None."""
    return next((guard for condition, guard in rules if not condition), None)


@contextmanager
def standing_in(module: ModuleType, **answers: Any) -> Iterator[dict[str, tuple[Any, ...]]]:  # noqa: ANN401 - any answer
    """Let functions of a module give these answers, and note what each was asked last.

    A theorem that puts another in the place of a check cites what is proved of the check.
    """
    asked: dict[str, tuple[Any, ...]] = {}

    def stand_in(name: str) -> Callable[..., Any]:
        def answer(*arguments: Any) -> Any:  # noqa: ANN401 - as the function
            asked[name] = arguments
            given = answers[name]
            return given(*arguments) if callable(given) else given

        return answer

    with with_attributes([(module, {name: stand_in(name) for name in answers})]):
        yield asked
