"""The changes to rules that more than one control makes.

Each function returns the change of a ``Control``: a function from a rule to a rule.
"""

from collections.abc import Callable
from typing import Any

import attrs

from proofs.theorems.theorem import Control

Change = Callable[[Any], Any]


def wrong(target: str, how: str, change: Change) -> Control:
    """Return the control that changes the function of ``target``, and says how."""
    return Control(f"{target.partition(':')[2]} {how}", target, change)


def becomes(other: Callable[..., Any]) -> Change:
    """Put another rule in the place of the rule."""
    return lambda _rule: other


def does_nothing(_rule: object) -> Callable[..., Any]:
    """Return the first argument unchanged."""
    return lambda first, *_rest: first


def returns(change: Change) -> Change:
    """Change the result of the rule."""
    return lambda rule: lambda *of, **how: change(rule(*of, **how))


def sets(**fields: object) -> Change:
    """Set these fields of the result."""
    return returns(lambda result: attrs.evolve(result, **fields))


def adds(amount: int, field: str = "") -> Change:
    """Add to a field of the result, or to the result if no field is named."""
    if not field:
        return returns(lambda result: result + amount)
    return returns(lambda result: attrs.evolve(result, **{field: getattr(result, field) + amount}))


def keeps(field: str, *, plus: int = 0) -> Change:
    """Let a field of the result be that of the first argument, plus a number."""

    def wrong(rule: Change) -> Change:
        def keeping(first: Any, *rest: Any) -> Any:  # noqa: ANN401 - as the rule
            kept = getattr(first, field) + plus
            return attrs.evolve(rule(first, *rest), **{field: kept})

        return keeping

    return wrong


def leaves(state: Callable[..., Any]) -> Change:
    """Let the step of an operation leave the state that the function makes of its arguments."""
    return lambda rule: lambda *of: attrs.evolve(rule(*of), partition=state(*of))


def changes_nothing(target: str, how: str = "changes nothing") -> Control:
    """Return the control under which an operation leaves the state as it was."""
    return wrong(target, how, leaves(lambda state, *_rest: state))


def allows_everything(target: str) -> Control:
    """Return the control under which a check refuses nothing."""
    return wrong(target, "allows everything", becomes(lambda *_of: None))


def called_with(change: Callable[..., tuple[Any, ...]]) -> Change:
    """Change the arguments of the rule."""
    return lambda rule: lambda *of: rule(*change(*of))


def off_by_one(position: int) -> Change:
    """Add one to the argument at that position."""
    return called_with(lambda *of: (*of[:position], of[position] + 1, *of[position + 1 :]))


def also_allows(allowed: Callable[[Any], Any]) -> Change:
    """Let a guard hold of what is allowed here as well; it depends on the first argument."""
    return lambda guard: lambda first, *rest: guard(first, *rest) | allowed(first)
