"""docs/profiles.md: the rules in which profiles differ."""

from model.profile import PROFILES
from model.profile_rules import RULES, ProfileRule, value_of, value_text


def rules_table() -> str:
    """Return the rules, but for those that reproduce a defect, with their values by profile."""
    return _table([rule for rule in RULES.values() if not rule.defect])


def defects_table() -> str:
    """Return those that reproduce a defect of Apache Kafka."""
    return _table([rule for rule in RULES.values() if rule.defect])


def _table(rules: list[ProfileRule]) -> str:
    names = list(PROFILES)
    lines = [
        f"| Rule | {' | '.join(f'`{name}`' for name in names)} |",
        "|---" * (len(names) + 1) + "|",
    ]
    for rule in rules:
        values = (value_text(value_of(profile, rule)) for profile in PROFILES.values())
        sentence = rule.sentence.replace("|", "\\|")
        lines.append(f"| `{rule.name}`: {sentence} | {' | '.join(values)} |")
    return "\n".join(lines)
