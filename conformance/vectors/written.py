"""The vectors as programs read them: each request, and the specification's answer."""

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs

from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.kit import CORES
from conformance.cores.scene import Scene, durable_object
from conformance.vectors.free import free
from conformance.vectors.source import Case
from judge.view import durable
from spec.lag import lag

DATA = Path(__file__).parent / "data"
"""The folder of the vectors."""

FORMAT = 1
"""The version of the format of the files."""


_AS_IT_LIKES = ("fetch_offset", "log_batches")
"""Fields of a reply about the read, which an implementation may choose."""


class VectorError(Exception):
    """The specification contradicts a vector."""


def document(listed: Sequence[Case]) -> str:
    """Return the file with the vectors of one topic, a step per line. Raises VectorError."""
    rows = [_text(vector) for case in listed for vector in vectors(case)]
    head = {"format": FORMAT, "specification": version("sharespec")}
    return f'{json.dumps(head)[:-1]}, "vectors": [\n' + ",\n".join(rows) + "\n]}\n"


def _text(vector: dict[str, Any]) -> str:
    head = json.dumps({key: value for key, value in vector.items() if key != "steps"})
    steps = ",\n  ".join(json.dumps(step) for step in vector["steps"])
    return f'{head[:-1]}, "steps": [\n  {steps}\n]}}'


def vectors(case: Case) -> Iterator[dict[str, Any]]:
    """Yield the vector of a case, or one for each profile if their answers differ."""
    modes = sorted({ask.mode.value for ask in case.asks if isinstance(ask, asks.CoreFetch)})
    needs = {**({"acquire_modes": modes} if modes else {}), **CORES.needs(case.asks)}
    profiles: dict[str, list[str]] = {}
    for profile in case.profiles:
        profiles.setdefault(json.dumps(list(_steps(case, profile))), []).append(profile)
    for steps, names in profiles.items():
        yield {
            "name": case.name if len(profiles) == 1 else f"{case.name}/{names[0]}",
            "pins": list(case.pins),
            "rests_on": attrs.asdict(case.rests_on),
            "profiles": names,
            "needs": needs,
            "steps": json.loads(steps),
        }


def _steps(case: Case, profile: str) -> Iterator[dict[str, Any]]:
    target = EngineTarget("spec", profile)
    scene = Scene(target, target.hello())
    texts: list[str] = []
    durable_before = None
    for words, ask in zip(case.steps, case.asks, strict=True):
        before, known = scene.partition, len(scene.exchanges)
        if deviation := scene.ask(ask):
            raise VectorError(f"{case.name}: {words}: {deviation.sentence}")
        texts.append(words)
        if not (asked := scene.exchanges[known:]):
            raise VectorError(f"{case.name}: {words}: there is nothing to ask")
        if isinstance(ask, asks.CoreCompact):
            continue
        last = asked[-1]
        event = scene.past[-1].event
        step = {
            "says": "; ".join(texts),
            "request": {
                "do": "apply",
                "seq": last.seq,
                "operation": last.operation,
                "answers": list(last.answers),
            },
            "reply": {n: value for n, value in last.reply.items() if n not in _AS_IT_LIKES},
        }
        texts.clear()
        if choices := free(before, event):
            step["free"] = choices
        if (held := durable_object(durable(scene.partition))) != durable_before:
            step["durable"] = durable_before = held
        yield step | ({"lag": lag(scene.partition)} if scene.partition.ready else {})
    _check_shown(case, f"{scene.steps[-1].answered}; {scene.steps[-1].after}", profile)


def _check_shown(case: Case, seen: str, profile: str) -> None:
    for text in case.shows:
        if text not in seen:
            raise VectorError(f"{case.name}: {text!r} does not show under {profile}: {seen}")
