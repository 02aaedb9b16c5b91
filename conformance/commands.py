"""Sequences of commands as JSON, as reports and files of known deviations have them."""

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, get_args
from uuid import UUID

import cattrs
from cattrs.strategies import configure_tagged_union

from conformance.known import KnownError
from model.errors import ErrorCode, value_text


def _converter(*, short: bool = False) -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, omit_if_default=short)
    converter.register_unstructure_hook(ErrorCode, lambda status: status.name)
    converter.register_structure_hook(ErrorCode, lambda name, _type: ErrorCode[name])
    converter.register_unstructure_hook(UUID, str)
    converter.register_structure_hook(UUID, lambda text, _type: UUID(text))
    return converter


_WHOLE, _SHORT = _converter(), _converter(short=True)


def ask_name(kind: type) -> str:
    """Return the name of a class of commands in files and reports: without its kit, as ``Fetch``.

    The class says the kit, as ``CoreFetch`` and ``WireFetch``, if the name alone is another's too.
    """
    return re.sub(r"^(Core|Wire)(?=[A-Z])", "", kind.__name__)


def plain_commands(sequence: Sequence[object], *, short: bool = False) -> list[dict[str, Any]]:
    """Return commands as JSON has them, ``short`` without what is the default."""
    converter = _SHORT if short else _WHOLE
    plain = [{**converter.unstructure(each), "ask": ask_name(type(each))} for each in sequence]
    return json.loads(json.dumps(plain))  # type: ignore[no-any-return] # a list of objects


@cache
def _reading(commands: Any) -> cattrs.Converter:  # noqa: ANN401 - a union
    converter = _converter()
    configure_tagged_union(commands, converter, tag_name="ask", tag_generator=ask_name)
    return converter


def read_commands(plain: Any, commands: Any) -> tuple[Any, ...]:  # noqa: ANN401 - JSON; a union
    """Return the commands in JSON, each of a union of classes. Raises KnownError."""
    if not isinstance(plain, list):
        raise KnownError(f"the sequence is {value_text(plain)}; allowed: a list of commands")
    return tuple(_command(each, commands, number) for number, each in enumerate(plain, start=1))


def _command(plain: Any, commands: Any, number: int) -> Any:  # noqa: ANN401 - as above
    kinds = [ask_name(each) for each in get_args(commands)]
    asked = plain.get("ask") if isinstance(plain, dict) else plain
    if asked not in kinds:
        text = f"command {number} asks {value_text(asked)}; allowed: {', '.join(kinds)}"
        raise KnownError(f"the sequence: {text}")
    try:
        return _reading(commands).structure(plain, commands)
    except (ValueError, TypeError, KeyError, AttributeError, cattrs.BaseValidationError) as error:
        texts = cattrs.transform_error(error, path=f"command {number}")
        text = " ".join("; ".join(texts).split())  # Names may be of lines.
        raise KnownError(f"the sequence: {text}") from None
