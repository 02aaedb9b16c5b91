"""The results of an exploration, as lines for people and as one JSON object."""

import attrs

from proofs.exploration.end_to_end import ExploredProperty, Watch
from proofs.exploration.explorer import Explorer, WorldSearch, WorldState
from proofs.exploration.leaders import Leader
from proofs.exploration.liveness import (
    Graph,
    Promise,
    available_untakeable,
    graph_of,
    unkept,
)
from proofs.exploration.run_table import RunRow, lasso_rows, rows_of
from proofs.exploration.search import path_to

Known = ExploredProperty | Promise


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


@attrs.frozen
class ExplorationReport:
    """The visited states, and the result for each property."""

    explored: WorldSearch
    leaders: int
    compared: int
    durables: int
    merges: int
    verdicts: tuple[PropertyVerdict, ...]

    @property
    def is_wrong(self) -> bool:
        """Whether something that should hold does not."""
        return any(verdict.is_wrong for verdict in self.verdicts)


def report_on(
    explorer: Explorer,
    watch: Watch,
    found: WorldSearch,
    promises: tuple[Promise, ...],
    without: str = "",
) -> ExplorationReport:
    """Return the results; promises are judged only if every state was visited."""
    whole = found.unfinished is None and found.violation is None
    verdicts = []
    if found.violation is not None:
        known = {prop.sentence: prop.name for prop in watch.properties}
        name = known.get(found.violation.reason, "step")
        rows = rows_of(explorer.world, found.violation.labels, found.violation.states)
        verdicts.append(_broken(name, found.violation.reason, rows, should=True))
    verdicts += [
        _broken(p.name, p.sentence, _rows(explorer, found, watch.expected[p.name]), should=False)
        for p in watch.properties
        if p.name in watch.expected
    ]
    told = {verdict.name for verdict in verdicts}
    verdicts += [
        PropertyVerdict(p.name, p.sentence, True if whole else None, not p.why_not)
        for p in watch.properties
        if p.name not in told
    ]
    if whole and promises:
        graph = graph_of(explorer.leaders)
        verdicts.append(_acquirable(explorer, found, graph))
        verdicts += [_promise(explorer, found, graph, promise, without) for promise in promises]
    return ExplorationReport(
        found,
        len(explorer.leaders.found),
        explorer.leaders.compared,
        len(explorer.coordinator.states),
        len(explorer.coordinator.merges),
        tuple(verdicts),
    )


def listed(known: Known) -> str:
    """Return a property in one line."""
    number = "" if known.number is None else f" ({known.number})"
    why, flag = getattr(known, "why_not", ""), getattr(known, "mended_by", "")
    but = f", but under a profile with {flag}" if flag else ""
    expected = f" Expected to fail{but}: {why}" if why else ""
    return f"{known.name}{number}: {known.sentence}{expected}"


def _broken(name: str, sentence: str, rows: list[RunRow], *, should: bool) -> PropertyVerdict:
    return PropertyVerdict(name, sentence, holds=False, should=should, run=tuple(rows))


def _rows(explorer: Explorer, found: WorldSearch, state: WorldState) -> list[RunRow]:
    return rows_of(explorer.world, *path_to(found.came_from, state))


def _state_of(found: WorldSearch, leader: Leader) -> WorldState:
    """Return a state of least depth that has the leader."""
    return next(state for state in found.came_from if state.leader is leader)


def _acquirable(explorer: Explorer, found: WorldSearch, graph: Graph) -> PropertyVerdict:
    name, sentence = (
        "available_is_acquirable",
        "Every record that is AVAILABLE in the window can be acquired, however full it is.",
    )
    bad = available_untakeable(graph)
    if not bad:
        return PropertyVerdict(name, sentence, holds=True, should=True)
    return _broken(name, sentence, _rows(explorer, found, _state_of(found, bad[0])), should=True)


def _promise(
    explorer: Explorer, found: WorldSearch, graph: Graph, promise: Promise, without: str
) -> PropertyVerdict:
    lasso = unkept(graph, promise, without)
    if lasso is None:
        return PropertyVerdict(promise.name, promise.sentence, holds=True, should=not without)
    steps, states = path_to(found.came_from, _state_of(found, lasso.leader))
    rows = lasso_rows(explorer.world, steps, states, lasso)
    verdict = _broken(promise.name, promise.sentence, rows, should=not without)
    return attrs.evolve(verdict, again=len(steps))
