"""docs/profiles.md: the rules in which profiles differ."""

from model.profile import PROFILES
from model.profile_rules import RULES, ProfileRule, value_of, value_text
from report import markdown


def rules_table() -> str:
    """Return the rules, but for those that reproduce a defect, with their values by profile."""
    return _table([rule for rule in RULES.values() if not rule.defect])


def defects_table() -> str:
    """Return those that reproduce a defect of Apache Kafka."""
    return _table([rule for rule in RULES.values() if rule.defect])


def _table(rules: list[ProfileRule]) -> str:
    def row(rule: ProfileRule) -> tuple[str, ...]:
        sentence = rule.sentence.replace("|", "\\|")
        values = (value_text(value_of(profile, rule)) for profile in PROFILES.values())
        return f"`{rule.name}`: {sentence}", *values

    return markdown.table(("Rule", *(f"`{name}`" for name in PROFILES)), map(row, rules))
