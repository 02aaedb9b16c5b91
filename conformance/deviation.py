"""What a target did that no rule allows, and the steps that led to it."""

import attrs

from model.snapshot import SharePartitionSnapshot

CRASHED = "CRASHED"
UNREADABLE = "UNREADABLE_ANSWER"

Signature = tuple[str, ...]
"""The rule, the operation, and of a failure its text: equal for deviations that look alike."""


@attrs.frozen
class Deviation:
    """What a target did that no rule allows, at the last command of a sequence.

    ``state`` is the state expected after it; None where the rules allow several. ``rule`` is the
    broken rule where ``name`` names something else, such as a test vector.
    """

    name: str
    operation: str
    sentence: str
    recorded: str
    expected: str
    before: str
    state: SharePartitionSnapshot | None = None
    rule: str = ""

    @property
    def broken(self) -> str:
        """Return the rule that was broken."""
        return self.rule or self.name

    @property
    def signature(self) -> Signature:
        """Return the rule and the operation, and of a failure the start of its text."""
        text = (self.recorded[:60],) if self.name == CRASHED else ()
        return (self.name, self.operation, *text)


@attrs.frozen
class StepText:
    """One operation in words: what was asked, what was answered, and the state after it.

    ``state`` is the state that a core answered, or that the judge believes a broker to be in before
    a deviation; None where it is not known.
    """

    asked: str
    answered: str
    after: str
    state: SharePartitionSnapshot | None = None
