"""What the rules of a profile say, and where two profiles differ."""

import inspect
import re
from collections.abc import Iterator, Sequence

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


def differences(profiles: Sequence[Profile]) -> Iterator[tuple[ProfileRule, tuple[Value, ...]]]:
    """Yield each rule that is not the same in all of the profiles, with its value in each."""
    for rule in RULES.values():
        values = tuple(value_of(profile, rule) for profile in profiles)
        if len(set(values)) > 1:
            yield rule, values


def value_text(value: Value) -> str:
    """Return a value in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}"
