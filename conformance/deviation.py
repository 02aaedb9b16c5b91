"""What a target did that no rule allows, and the steps that led to it."""

import attrs

from judge.finding import CRASHED, Finding, FindingKind
from judge.words import printable
from model.errors import InvalidValueError
from model.guards import Difference
from model.snapshot import SharePartitionSnapshot

UNREADABLE = "UNREADABLE_ANSWER"
ENGINE = "target"
"""What stands for the engine in a finding about a target."""

_MAX_TEXT = 300

Signature = tuple[str, ...]
"""The rule, the operation, and of a failure its text: equal for deviations that look alike."""


def target_finding(  # noqa: PLR0913 - in the order in which reports have them
    name: str,
    operation: str,
    sentence: str,
    recorded: str,
    expected: str,
    *,
    before: str = "",
    state: SharePartitionSnapshot | None = None,
) -> Finding:
    """Return what a target did that no rule allows, at the last command of a sequence.

    ``state`` is the state expected after it; None where the rules allow several.
    """
    kind = FindingKind.DIFFERENCE if name in Difference.__members__ else FindingKind.GUARD
    found = Finding(0, ENGINE, kind, name, sentence, recorded, expected, before, "")
    return attrs.evolve(found, operation=operation, state_expected=state)


def crashed(operation: str, text: str) -> Finding:
    """Return that a target failed with a text instead of answering."""
    says = "An operation ends with an answer, not with a failure of the implementation."
    return target_finding(CRASHED, operation, says, printable(text, _MAX_TEXT), "an answer")


def unreadable(operation: str, error: InvalidValueError) -> Finding:
    """Return that a target answered what cannot be; its cause is the field."""
    says = "What an operation answers is possible at all, whatever happened before."
    texts = printable(str(error), _MAX_TEXT), "what is possible"
    return attrs.evolve(
        target_finding(UNREADABLE, operation, says, *texts), cause=(UNREADABLE, error.name)
    )


@attrs.frozen
class StepText:
    """One operation in words: what was asked, what was answered, and the state after it.

    ``state`` is the state that a core answered, or that the judge believes a broker to be in before
    a deviation; None where it is not known. ``time_ms``: the virtual clock after it; None where the
    time is real.
    """

    asked: str
    answered: str
    after: str
    state: SharePartitionSnapshot | None = None
    time_ms: int | None = None
