"""Runs of the implementation, cut, changed and joined: proved at any offset, for any length.

The functions of ``impl.runs`` are called with terms. Of the rows those near the place that ``seek``
finds are known, and any one further away, so that what is proved of it is proved of all. The
binary search and the moving of rows are loops over any number of rows: what their docstrings say is
assumed. A joined range has at most three rows.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations, permutations
from typing import Any

import attrs

from impl import layout as at
from impl import runs as rules
from proofs.theorems.controls import becomes, wrong
from proofs.theorems.lifting import with_attributes
from proofs.theorems.points import Points
from proofs.theorems.situation import any_like, number
from proofs.theorems.symbolic import conjunction, is_between
from proofs.theorems.theorem import Subject, Theorem, theorems_in
from spec.logic import Term

runs: Any = rules  # Terms are no numbers of arrays.


@attrs.frozen
class Run:
    """A row: its columns, in the order of ``impl.layout``."""

    first: int = 0
    last: int = 0
    state: int = 0
    count: int = 0
    owner: int = 0
    deadline: int = 0
    write: int = 0
    restore: int = 0


@attrs.frozen
class AnyRuns:
    """Rows from ``head`` to ``tail``; ``place`` is the first that ends at ``offset`` or after.

    ``before`` is one row below it, ``third`` two above, ``far`` any other. ``point`` is any offset,
    ``state`` any state that a row gets, and ``counted`` any of which the records are counted.
    """

    head: int = number()
    tail: int = number()
    place: int = number()
    offset: int = number()
    before: Run = any_like(Run())
    row: Run = any_like(Run())
    second: Run = any_like(Run())
    third: Run = any_like(Run())
    far_place: int = number()
    far: Run = any_like(Run())
    point: int = number()
    last: int = number()
    state: int = number()
    counted: int = number()


class Rows:
    """An array of rows, of which some are known, each at a place that may be a term."""

    shape = (0, at.RUN_COLUMNS)

    def __init__(self, known: Points) -> None:
        """Make the array of copies of these rows."""
        self.known = Points(tuple((place, attrs.astuple(run)) for place, run in known.items()))

    def __getitem__(self, cell: tuple[Term, int]) -> Term:
        """Return what a known row has in a column."""
        return self.known[cell[0]][cell[1]]

    def __setitem__(self, cell: tuple[Term, int], value: Term) -> None:
        """Set a column of a row, which may have been unknown."""
        place, column = cell
        columns = self.known.get(place, (None,) * at.RUN_COLUMNS)
        self.known[place] = (*columns[:column], value, *columns[column + 1 :])

    def move(self, low: Term, high: Term, by: int) -> None:
        """Move rows as ``impl.rows.move_rows`` does; of what they leave behind nothing is known."""
        moved = Points()
        for place, columns in self.known.items():
            if conjunction(low <= place, place < high):
                moved[place + by] = columns
            elif not conjunction(low + by <= place, place < high + by):
                moved[place] = columns
        self.known = moved

    def between(self, header: Points) -> list[tuple[Term, ...]]:
        """Return the columns of the known rows that are tracked."""
        head, tail = header[at.HEAD], header[at.TAIL]
        return [row for i, row in self.known.items() if conjunction(head <= i, i < tail)]


def _inner(function: Any) -> Any:  # noqa: ANN401 - a function, compiled or not
    return getattr(function, "py_func", function)


@contextmanager
def _interpreted(place: Term) -> Iterator[None]:
    """Let ``impl.runs`` run on terms, where ``seek`` finds this place."""
    found = {"seek": lambda *_of: place, "move_rows": Rows.move}
    names = ("copy_row", "_open_row", "_close_rows", "_cut_row", "cut", "join", "put", "set_state")
    plain = {name: _inner(getattr(runs, name)) for name in names}
    stand_ins: dict[str, Any] = found | plain
    with with_attributes([(runs, stand_ins)]):
        yield


def _arrays(s: AnyRuns) -> tuple[Points, Rows]:
    near = ((s.place - 1, s.before), (s.place, s.row), (s.place + 1, s.second))
    known = (*near, (s.place + 2, s.third), (s.far_place, s.far))
    counts = ((at.COUNTS + state, 0) for state in (s.row.state, s.state, s.counted))
    header = Points(((at.HEAD, s.head), (at.TAIL, s.tail), (at.MARKS, 0), *counts))
    return header, Rows(
        Points(tuple((i, r) for i, r in known if conjunction(s.head <= i, i < s.tail)))
    )


def _ascend(rows: list[tuple[Term, ...]]) -> Term:
    """Whether no row is empty, and of any two one ends before the other begins."""
    apart = (
        (one[at.LAST] < two[at.FIRST]) | (two[at.LAST] < one[at.FIRST])
        for one, two in combinations(rows, 2)
    )
    return conjunction(*(row[at.FIRST] <= row[at.LAST] for row in rows), *apart)


def _in_order(s: AnyRuns) -> Term:
    known = _arrays(s)[1].known.items()
    ascending = (
        conjunction(
            (i < j) == (one[at.LAST] < two[at.FIRST]), (j < i) == (two[at.LAST] < one[at.FIRST])
        )
        for (i, one), (j, two) in combinations(known, 2)
    )
    return conjunction(
        s.head <= s.place,
        s.place <= s.tail,
        (s.place == s.head) | (s.before.last < s.offset),
        (s.place == s.tail) | (s.offset <= s.row.last),
        (s.far_place < s.place - 1) | (s.far_place > s.place + 2),
        *(row[at.FIRST] <= row[at.LAST] for _place, row in known),
        *ascending,
    )


def _columns_at(rows: list[tuple[Term, ...]], point: Term) -> tuple[Term, ...] | None:
    """Return what the runs say of an offset: all columns but the two bounds."""
    of = (row for row in rows if is_between(row[at.FIRST], point, row[at.LAST]))
    return next((row[at.STATE :] for row in of), None)


def _is_same(one: tuple[Term, ...] | None, two: tuple[Term, ...] | None) -> Term:
    if one is None or two is None:
        return one is two
    return conjunction(*(a == b for a, b in zip(one, two, strict=True)))


def _keeps_every_offset(s: AnyRuns, act: Callable[[Points, Rows], Any]) -> tuple[Term, Any, Any]:
    """Return whether each offset keeps its columns and rows ascend; the rows; and the answer."""
    header, rows = _arrays(s)
    before = rows.between(header)
    with _interpreted(s.place):
        answer = act(header, rows)
    after = rows.between(header)
    same = _is_same(_columns_at(before, s.point), _columns_at(after, s.point))
    return conjunction(same, _ascend(after)), (header, rows), answer


def _miscopies(rule: Any) -> Callable[..., None]:  # noqa: ANN401 - a function, compiled or not
    def copies(target: Rows, to: Term, source: Rows, row: Term) -> None:
        _inner(rule)(target, to, source, row)
        target[to, at.STATE] = source[row, at.STATE] + 1

    return copies


_runs = Subject("impl.runs", AnyRuns, _in_order)


@_runs.theorem(of="cut", control=wrong("impl.runs:copy_row", "changes the state", _miscopies))
def a_cut_keeps_every_offset(s: AnyRuns) -> Term:
    """Each offset keeps its columns when a run is cut, and no run crosses the cut."""
    kept, (header, rows), place = _keeps_every_offset(
        s, lambda header, rows: runs.cut(header, rows, s.offset)
    )
    crosses = (
        conjunction(row[at.FIRST] < s.offset, s.offset <= row[at.LAST])
        for row in rows.between(header)
    )
    found = place == header[at.TAIL] or rows[place, at.FIRST] >= s.offset
    return conjunction(kept, found, not any(crosses))


def _are_one(one: tuple[Term, ...], two: tuple[Term, ...]) -> Term:
    """Whether two rows should be one: the second goes on where the first ends."""
    follows = one[at.LAST] + 1 == two[at.FIRST]
    return conjunction(follows, _is_same(one[at.STATE :], two[at.STATE :]))


@_runs.theorem(
    of="join",
    where=lambda s: (s.tail <= s.place + 3) | (s.third.first > s.last + 1),
    control=wrong("impl.runs:_close_rows", "removes nothing", becomes(lambda *_of: None)),
)
def a_join_keeps_every_offset(s: AnyRuns) -> Term:
    """Each offset keeps its columns when runs are joined, and none is left to be joined."""
    kept, (header, rows), _ = _keeps_every_offset(
        s, lambda *of: runs.join(*of, s.offset + 1, s.last)
    )
    left = (
        conjunction(s.offset <= one[at.LAST], one[at.LAST] <= s.last, _are_one(one, two))
        for one, two in permutations(rows.between(header), 2)
    )
    return conjunction(kept, not any(left))


def _changes_each(rule: Any) -> Callable[..., None]:  # noqa: ANN401 - a function, compiled or not
    def changes(header: Points, rows: Rows, index: Term, state: Term) -> None:
        _inner(rule)(header, rows, index, state)
        rows[index, at.LAST] += 1

    return changes


@_runs.theorem(
    of="set state",
    where=lambda s: s.place < s.tail,
    control=wrong("impl.runs:set_state", "takes one more offset", _changes_each),
)
def a_change_is_of_the_offsets_of_its_run(s: AnyRuns) -> Term:
    """Of a run that changes its state each offset does, and no other, and they are counted."""
    header, rows = _arrays(s)
    before = _columns_at(rows.between(header), s.point)
    with _interpreted(s.place):
        runs.set_state(header, rows, s.place, s.state)
    after = _columns_at(rows.between(header), s.point)
    if before is not None and is_between(s.row.first, s.point, s.row.last):
        before = (s.state, *before[1:])
    many = s.row.last - s.row.first + 1
    moved = (s.state == s.counted) * many - (s.row.state == s.counted) * many
    counted = header[at.COUNTS + s.counted] == moved
    return conjunction(_is_same(before, after), counted, _ascend(rows.between(header)))


POINTWISE: tuple[Theorem, ...] = theorems_in(globals())
