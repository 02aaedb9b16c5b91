"""The routes by which a promise is checked: where a faulty implementation that breaks it is found.

``trace`` and ``core`` are the faces of the catalogue. ``wire`` and ``request log`` are in
``brokers.toml``, ``client`` in ``routes.toml``.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from model.guards import Guard
from model.rules import rules_for
from tools.promises.behaviour import Face
from tools.promises.catalogue import BEHAVIOURS


@attrs.frozen
class BrokerPromise:
    """What a client of a broker is promised, and the faulty brokers that break it.

    The search over the wire must find each by one of ``rules``, or by a guard that stands for the
    promise it breaks. ``faults`` has by which other rules replay finds it in its request log, or in
    words why none does. ``breaks``: the promise of ``model/rules.toml`` that faults break which are
    not of the catalogue; empty if none says it.
    """

    promise: str
    source: str
    sentence: str
    faults: Mapping[str, Sequence[str] | str]
    rules: Sequence[str] = ()
    breaks: str = ""


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


ROUTES = _read("routes.toml")
BROKER_PROMISES = tuple(BrokerPromise(**row) for row in _read("brokers.toml")["promise"])
_OWN = {behaviour.name: behaviour.promise for behaviour in BEHAVIOURS}
BREAKS = {fault: _OWN.get(fault, row.breaks) for row in BROKER_PROMISES for fault in row.faults}
"""Which promise of ``model/rules.toml`` a faulty broker breaks; empty if none says it."""
_LOGGED = {fault: shown for row in BROKER_PROMISES for fault, shown in row.faults.items()}
GUARDS = {
    fault: tuple(rule for rule in rules_for(promise) if rule in Guard.__members__)
    for fault, promise in BREAKS.items()
}
"""The guards that stand for the promise which a faulty broker breaks."""
SEEN = {
    fault: (*GUARDS[fault], *rules)
    for fault, rules in _LOGGED.items()
    if not isinstance(rules, str)
}
"""By which rules a request log shows a faulty broker, where it does."""
UNSEEN = {fault: reason for fault, reason in _LOGGED.items() if isinstance(reason, str)}
"""Why no request log shows a faulty broker, where none does."""


def found_by(promise: str) -> dict[str, tuple[str, ...]]:
    """Return for each route the faulty implementations that break the promise and are found."""
    broken = [behaviour for behaviour in BEHAVIOURS if behaviour.promise == promise]
    wire = tuple(fault for fault, breaks in BREAKS.items() if breaks == promise)
    faces = {face.value: tuple(b.name for b in broken if face in b.faces) for face in Face}
    return {
        **faces,
        "request log": tuple(fault for fault in wire if fault in SEEN),
        "wire": wire,
        "client": tuple(ROUTES["client"].get(promise, ())),
    }
