"""What a target did that no rule allows, and the steps that led to it."""

import attrs

from model.snapshot import SharePartitionSnapshot

CRASHED = "CRASHED"
UNREADABLE = "UNREADABLE_ANSWER"

Signature = tuple[str, ...]
"""The rule, the operation, and of a failure its text: equal for deviations that look alike."""


@attrs.frozen
class Citation:
    """The source of a rule, and its statement in our words or, between quotation marks, its own."""

    source: str
    says: str


@attrs.frozen
class Deviation:
    """What a target did that no rule allows, at the last command of a sequence.

    ``state`` is the state expected after it; None where the rules allow several. ``rule`` is the
    broken rule where ``name`` names something else, such as a test vector. ``cause``: the
    transition that went wrong and the smallest difference, where they are known. ``pins``: what
    the vector is about, if it is one, and ``rests_on`` the sentence behind it, if its last step,
    which is what it is about, is what deviates.
    """

    name: str
    operation: str
    sentence: str
    recorded: str
    expected: str
    before: str
    state: SharePartitionSnapshot | None = None
    rule: str = ""
    cause: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    rests_on: Citation | None = None

    @property
    def broken(self) -> str:
        """Return the rule that was broken."""
        return self.rule or self.name

    @property
    def signature(self) -> Signature:
        """Return the rule and the operation, and of a failure the start of its text."""
        return (self.name, *self._where)

    @property
    def probable_cause(self) -> tuple[str, ...]:
        """Return what deviations have in common that probably have one cause."""
        return self.cause or (self.broken, *self._where)

    @property
    def _where(self) -> tuple[str, ...]:
        text = (self.recorded[:60],) if self.broken == CRASHED else ()
        return (self.operation, *text)


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
