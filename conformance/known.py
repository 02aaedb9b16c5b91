"""Known deviations of an implementation: a TOML file, each with a reason and a sequence."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import cattrs
from cattrs.strategies import configure_tagged_union

from conformance.campaign import Fault, play
from conformance.cores.kind import CORES
from conformance.kind import Ask, Kind
from model.errors import ErrorCode

__all__ = ["Known", "KnownError", "Replayed", "plain_sequence", "read_known", "replayed", "unknown"]


class KnownError(Exception):
    """A file of known deviations cannot be read; says where and what is allowed."""


@attrs.frozen
class Known:
    """A deviation that is known. ``signature``: rule and operation, and of a failure its text.

    ``sequence`` is a shortest one that shows it; ``needs`` what every sequence that shows it has in
    it, so that others of the same signature are told apart. ``vectors`` names the test vectors that
    show it too. ``consequence`` is what it means for those who run the implementation, ``cause``
    where it comes from.
    """

    name: str
    title: str
    signature: tuple[str, ...]
    reason: str
    sequence: tuple[Ask, ...]
    needs: frozenset[str] = frozenset()
    vectors: frozenset[str] = frozenset()
    consequence: str = ""
    cause: str = ""


@attrs.frozen
class Replayed:
    """A known deviation played again: ``fault`` is what it showed, None if it is gone."""

    known: Known
    fault: Fault | None


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_unstructure_hook(ErrorCode, lambda status: status.name)
    converter.register_structure_hook(ErrorCode, lambda name, _type: ErrorCode[name])
    return converter


_PLAIN = _converter()


def plain_sequence(sequence: Sequence[Ask]) -> list[dict[str, Any]]:
    """Return a sequence of asks, of whatever kind, as it stands in a file."""
    asked = [{**_PLAIN.unstructure(ask), "ask": type(ask).__name__} for ask in sequence]
    return json.loads(json.dumps(asked))  # type: ignore[no-any-return] # a list of objects


def read_known(path: Path, kind: Kind = CORES) -> tuple[Known, ...]:
    """Return the deviations of a file, with asks of a kind. Raises KnownError."""
    converter = _converter()
    configure_tagged_union(kind.asks, converter, tag_name="ask")
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("deviation", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise KnownError(f"{path}: {error}") from None
    found = []
    for number, entry in enumerate(entries, start=1):
        try:
            plain = json.loads(entry.get("sequence", "[]"))
            sequence = tuple(converter.structure(ask, kind.asks) for ask in plain)
            known = converter.structure({**entry, "sequence": []}, Known)
            found.append(attrs.evolve(known, sequence=sequence))
        except (ValueError, TypeError, KeyError, AttributeError, cattrs.BaseValidationError) as e:
            said = "; ".join(cattrs.transform_error(e))
            raise KnownError(f"{path}: deviation {number}: {said}") from None
    names = [known.name for known in found]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise KnownError(f"{path}: {min(doubled)} stands twice")
    return tuple(found)


def replayed(
    target: Any,  # noqa: ANN401 - what the kind's stages are made of
    hello: Any,  # noqa: ANN401 - as the target says it
    known: Sequence[Known],
    kind: Kind = CORES,
) -> list[Replayed]:
    """Play the sequence of each known deviation. Raises TargetError."""
    return [_replayed(target, hello, one, kind) for one in known]


def _replayed(target: Any, hello: Any, one: Known, kind: Kind) -> Replayed:  # noqa: ANN401
    for _try in range(kind.tries):
        scene, at, deviation = play(target, hello, one.sequence, kind)
        if deviation and deviation.signature == one.signature and at == len(one.sequence) - 1:
            features = kind.features_of(one.sequence)
            fault = Fault(deviation, one.sequence, tuple(scene.steps), features)
            return Replayed(one, fault)
    return Replayed(one, None)


def unknown(faults: Sequence[Fault], known: Sequence[Known]) -> list[Fault]:
    """Return the faults that no known deviation accounts for.

    One does if it names the vector, or has the same signature and the sequence has in it what it
    needs.
    """
    return [
        fault
        for fault in faults
        if not any(
            fault.deviation.name in one.vectors
            or (one.signature == fault.deviation.signature and one.needs <= set(fault.kinds))
            for one in known
        )
    ]
