"""What is wrong with one event, and by which kind of rule."""

from enum import StrEnum

import attrs


class FindingKind(StrEnum):
    """The kind of rule that an event breaks."""

    GUARD = "guard"
    DIFFERENCE = "difference"
    INVARIANT = "invariant"
    DISAGREEMENT = "spec and impl disagree"


@attrs.frozen
class Finding:
    """What is wrong with an event according to one engine, or between two; states in words."""

    seq: int
    engine: str
    kind: FindingKind
    name: str
    sentence: str
    recorded: str
    expected: str
    before: str
    after: str
    offset: int | None = None
