"""What the rules of a profile say."""

import inspect
import re

import attrs

from model.profile import Profile

Value = bool | int


@attrs.frozen
class ProfileRule:
    """A rule that profiles may have in different ways: its name and its sentence.

    A ``defect`` is one of Apache Kafka that a profile reproduces.
    """

    name: str
    sentence: str
    defect: bool


def _rules() -> dict[str, ProfileRule]:
    """Read the sentences where they are written, in the description of a profile."""
    text = inspect.cleandoc(Profile.__doc__ or "")  # Python 3.13 does so itself.
    entries = re.findall(r"(?ms)^ *``(\w+)``: (.*?)(?=\n\s*\n|\n *``\w+``: |\Z)", text)
    return {
        name: ProfileRule(name, " ".join(sentence.split()), name.startswith("defect_"))
        for name, sentence in entries
    }


RULES = _rules()


def value_of(profile: Profile, rule: ProfileRule) -> Value:
    """Return how a profile has a rule: whether it holds, or its number."""
    value: Value = getattr(profile, rule.name)
    return value


def value_text(value: Value) -> str:
    """Return a value in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}"
