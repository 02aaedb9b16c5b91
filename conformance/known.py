"""Known deviations of a target: a TOML file, each with a reason and a sequence."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import attrs
import cattrs
from cattrs.strategies import configure_tagged_union

from conformance.campaign import Fault, play
from conformance.deviation import Deviation
from conformance.kit import Hello, Kit, Stage, features_of
from model.errors import ErrorCode

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
T = TypeVar("T")
H = TypeVar("H", bound=Hello)
S = TypeVar("S", bound=Stage[Any])


class KnownError(Exception):
    """A file of known deviations cannot be read; the text says where and what is allowed."""


@attrs.frozen
class Known(Generic[C_co]):
    """A known deviation. ``signature``: rule and operation, and of a failure its text.

    ``sequence`` is a shortest sequence that shows it; ``needs`` are features that every such
    sequence has, to exclude other deviations with the same signature. ``vectors`` names test
    vectors that show it. ``difference``, if it is there, is the probable cause as the kit words it,
    which every such deviation has. ``consequence`` is what it means to an operator, ``cause`` its
    origin.
    """

    name: str
    title: str
    signature: tuple[str, ...]
    reason: str
    sequence: tuple[C_co, ...]
    needs: frozenset[str] = frozenset()
    vectors: frozenset[str] = frozenset()
    difference: tuple[str, ...] = ()
    consequence: str = ""
    cause: str = ""


@attrs.frozen
class Replayed(Generic[C_co]):
    """A known deviation, replayed: ``fault`` is what its sequence showed, None if it is gone."""

    known: Known[C_co]
    fault: Fault[C_co] | None


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_unstructure_hook(ErrorCode, lambda status: status.name)
    converter.register_structure_hook(ErrorCode, lambda name, _type: ErrorCode[name])
    return converter


_PLAIN = _converter()


def plain_sequence(sequence: Sequence[object]) -> list[dict[str, Any]]:
    """Return a sequence of commands, of whatever kit, as a file contains it."""
    plain = [{**_PLAIN.unstructure(command), "ask": type(command).__name__} for command in sequence]
    return json.loads(json.dumps(plain))  # type: ignore[no-any-return] # a list of objects


_SHORT = cattrs.Converter(omit_if_default=True)
_SHORT.register_unstructure_hook(ErrorCode, lambda status: status.name)


def sequence_text(sequence: Sequence[object]) -> str:
    """Return a sequence as short JSON, without what is the default."""
    plain = [{**_SHORT.unstructure(command), "ask": type(command).__name__} for command in sequence]
    return json.dumps(plain, separators=(",", ":"))


def read_sequence(text: str, kit: Kit[C, Any, Any, Any]) -> tuple[C, ...]:
    """Return the commands that JSON contains, as reports have them. Raises KnownError."""
    try:
        sequence = _structured(json.loads(text), kit)
    except RecursionError:
        raise KnownError(f"the sequence: {_TOO_DEEP}") from None
    except _WRONG as error:
        raise KnownError(f"the sequence: {'; '.join(cattrs.transform_error(error))}") from None
    if not sequence:
        raise KnownError("the sequence has no commands")
    return sequence


def _structured(plain: Any, kit: Kit[C, Any, Any, Any]) -> tuple[C, ...]:  # noqa: ANN401 - as JSON has it
    converter = _converter()
    configure_tagged_union(kit.commands, converter, tag_name="ask")
    return tuple(converter.structure(command, kit.commands) for command in plain)


_TOO_DEEP = "it is nested too deep to be read"
_WRONG = (ValueError, TypeError, KeyError, AttributeError, cattrs.BaseValidationError)


def read_known(path: Path, kit: Kit[C, Any, Any, Any]) -> tuple[Known[C], ...]:
    """Return the deviations of a file, with commands of a kit. Raises KnownError."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("deviation", [])
    except RecursionError:
        raise KnownError(f"{path}: {_TOO_DEEP}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise KnownError(f"{path}: {error}") from None
    if not isinstance(entries, list):
        raise KnownError(f"{path}: deviation is {entries!r:.80}; allowed: tables, [[deviation]]")
    listed: list[Known[C]] = []
    for number, entry in enumerate(entries, start=1):
        try:
            sequence = _structured(json.loads(entry.get("sequence", "[]")), kit)
            known = _PLAIN.structure({**entry, "sequence": []}, Known[Any])
            listed.append(attrs.evolve(known, sequence=sequence))
        except RecursionError:
            raise KnownError(f"{path}: deviation {number}: {_TOO_DEEP}") from None
        except _WRONG as error:
            errors = "; ".join(cattrs.transform_error(error))
            raise KnownError(f"{path}: deviation {number}: {errors}") from None
    names = [known.name for known in listed]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise KnownError(f"{path}: {min(doubled)} is listed twice")
    return tuple(listed)


def replayed(
    target: T, hello: H, known: Sequence[Known[C]], kit: Kit[C, T, H, S]
) -> list[Replayed[C]]:
    """Play the sequence of each known deviation. Raises TargetError."""
    return [_replayed(target, hello, deviation, kit) for deviation in known]


def _replayed(target: T, hello: H, known: Known[C], kit: Kit[C, T, H, S]) -> Replayed[C]:
    sequence = known.sequence
    for _try in range(kit.tries):
        stage, index, deviation = play(target, hello, sequence, kit)
        shows = deviation and deviation.signature == known.signature
        if deviation and shows and index == len(sequence) - 1 and _differs_so(deviation, known):
            fault = Fault(deviation, sequence, tuple(stage.steps), features_of(kit, sequence))
            return Replayed(known, fault)
    return Replayed(known, None)


def unknown(faults: Sequence[Fault[C]], known: Sequence[Known[C]]) -> list[Fault[C]]:
    """Return the faults that no known deviation accounts for.

    A known deviation accounts for a fault if it names the vector, or if both have the same
    signature and the sequence of the fault has every feature that the known one needs; and if the
    fault has the probable cause that it names, if any.
    """
    return [fault for fault in faults if not any(_accounts(each, fault) for each in known)]


def _accounts(known: Known[C], fault: Fault[C]) -> bool:
    deviation = fault.deviation
    named = deviation.name in known.vectors
    alike = known.signature == deviation.signature and known.needs <= set(fault.kinds)
    return (named or alike) and _differs_so(deviation, known)


def _differs_so(deviation: Deviation, known: Known[Any]) -> bool:
    return known.difference in ((), deviation.probable_cause)
