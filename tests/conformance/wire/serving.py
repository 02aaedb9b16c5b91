"""A server for tests, of which each connection answers as a script says."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Script = Callable[[bytes], bytes | None]
"""What is sent for a frame that came (without its length); None closes the connection."""


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """Serve on a free port of this machine until the block ends; yield the address."""
    ready = threading.Event()
    found: list[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                answer = script(await reader.readexactly(size))
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        over = asyncio.Event()
        port = server.sockets[0].getsockname()[1]
        found.append((port, asyncio.get_running_loop(), over))
        ready.set()
        await over.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert ready.wait(120)
    port, loop, over = found[0]
    try:
        yield f"127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
