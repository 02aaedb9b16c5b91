"""The document of the promises, each with the faulty implementations that break it."""

from collections.abc import Iterable

from model.rules import RULES, Rule, RuleKind, rules_for
from report import markdown
from tools.promises.behaviour import Face
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
    columns = "Promise", "Trace", "Core", "Request log", "Wire", "Client", "No route can tell"
    return markdown.table(columns, map(_routes_row, PROMISES))


def sections() -> str:
    """Return a section for each promise, with the faulty implementations that break it."""
    return "\n".join(map(_section, PROMISES)).strip()


def brokers() -> str:
    """Return a table of what a client of a broker is promised, with the faulty brokers."""
    columns = "Promise", "Source", "Rules", "Faulty brokers"
    return markdown.table(columns, map(_broker_row, BROKER_PROMISES))


def request_logs() -> str:
    """Return a table of what replay finds of faulty brokers in their request logs."""
    found = ((_in_words(fault), _listed(rules)) for fault, rules in SEEN.items())
    others = ((_in_words(fault), f"not found: {why}") for fault, why in UNSEEN.items())
    return markdown.table(("Faulty broker", "Found by, or why not"), (*found, *others))


def _broker_row(row: BrokerPromise) -> tuple[str, ...]:
    faults = ", ".join(map(_in_words, row.faults))
    rules = dict.fromkeys((*row.rules, *(rule for fault in row.faults for rule in GUARDS[fault])))
    return row.promise, row.source, _listed(rules), faults


def _in_words(fault: str) -> str:
    return fault.replace("_", " ").lower() if fault.isupper() else fault


def _listed(rules: Iterable[str]) -> str:
    return ", ".join(f"`{rule}`" for rule in rules)


def _routes_row(promise: Rule) -> tuple[str, ...]:
    counts = (str(len(found) or "–") for found in found_by(promise.name).values())
    return promise.name, *counts, ROUTES["untold"].get(promise.name, "")


def _section(promise: Rule) -> str:
    rules = _listed(rules_for(promise.name))
    lines = [f"## {promise.name.capitalize()}", "", f"{promise.sentence} ({promise.source})", ""]
    return "\n".join([*lines, f"Rules: {rules}.", "", _table(promise), ""])


def _table(promise: Rule) -> str:
    rows = (
        (each.name, each.manner, *("found" if face in each.faces else "–" for face in Face))
        for each in BEHAVIOURS
        if each.promise == promise.name
    )
    return markdown.table(("An implementation that", "is", "trace", "core"), rows)
