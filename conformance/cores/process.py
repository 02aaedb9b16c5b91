"""A program in another process, which may hang, die, flood or send garbage."""

import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from contextlib import suppress

from conformance.cores.protocol import MAX_LINE_BYTES, DriverTarget, decoded, encoded
from conformance.cores.target import Capabilities, Reply
from conformance.target import GoneError, TargetError

_TAIL_BYTES = 2000
_CHUNK = 1 << 16
_LAST_MOMENT = 0.2


class ProcessTarget:
    """Takes messages over a command's standard input and output.

    ``seconds`` is the timeout of an answer. Standard error goes to a file, and errors quote its
    end. The process has a group of its own, which ends with it; a program that ends with its input
    does so also if this process is killed.
    """

    def __init__(self, command: str, seconds: float = 10.0) -> None:
        """Start the command. Raises TargetError if it cannot be started."""
        self._seconds = seconds
        self._unheard = f"{command!r:.200}: "
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close
        self._read = bytearray()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the command is what the user gave
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError) as error:
            self._errors.close()
            reason = getattr(error, "strerror", None) or error
            raise TargetError(f"{command!r} cannot be started: {reason}") from None
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._stdout, selectors.EVENT_READ)
        os.set_blocking(self._stdin, False)
        self._room = selectors.DefaultSelector()
        self._room.register(self._stdin, selectors.EVENT_WRITE)

    @property
    def _stdin(self) -> int:
        assert self._process.stdin is not None  # noqa: S101 - opened above
        return self._process.stdin.fileno()

    @property
    def _stdout(self) -> int:
        assert self._process.stdout is not None  # noqa: S101 - opened above
        return self._process.stdout.fileno()

    @property
    def has_ended(self) -> bool:
        """Whether the program runs no longer."""
        return self._process.poll() is not None

    def close(self) -> None:
        """Send goodbye, and kill the process if it does not end."""
        with suppress(TargetError):
            self.ask({"do": "goodbye"})
        self.end(1)

    def end(self, seconds: float) -> None:
        """Close its input, and kill it if it does not end within so many seconds. Never raises."""
        self._room.close()
        assert self._process.stdin is not None  # noqa: S101 - opened above
        with suppress(OSError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        # Also what it started and left behind, which would keep its pipes open.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._ready, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def ask(self, message: dict[str, object]) -> Reply:
        """Send a message, and return the answer to it. Raises TargetError if there is none."""
        self._send(encoded(message))
        return decoded(self.line())

    def _send(self, line: bytes) -> None:
        """Write a line; a driver that does not read must not stop the kit."""
        until = time.monotonic() + self._seconds
        while line:
            remaining = until - time.monotonic()
            if remaining <= 0 or not self._room.select(remaining):
                raise self.trouble(f"it did not read for {self._seconds:g} s")
            try:
                line = line[os.write(self._stdin, line) :]
            except BlockingIOError:
                continue
            except (OSError, ValueError):
                raise self.trouble("it is gone") from None

    def line(self) -> bytes:
        """Return the next line that it writes. Raises GoneError if there is none."""
        until = time.monotonic() + self._seconds
        while (end := self._read.find(b"\n")) < 0:
            if len(self._read) > MAX_LINE_BYTES:
                raise self.trouble(f"its answer is longer than {MAX_LINE_BYTES:,} bytes")
            remaining = until - time.monotonic()
            if remaining <= 0 or not self._ready.select(remaining):
                raise self.trouble(f"it was silent for {self._seconds:g} s")
            chunk = os.read(self._stdout, _CHUNK)
            if not chunk:
                raise self.trouble("it ended")
            self._read += chunk
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        self._unheard = ""
        return line

    def trouble(self, what: str) -> GoneError:
        """Return an error that says what is wrong, how it ended if it has, and what it said."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _TAIL_BYTES))
        text = " ".join(self._errors.read().decode(errors="replace").split())
        try:
            status = self._process.wait(_LAST_MOMENT)
        except subprocess.TimeoutExpired:
            status = None
        ended = "" if status is None else f", exit status {status}"
        said = f"; it said: {text}" if text else ""
        return GoneError(f"{self._unheard}{what}{ended}{said}")


def core_target(command: str, seconds: float = 10.0) -> DriverTarget[Capabilities]:
    """Start the driver of a core. Raises TargetError as ``ProcessTarget`` does."""
    return DriverTarget(ProcessTarget(command, seconds), Capabilities)
