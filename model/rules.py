"""The one table of rules, ``rules.toml``: what each says, rests on and stands for."""

import tomllib
from collections.abc import Mapping, Sequence
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

    kind: RuleKind
    name: str
    sentence: str = ""
    source: str = ""
    says: str = ""
    check: str = ""
    about: str = ""
    asserts: str = ""
    promises: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    grave: bool = False
    at_stake: Mapping[str, Sequence[str]] = attrs.field(factory=dict)
    needs: tuple[str, ...] = attrs.field(default=(), converter=tuple)


def _read() -> Mapping[RuleKind, Mapping[str, Rule]]:
    text = files(__package__).joinpath("rules.toml").read_text("utf-8")
    table: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(text)
    return {
        kind: {name: Rule(kind, name, **row) for name, row in table[kind].items()}
        for kind in RuleKind
    }


RULES = _read()
"""Every rule by its kind and its name, in the order of the table."""

_OF_VERDICTS = tuple(
    map(RuleKind, ("guard", "coordinator", "difference", "broker", "invariant", "group", "kit"))
)
VERDICT_RULES = {name: rule for kind in _OF_VERDICTS for name, rule in RULES[kind].items()}
"""Every rule that a verdict on a share-partition or a broker can name, by its name."""


def rules_for(promise: str) -> tuple[str, ...]:
    """Return the names of the guards and differences that stand for a promise."""
    return tuple(name for name, rule in VERDICT_RULES.items() if promise in rule.promises)
