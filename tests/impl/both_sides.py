"""Rows of a trace, replayed by the columnar kernel and by the specification."""

from model.guards import Difference, Guard
from model.profile import Profile
from model.trace_arrow import table_from_rows
from tests.impl.by_hand import Row
from tests.impl.helpers import interpreted
from tests.lockstep.spoiled import Case, found_by_specification

Found = tuple[int, Guard | Difference, int | None]
"""Row, kind and offset of a divergence."""


def found(rows: list[Row], profile: Profile) -> Found | None:
    """Return the divergence, which both sides must find."""
    table = table_from_rows(rows)
    divergence = interpreted("kernel").replay_partition(table, profile).divergence
    expected = found_by_specification(Case(profile, table, ""))
    if divergence is None:
        assert expected[0] == "conforms"
        return None
    where = divergence.offset if expected[2] is not None else None
    assert (divergence.row, divergence.kind.name, where) == expected
    return divergence.row, divergence.kind, divergence.offset
