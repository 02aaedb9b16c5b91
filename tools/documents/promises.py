"""The document of the promises, each with the faulty implementations that break it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap

from model.rules import RULES, Rule, RuleKind, rules_for
from tools.promises.behaviour import Behaviour, Face
from tools.promises.catalogue import BEHAVIOURS
from tools.promises.routes import (
    BROKER_PROMISES,
    GUARDS,
    ROUTES,
    SEEN,
    UNSEEN,
    BrokerPromise,
    found_by,
)

PROMISES = tuple(RULES[RuleKind.PROMISE].values())


def summary() -> str:
    """Return how many faulty implementations there are, and how many promises they break."""
    covered = sum(any(b.promise == promise.name for b in BEHAVIOURS) for promise in PROMISES)
    by_face = ", ".join(
        f"{sum(face in b.faces for b in BEHAVIOURS)} on the face `{face}`" for face in Face
    )
    implementations = f"{len(BEHAVIOURS)} faulty implementations ({by_face})"
    return f"{implementations} break {covered} of {len(PROMISES)} promises."


def routes() -> str:
    """Return a table of how many faulty implementations each route finds, for each promise."""
    head = "| Promise | Trace | Core | Request log | Wire | Client | No route can tell |"
    return "\n".join((head, "|---|---|---|---|---|---|---|", *map(_routes_row, PROMISES)))


def sections() -> str:
    """Return a section for each promise, with the faulty implementations that break it."""
    return "\n".join(map(_section, PROMISES)).strip()


def brokers() -> str:
    """Return a table of what a client of a broker is promised, with the faulty brokers."""
    head = "| Promise | Source | Rules | Faulty brokers |"
    return "\n".join((head, "|---|---|---|---|", *map(_broker_row, BROKER_PROMISES)))


def request_logs() -> str:
    """Return a table of what replay finds of faulty brokers in their request logs."""
    head = "| Faulty broker | Found by, or why not |"
    return "\n".join((head, "|---|---|", *starmap(_log_row, (SEEN | UNSEEN).items())))


def _log_row(fault: str, shown: Sequence[str] | str) -> str:
    text = f"not found: {shown}" if isinstance(shown, str) else _listed(shown)
    return f"| {_in_words(fault)} | {text} |"


def _broker_row(row: BrokerPromise) -> str:
    faults = ", ".join(map(_in_words, row.faults))
    rules = dict.fromkeys((*row.rules, *(rule for fault in row.faults for rule in GUARDS[fault])))
    return f"| {row.promise} | {row.source} | {_listed(rules)} | {faults} |"


def _in_words(fault: str) -> str:
    return fault.replace("_", " ").lower() if fault.isupper() else fault


def _listed(rules: Iterable[str]) -> str:
    return ", ".join(f"`{rule}`" for rule in rules)


def _routes_row(promise: Rule) -> str:
    counts = " | ".join(str(len(found) or "–") for found in found_by(promise.name).values())
    return f"| {promise.name} | {counts} | {ROUTES['untold'].get(promise.name, '')} |"


def _section(promise: Rule) -> str:
    rules = _listed(rules_for(promise.name))
    lines = [f"## {promise.name.capitalize()}", "", f"{promise.sentence} ({promise.source})", ""]
    return "\n".join([*lines, f"Rules: {rules}.", "", *_table(promise), ""])


def _table(promise: Rule) -> Iterator[str]:
    behaviours = [behaviour for behaviour in BEHAVIOURS if behaviour.promise == promise.name]
    if not behaviours:
        yield "**Not covered.**"
        return
    yield "| An implementation that | is | trace | core |"
    yield "|---|---|---|---|"
    for behaviour in behaviours:
        trace, core = (_mark(behaviour, face) for face in Face)
        yield f"| {behaviour.name} | {behaviour.manner} | {trace} | {core} |"


def _mark(behaviour: Behaviour, face: Face) -> str:
    return "found" if face in behaviour.faces else "–"
