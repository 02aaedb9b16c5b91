"""The source of a rule: a part of a KIP or of Apache Kafka, with its statement in a sentence."""

from judge.finding import Citation, Finding
from model.rules import RULES, VERDICT_RULES, RuleKind

DRAFT = "KAFKA-20458, the draft of IN_PROGRESS"
"""Source of the rules for IN_PROGRESS marks, which the kit does not request."""


def cited(deviation: Finding) -> Citation | None:
    """Return the vector's own sentence, or that of the transition at fault, or that of the rule."""
    transition = RULES[RuleKind.TRANSITION].get(deviation.probable_cause[0])
    rule = transition or VERDICT_RULES.get(deviation.name)
    return deviation.rests_on or (Citation(rule.source, rule.says) if rule else None)
