"""A request as a handler gets it."""

import asyncio
from types import SimpleNamespace
from typing import Any, TypeAlias

import attrs

Values: TypeAlias = dict[str, Any]
"""A response, or a part of one, as plain values by kio's names."""


@attrs.frozen
class Call:
    """A request, and over which connection it came.

    ``gone`` is set when the connection has closed: nobody waits for the answer.
    """

    body: SimpleNamespace
    version: int = 0
    connection: str = ""
    client_id: str = ""
    host: str = ""
    gone: asyncio.Event = attrs.field(factory=asyncio.Event)
