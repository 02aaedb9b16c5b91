"""The routes by which a promise is checked: where a faulty implementation that breaks it is found.

``trace`` and ``core`` are the faces of the catalogue. The others are in ``routes.toml``.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.promises.behaviour import Face
from tools.promises.catalogue import BEHAVIOURS

_HERE = Path(__file__).parent

_ROUTES: dict[str, dict[str, Any]] = tomllib.loads((_HERE / "routes.toml").read_text("utf-8"))
_LOGGED = tomllib.loads((_HERE / "request_logs.toml").read_text("utf-8"))["seen"]
UNTOLD: Mapping[str, str] = _ROUTES["untold"]
"""What no route can decide of a promise, by its name."""


def found_by(promise: str) -> dict[str, tuple[str, ...]]:
    """Return for each route the faulty implementations that break the promise and are found."""
    broken = [behaviour for behaviour in BEHAVIOURS if behaviour.promise == promise]
    wire = tuple(_ROUTES["wire"].get(promise, ()))
    faces = {face.value: tuple(b.name for b in broken if face in b.faces) for face in Face}
    return {
        **faces,
        "request log": tuple(fault for fault in wire if fault in _LOGGED),
        "wire": wire,
        "client": tuple(_ROUTES["client"].get(promise, ())),
    }


def named() -> dict[str, set[str]]:
    """Return the promises that the table of routes names, by the kind of what it says of them."""
    return {kind: set(promises) for kind, promises in _ROUTES.items()}
