"""The one table of rules: what each says, rests on and stands for.

The guards of a choice are in ``guards``, all others in ``rules.toml``.
"""

from collections.abc import Mapping

import attrs

from model.guards import Guard
from model.rule import LISTED, Rule, RuleKind

__all__ = ["RULES", "VERDICT_RULES", "Rule", "RuleKind", "rules_for"]

RULES: Mapping[RuleKind, Mapping[str, Rule]] = {
    RuleKind.GUARD: {g.name: attrs.evolve(g.rule, name=g.name) for g in Guard},
    **LISTED,
}
"""Every rule by its kind and its name, in the order of the table."""

_OF_VERDICTS = tuple(
    map(RuleKind, ("guard", "coordinator", "difference", "broker", "invariant", "group", "kit"))
)
VERDICT_RULES = {name: rule for kind in _OF_VERDICTS for name, rule in RULES[kind].items()}
"""Every rule that a verdict on a share-partition or a broker can name, by its name."""


def rules_for(promise: str) -> tuple[str, ...]:
    """Return the names of the guards and differences that stand for a promise."""
    return tuple(name for name, rule in VERDICT_RULES.items() if promise in rule.promises)
