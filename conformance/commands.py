"""Sequences of commands as JSON, as reports and files of known deviations have them."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any
from uuid import UUID

import cattrs
from cattrs.strategies import configure_tagged_union

from conformance.known import KnownError
from model.errors import ErrorCode


def _converter(*, short: bool = False) -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, omit_if_default=short)
    converter.register_unstructure_hook(ErrorCode, lambda status: status.name)
    converter.register_structure_hook(ErrorCode, lambda name, _type: ErrorCode[name])
    converter.register_unstructure_hook(UUID, str)
    converter.register_structure_hook(UUID, lambda text, _type: UUID(text))
    return converter


_WHOLE, _SHORT = _converter(), _converter(short=True)


def plain_commands(sequence: Sequence[object], *, short: bool = False) -> list[dict[str, Any]]:
    """Return commands as JSON has them, ``short`` without what is the default."""
    converter = _SHORT if short else _WHOLE
    plain = [{**converter.unstructure(each), "ask": type(each).__name__} for each in sequence]
    return json.loads(json.dumps(plain))  # type: ignore[no-any-return] # a list of objects


@cache
def _reading(commands: Any) -> cattrs.Converter:  # noqa: ANN401 - a union
    converter = _converter()
    configure_tagged_union(commands, converter, tag_name="ask")
    return converter


def read_commands(plain: Any, commands: Any) -> tuple[Any, ...]:  # noqa: ANN401 - JSON; a union
    """Return the commands in JSON, each of a union of classes. Raises KnownError."""
    converter = _reading(commands)
    try:
        return tuple(converter.structure(command, commands) for command in plain)
    except (ValueError, TypeError, KeyError, AttributeError, cattrs.BaseValidationError) as error:
        text = " ".join("; ".join(cattrs.transform_error(error)).split())  # Names may be of lines.
        raise KnownError(f"the sequence: {text}") from None
