"""Start and stop brokers that run as separate programs on 127.0.0.1."""

import os
import re
import selectors
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

import attrs

from conformance.build import BuildRecipe, build
from conformance.target import TargetError

HOST = "127.0.0.1"
_TARGETS = Path(__file__).parents[1] / "targets"
_FIRST_LINE = re.compile(rb"(127\.0\.0\.1:[1-9][0-9]{0,4}) ([\x21-\x7e]{1,100})")
_PSEUDO_VERSION = re.compile(r"v\d+\.\d+\.\d+-\d{14}-[0-9a-f]{12}")
_MAX_LINE = 1000
_TAIL_BYTES = 2000
_END_SECONDS = 5.0

_KFAKE = BuildRecipe(
    "kfake",
    "Go 1.26 or newer",
    ("go", "build", "-o", "build/kfake", "."),
    ("go.mod", "go.sum", "*.go"),
    "build",
    600,
)
CRABKA = BuildRecipe(
    "crabka",
    "Rust 1.95 or newer",
    # The manifest asks for Rust 1.96, but 1.95 suffices.
    ("cargo", "build", "--locked", "--ignore-rust-version"),
    ("Cargo.toml", "Cargo.lock", "src/**/*.rs"),
    "target",
    3600,
)
"""Builds both programs of crabka, in minutes."""


class ServerProgram:
    """A program that prints its address and version, and ends when its standard input closes.

    It ends with this process too, even if that is killed. If it does not start, the error quotes
    its standard error.
    """

    def __init__(self, command: Sequence[str], seconds: float = 120.0) -> None:
        """Start it. Raises TargetError if it does not listen on 127.0.0.1 within ``seconds``."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a program of this project
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
            )
        except OSError as error:
            self._errors.close()
            raise TargetError(f"{command[0]} cannot be started: {error.strerror}") from None
        try:
            self.address, self.version = self._greeting(seconds)
        except TargetError:
            self._process.kill()
            self.close()
            raise

    def close(self) -> None:
        """Close its input, and kill it if it does not end. Never raises."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None  # noqa: S101 - opened above
            stream.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _greeting(self, seconds: float) -> tuple[str, str]:
        line = self._line(time.monotonic() + seconds)
        match = _FIRST_LINE.fullmatch(line)
        if match is None:
            text = line.decode(errors="replace") or "nothing"
            raise TargetError(f"the server said {text!r}, not its address{self._complaint()}")
        return match[1].decode(), match[2].decode()

    def _line(self, until: float) -> bytes:
        assert self._process.stdout is not None  # noqa: S101 - opened above
        read = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in read and len(read) < _MAX_LINE:
                if not ready.select(max(0.0, until - time.monotonic())):
                    raise TargetError(f"the server did not start in time{self._complaint()}")
                chunk = os.read(self._process.stdout.fileno(), _MAX_LINE)
                if not chunk:
                    break
                read += chunk
        return bytes(read.partition(b"\n")[0])

    def _complaint(self) -> str:
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _TAIL_BYTES))
        text = self._errors.read().decode(errors="replace").strip()
        return f"; it said: {text}" if text else ""


def kfake_server(
    configs: Mapping[str, str], project: Path = _TARGETS / "kfake", version: str = ""
) -> ServerProgram:
    """Build and start a kfake broker with this configuration, perhaps of another version.

    Raises TargetError, with what Go says of a version that its module proxy does not serve.
    """
    project = _kfake_of(project, version) if version else build(project, _KFAKE)
    return ServerProgram([str(project / "build" / "kfake"), *_arguments(configs)])


def _kfake_of(project: Path, version: str) -> Path:
    """Build kfake of another version, whose checksums Go notes itself."""
    if not _PSEUDO_VERSION.fullmatch(version):
        allowed = "v0.0.0-YYYYMMDDHHMMSS-COMMIT, 12 digits of the commit"
        raise TargetError(f"kfake {version!r:.60} is no pseudo-version; allowed: {allowed}")

    def content(path: PurePosixPath, own: bytes) -> bytes | None:
        if path.name == "go.mod":
            return re.sub(rb"(?<=pkg/kfake )v\S+", version.encode(), own)
        return None if path.name == "go.sum" else own

    command = ("go", "build", "-mod=mod", *_KFAKE.command[2:])
    named = f"kfake {version}"
    return build(project, attrs.evolve(_KFAKE, name=named, command=command), content)


def crabka_server(configs: Mapping[str, str], project: Path = _TARGETS / "crabka") -> ServerProgram:
    """Build and start a crabka broker with this configuration. Raises TargetError."""
    project = build(project, CRABKA)
    return ServerProgram([str(project / "target" / "debug" / "broker"), *_arguments(configs)])


def _arguments(configs: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in configs.items()]


def free_ports(number: int) -> list[int]:
    """Return free ports of this machine."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
