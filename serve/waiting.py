"""Waiting for records, as long as a client says and its connection lasts."""

import asyncio
from collections.abc import Callable

from serve.asked import Asked
from serve.node import Node

_LONGEST_WAIT_MS = 600_000


async def wait_until(
    enough: Callable[[], bool], wait_ms: int, node: Node, asked: Asked, group: str | None = None
) -> None:
    """Wait until there is enough of a group, or in logs; or the time is over, or nobody waits."""
    loop = asyncio.get_running_loop()
    until = loop.time() + min(wait_ms, _LONGEST_WAIT_MS) / 1000
    gone = asyncio.ensure_future(asked.gone.wait())
    try:
        while not (enough() or asked.gone.is_set() or loop.time() >= until):
            changed = asyncio.ensure_future(node.changed(group).wait())
            await asyncio.wait(
                {changed, gone},
                timeout=max(0.0, until - loop.time()),
                return_when=asyncio.FIRST_COMPLETED,
            )
            changed.cancel()
    finally:
        gone.cancel()
