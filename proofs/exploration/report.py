"""The results of an exploration, as lines for people and as one JSON object."""

import attrs

from proofs.exploration.end_to_end import ExploredProperty
from proofs.exploration.liveness import (
    Graph,
    Lasso,
    Promise,
    available_untakeable,
    graph_of,
    unkept,
)
from proofs.exploration.product import Explored, Product, ProductFinding
from proofs.exploration.run_table import RunRow, lasso_rows, rows_of

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

    explored: Explored
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
    product: Product, explored: Explored, promises: tuple[Promise, ...], without: str = ""
) -> ExplorationReport:
    """Return the results; promises are judged only if every state was visited."""
    violation, whole = explored.violation, explored.unfinished is None
    whole = whole and violation is None
    verdicts = []
    if violation is not None:
        verdicts.append(_broken(product, violation, should=True))
    verdicts += [_broken(product, finding, should=False) for finding in explored.expected]
    known = {verdict.name for verdict in verdicts}
    verdicts += [
        PropertyVerdict(p.name, p.sentence, True if whole else None, not p.why_not)
        for p in product.properties
        if p.name not in known
    ]
    if whole and promises:
        graph = graph_of(product.leaders)
        verdicts.append(_acquirable(product, graph))
        verdicts += [_promise(product, graph, promise, without) for promise in promises]
    leaders, coordinator = product.leaders, product.coordinator
    return ExplorationReport(
        explored,
        len(leaders.keys),
        leaders.compared,
        len(coordinator.states),
        coordinator.writes,
        tuple(verdicts),
    )


def listed(known: Known) -> str:
    """Return a property in one line."""
    number = "" if known.number is None else f" ({known.number})"
    why, flag = getattr(known, "why_not", ""), getattr(known, "mended_by", "")
    but = f", but under a profile with {flag}" if flag else ""
    expected = f" Expected to fail{but}: {why}" if why else ""
    return f"{known.name}{number}: {known.sentence}{expected}"


def _broken(product: Product, finding: ProductFinding, *, should: bool) -> PropertyVerdict:
    rows = rows_of(product, finding.steps, finding.states, finding.move, finding.sentence)
    return PropertyVerdict(
        finding.name, finding.sentence, holds=False, should=should, run=tuple(rows)
    )


def _acquirable(product: Product, graph: Graph) -> PropertyVerdict:
    name, sentence = (
        "available_is_acquirable",
        ("Every record that is AVAILABLE in the window can be acquired, however full it is."),
    )
    bad = available_untakeable(graph)
    if not len(bad):
        return PropertyVerdict(name, sentence, holds=True, should=True)
    rows = rows_of(product, *product.path_to(int(bad[0])))
    return PropertyVerdict(name, sentence, holds=False, should=True, run=tuple(rows))


def _promise(product: Product, graph: Graph, promise: Promise, without: str) -> PropertyVerdict:
    lasso: Lasso | None = unkept(graph, promise, without)
    if lasso is None:
        return PropertyVerdict(promise.name, promise.sentence, holds=True, should=not without)
    rows, again = lasso_rows(product, lasso)
    return PropertyVerdict(
        promise.name,
        promise.sentence,
        holds=False,
        should=not without,
        run=tuple(rows),
        again=again,
    )
