"""Several processes that need the same compiled code: one compiles, the others read its cache."""

import fcntl
import os
import tempfile
from pathlib import Path

from numba.core.event import Event, Listener, register


class _Turns(Listener):
    """Holds a lock on a file while this process compiles; compiling a function nests."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_RDWR)
        self._depth = 0

    def on_start(self, event: Event) -> None:  # noqa: ARG002
        if self._depth == 0:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._depth += 1

    def on_end(self, event: Event) -> None:  # noqa: ARG002
        self._depth -= 1
        if self._depth == 0:
            fcntl.flock(self._file, fcntl.LOCK_UN)


def take_turns() -> None:
    """Let this process compile only while no other does; Numba looks into its cache after that."""
    path = Path(tempfile.gettempdir()) / f"sharespec-compiler-{os.getuid()}.lock"
    register("numba:compiler_lock", _Turns(path))  # type: ignore[no-untyped-call] # not typed
