"""Waiting for records, as long as a client says and its connection lasts."""

import asyncio
from collections.abc import Callable

from serve.asked import Call
from serve.node import Node

_LONGEST_WAIT_MS = 600_000


async def wait_until(
    enough: Callable[[], bool], wait_ms: int, node: Node, asked: Call, group: str | None = None
) -> None:
    """Wait until there is enough of a group, or in logs; or the time is over, or nobody waits.

    Then it is the turn of the group, until the caller waits again; of what was enough another
    request may have taken some, where the group has many share-partitions.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + min(wait_ms, _LONGEST_WAIT_MS) / 1000
    gone = asyncio.ensure_future(asked.gone.wait())
    size = 0 if group is None else len(node.share(group).partitions)
    try:
        await node.cluster.turns.take(size)
        while not (enough() or asked.gone.is_set() or loop.time() >= until):
            changed = asyncio.ensure_future(node.changed(group).wait())
            await asyncio.wait(
                {changed, gone},
                timeout=max(0.0, until - loop.time()),
                return_when=asyncio.FIRST_COMPLETED,
            )
            changed.cancel()
            await node.cluster.turns.take(size)
        await node.cluster.turns.take(size)  # To look took one, and to fetch takes longer.
    finally:
        gone.cancel()
