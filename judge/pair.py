"""The specification and the implementation side by side, compared after every step."""

import re
from collections.abc import Callable

import attrs

from judge.engine import Engine, SpecEngine
from model.errors import IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import Operation
from model.outcome import Answer, Choice, Outcome
from model.states import PERSISTED_STATES

Apply = Callable[[Operation, Choice, tuple[Answer, ...], int], Outcome]
"""How an engine applies an operation; the number names it in later completions."""


@attrs.frozen
class Refused:
    """An operation that changed nothing: the guard that refuses it, or the name of a bad value.

    ``detail`` is the offset that a guard names, if any, or the bad value (but for an operation
    that the profile does not have, which the sides show differently). ``text`` is the whole
    message, which the two sides may word differently.
    """

    reason: Guard | str
    detail: str
    text: str = attrs.field(default="", eq=False)


def attempt(
    apply: Apply, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
) -> Outcome | Refused:
    """Apply an operation on one side; return its outcome or why it is refused."""
    try:
        return apply(operation, choice, answers, seq)
    except IllegalChoiceError as error:
        offset = re.match(r"(?:offset|at) (\d+)", error.detail)
        return Refused(Guard[error.guard.name], offset[1] if offset else "", str(error))
    except InvalidValueError as error:
        value = "" if error.name == "operation" else str(error).partition("; allowed: ")[0]
        return Refused(error.name, value, str(error))


def answers_differ(spec: Outcome | Refused, impl: Outcome | Refused) -> str | None:
    """Return how the answers to one operation differ, in words; None if they agree.

    Where the specification's refusal names an offset, the implementation's must name the same.
    """
    if isinstance(spec, Refused) and isinstance(impl, Refused) and not spec.detail:
        impl = attrs.evolve(impl, detail="")
    if impl == spec:
        return None
    return f"the implementation answers {impl}, the specification {spec}"


def states_differ(spec: Engine, impl: Engine) -> str | None:
    """Return how window, durable state or lag differ, in words; None if all agree."""
    for name, expected, actual in (
        ("window", spec.snapshot(), impl.snapshot()),
        ("durable state", spec.durable(), impl.durable()),
        ("lag", spec.lag(), impl.lag()),
    ):
        if actual != expected:
            return f"the implementation's {name} is {actual}, the specification's {expected}"
    return None


def broken_rule(spec: SpecEngine, answer: Outcome | Refused) -> str | None:
    """Return which invariant does not hold after a step, in words; None if all do."""
    writes = answer.writes if isinstance(answer, Outcome) else ()
    written = {batch.state for write in writes for batch in write.state_batches}
    if not written <= PERSISTED_STATES:
        return f"not true: only {sorted(PERSISTED_STATES)} are written, not {sorted(written)}"
    broken = [sentence for _name, sentence in spec.violated()]
    return f"not true: {' '.join(broken)}" if broken else None
