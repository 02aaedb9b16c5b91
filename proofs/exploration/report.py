"""What an exploration says of each property."""

from collections.abc import Iterator

import attrs

from proofs.exploration.end_to_end import ExploredProperty, PropertyWatch
from proofs.exploration.explorer import Explorer, WorldSearch, WorldState, WorldStep
from proofs.exploration.leaders import Leader
from proofs.exploration.liveness import LivenessPromise, available_untakeable, graph_of, unkept
from proofs.exploration.run_table import RunRow, lasso_rows, rows_of
from proofs.exploration.search import path_to

ACQUIRABLE = (
    "available_is_acquirable",
    "Every record that is AVAILABLE in the window can be acquired, however full it is.",
)
"""Name and sentence of what the moves of all leaders show together."""


@attrs.frozen
class PropertyVerdict:
    """The result for one property: whether it holds, whether it should, and a run if not.

    ``holds`` is None where not everything was visited. Of a run that goes on for ever, ``again`` is
    the step to which it returns.
    """

    name: str
    sentence: str
    holds: bool | None
    should: bool
    run: tuple[RunRow, ...] = ()
    again: int | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether it does not hold and should."""
        return self.should and self.holds is False


def verdicts_of(
    explorer: Explorer,
    watch: PropertyWatch,
    found: WorldSearch,
    promises: tuple[LivenessPromise, ...],
    without: str = "",
) -> tuple[PropertyVerdict, ...]:
    """Return the result for each property, what fails first; promises need that all was visited."""
    whole = found.unfinished is None and found.violation is None
    verdicts, broken = [], found.violation
    if broken is not None:
        known = {prop.sentence: prop.name for prop in watch.properties}
        run = rows_of(explorer.world, broken.labels, broken.states)
        name = known.get(broken.reason, "step")
        verdicts.append(PropertyVerdict(name, broken.reason, holds=False, should=True, run=run))
    verdicts += sorted(_states(explorer, watch, found, whole=whole), key=lambda v: not v.run)
    if whole and promises:
        verdicts += _endless(explorer, found, promises, without)
    told = {verdict.name: verdict for verdict in reversed(verdicts)}
    return tuple(verdict for verdict in verdicts if told[verdict.name] is verdict)


def listed(known: ExploredProperty | LivenessPromise) -> str:
    """Return a property in one line."""
    number = "" if known.number is None else f" ({known.number})"
    why, flag = getattr(known, "why_not", ""), getattr(known, "mended_by", "")
    but = f", but under a profile with {flag}" if flag else ""
    expected = f" Expected to fail{but}: {why}" if why else ""
    return f"{known.name}{number}: {known.sentence}{expected}"


def _states(
    explorer: Explorer, watch: PropertyWatch, found: WorldSearch, *, whole: bool
) -> Iterator[PropertyVerdict]:
    """Yield what is said of properties of states."""
    for each in watch.properties:
        holds, run = True if whole else None, tuple[RunRow, ...]()
        if each.name in watch.expected:
            way = path_to(found.came_from, watch.expected[each.name])
            holds, run = False, rows_of(explorer.world, *way)
        yield PropertyVerdict(each.name, each.sentence, holds, not each.why_not, run)


def _endless(
    explorer: Explorer, found: WorldSearch, promises: tuple[LivenessPromise, ...], without: str
) -> Iterator[PropertyVerdict]:
    """Yield what is said of all moves of the leaders, and of runs that go on for ever."""
    world, graph = explorer.world, graph_of(explorer.leaders)
    stuck = available_untakeable(graph)
    run = rows_of(world, *_way_to(found, stuck[0])) if stuck else ()
    yield PropertyVerdict(*ACQUIRABLE, holds=not stuck, should=True, run=run)
    for promise in promises:
        lasso = unkept(graph, promise, without)
        run, again = tuple[RunRow, ...](), None
        if lasso is not None:
            way = _way_to(found, lasso.leader)
            run, again = lasso_rows(world, *way, lasso), len(way[0])
        yield PropertyVerdict(
            promise.name, promise.sentence, lasso is None, not without, run, again
        )


def _way_to(
    found: WorldSearch, leader: Leader
) -> tuple[tuple[WorldStep, ...], tuple[WorldState, ...]]:
    """Return a shortest run to a state that has the leader."""
    state = next(state for state in found.came_from if state.leader is leader)
    return path_to(found.came_from, state)
