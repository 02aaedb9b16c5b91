"""Share-partitions of one table, which the kernel takes from arrays made for many of them."""

from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import pyarrow as pa

from model.profile import Profile
from model.trace_arrow import SCHEMA
from replay.tables import first_bad_row

if TYPE_CHECKING:
    from impl.kernel import FlatEvents, KernelResult

ROWS_AT_ONCE = 1 << 14
"""How many rows become arrays at a time; a share-partition with more is taken by itself."""


class Together:
    """A table in which the rows of each share-partition follow one another.

    To turn a table into arrays costs as much for one share-partition as for hundreds.
    """

    def __init__(self, table: pa.Table) -> None:
        """Take a table with the columns of a trace, among others."""
        self._table = table
        self._flat: FlatEvents | None = None
        self._first = self._end = 0

    @cached_property
    def is_sound(self) -> bool:
        """Whether no row lacks what every event has; to look costs as much for one as for all."""
        return first_bad_row(self._table) is None

    def replay(self, first: int, count: int, profile: Profile) -> "KernelResult":
        """Replay the ``count`` rows from ``first`` on, which are those of one share-partition."""
        from impl.kernel import replay_rows_of  # noqa: PLC0415 - who only waits needs no Numba

        flat = self._flat_from(first, count)
        return replay_rows_of(flat, first - self._first, first - self._first + count, profile)

    def _flat_from(self, first: int, count: int) -> "FlatEvents":
        from impl.kernel import flatten  # noqa: PLC0415 - as above

        if self._flat is None or not self._first <= first <= first + count <= self._end:
            rows = self._table.slice(first, max(count, ROWS_AT_ONCE)).select(SCHEMA.names)
            self._flat, self._first, self._end = flatten(rows), first, first + rows.num_rows
        return self._flat


@attrs.frozen(eq=False)
class Part:
    """Where the rows of one share-partition are: ``table`` is a slice of the whole from ``first``.

    Whoever cuts or replaces those rows has another table, of which this says nothing.
    """

    whole: Together
    first: int
    table: pa.Table

    @property
    def fits(self) -> bool:
        """Return whether it is small enough to be taken together with others."""
        return bool(self.table.num_rows <= ROWS_AT_ONCE)
