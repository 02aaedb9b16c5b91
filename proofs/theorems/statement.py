"""Stating a theorem: a claim, decorated with what it is about and the change that refutes it."""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import attrs

from proofs.theorems.theorem import Control, LemmaCitation, Property, Theorem, about
from spec.logic import Term

Claim = Callable[..., Term]
Controls = Control | Mapping[str, Control] | Callable[..., Control]
Transitions = str | list[Any] | Mapping[str, tuple[Any, ...]]


@attrs.frozen
class Subject:
    """What several theorems are about: their source, a kind of situation, and what holds of it.

    ``given`` is the hypothesis, where a theorem names none of its own. ``runnable`` as in
    ``Theorem``.
    """

    source: str
    situation: type
    given: Claim = lambda *_situation: True
    runnable: Claim = lambda _s: True

    def theorem(
        self,
        *numbers: int,
        of: Transitions,
        control: Controls,
        given: Claim | None = None,
        where: Claim | None = None,
        cites: tuple[LemmaCitation, ...] = (),
    ) -> Callable[[Claim], tuple[Theorem, ...]]:
        """Make theorems of a claim: it has the property's name, and its docstring the sentence.

        There is one for each transition that ``of`` names. A mapping has further arguments of the
        claim, of ``given``, ``where`` and ``control``; so has each thing with a name. ``where`` is
        assumed besides what is given. ``control`` may be one for each, by name or by arguments.
        """

        def stated(claim: Claim) -> tuple[Theorem, ...]:
            sentence = " ".join((claim.__doc__ or "").partition("\n\n")[0].split())
            known = Property(claim.__name__, sentence, self.source, numbers)
            return tuple(
                Theorem(
                    known,
                    name,
                    self.situation,
                    _both(self.given if given is None else about(given, *more), where, more),
                    about(claim, *more),
                    _control_of(control, name, more),
                    cites,
                    self.runnable,
                )
                for name, more in _arguments(of).items()
            )

        return stated


def _both(given: Claim, where: Claim | None, more: tuple[Any, ...]) -> Claim:
    if where is None:
        return given
    return lambda s: where(s, *more) if given(s) else False


def _control_of(control: Controls, name: str, more: tuple[Any, ...]) -> Control:
    if isinstance(control, Control):
        return control
    return control[name] if isinstance(control, Mapping) else control(*more)


def _arguments(of: Transitions) -> Mapping[str, tuple[Any, ...]]:
    if isinstance(of, str):
        return {of: ()}
    return of if isinstance(of, Mapping) else {each.name: (each,) for each in of}


def theorems_in(module: Mapping[str, object]) -> tuple[Theorem, ...]:
    """Return the theorems that the names of a module stand for, in their order."""
    stated = (value for value in module.values() if isinstance(value, tuple))
    return tuple(each for each in chain.from_iterable(stated) if isinstance(each, Theorem))


def wrong(target: str, how: str, change: Callable[[Any], Any]) -> Control:
    """Return the control that changes the function of ``target``, and says how."""
    return Control(f"{target.partition(':')[2]} {how}", target, change)
