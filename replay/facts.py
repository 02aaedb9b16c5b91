"""What is known of whole inputs when their rows are checked, and what comes of the check."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from replay.pauses import Pauses
from replay.state_file import Carried
from replay.verdict import PartitionVerdict, Problem

if TYPE_CHECKING:
    from replay.segments import Segment


@attrs.frozen
class InputFacts:
    """What rows alone do not tell of their files and share-partitions.

    ``events`` has how many rows a share-partition has, as some may be damaged; ``bad`` the first
    line of one that could not be read. Those in ``unusable`` are not checked. ``unfinished`` are
    files that a recorder did not close. ``carried`` has where an earlier replay left
    share-partitions. Those in ``large`` are checked in segments of about so many events, of which
    ``folder`` gets the rows. ``pauses`` are those of the brokers.
    """

    events: Mapping[str, int] = attrs.field(factory=dict)
    bad: Mapping[str, Problem] = attrs.field(factory=dict)
    unusable: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()
    carried: Mapping[str, Carried] = attrs.field(factory=dict)
    large: Mapping[str, int] = attrs.field(factory=dict)
    folder: str = ""
    pauses: Pauses = attrs.field(factory=Pauses)


@attrs.frozen
class CheckedPartition:
    """The verdict on a share-partition, if all of its segments conform; without any it is checked.

    ``left`` is where a later replay goes on if it conforms.
    """

    verdict: PartitionVerdict
    left: Carried | None = None
    segments: "tuple[Segment, ...]" = ()
