"""The document of a client's duties, each with its sentence, its check and faulty clients."""

from clients.duties import RULES, Duty
from clients.liveness import EMPTY_FETCHES


def duties() -> str:
    """Return a section for each duty."""
    assert f"most {EMPTY_FETCHES} fetches and {EMPTY_FETCHES} more" in RULES[Duty.NOT_BUSY].check  # noqa: S101 - the text has the number
    return "\n".join(map(_section, Duty)).strip()


def _section(duty: Duty) -> str:
    rule = RULES[duty]
    return f"## {duty.value}\n\n> {rule.sentence}\n>\n> {rule.source}\n\n{rule.check}\n"
