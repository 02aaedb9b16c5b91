"""What a rule is, and those that ``rules.toml`` has: all but the guards of a choice."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from typing import Any

import attrs


class RuleKind(StrEnum):
    """The kinds of rules, each a part of the table."""

    GUARD = "guard"
    COORDINATOR = "coordinator"
    DIFFERENCE = "difference"
    BROKER = "broker"
    INVARIANT = "invariant"
    GROUP = "group"
    KIT = "kit"
    TRANSITION = "transition"
    CLUSTER = "cluster"
    PROMISE = "promise"
    DUTY = "duty"


def _names(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


@attrs.frozen
class Rule:
    """A rule by its name: its sentence, where it stands, and what that says.

    ``sentence`` is empty where code states it: of a broker's difference and of an invariant.
    ``says`` is the source in our words, or between quotation marks in its own. ``check``: how a
    duty of a client is judged. ``about`` is the number of a snapshot that a verdict is on, if it is
    one. ``asserts``: what a test asserts of an operation that breaks a guard. ``promises`` names
    the promises that the rule stands for. ``grave``: who breaks it can lose a record or deliver one
    wrongly. ``at_stake`` has for each kit the goals of a search in which the rule could be broken,
    by name; ``*`` stands for anything.
    ``needs``: the capabilities without which the rule judges nothing.
    """

    sentence: str = ""
    source: str = ""
    says: str = ""
    kind: RuleKind = RuleKind.GUARD
    name: str = ""
    check: str = ""
    about: str = ""
    asserts: str = ""
    promises: tuple[str, ...] = attrs.field(default=(), converter=_names)
    grave: bool = False
    at_stake: Mapping[str, Sequence[str]] = attrs.field(factory=dict)
    needs: tuple[str, ...] = attrs.field(default=(), converter=_names)


def _read() -> Mapping[RuleKind, Mapping[str, Rule]]:
    text = files(__package__).joinpath("rules.toml").read_text("utf-8")
    table: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(text)
    return {
        kind: {name: Rule(kind=kind, name=name, **row) for name, row in table[kind].items()}
        for kind in RuleKind
        if kind is not RuleKind.GUARD
    }


LISTED = _read()
"""The rules of ``rules.toml`` by their kind and their name, in its order."""
