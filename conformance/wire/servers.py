"""Start and stop brokers that run as separate programs on 127.0.0.1."""

import re
import shlex
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

import attrs

from conformance.build import BuildRecipe, build
from conformance.cores.process import ProcessTarget
from conformance.target import TargetError
from judge.words import printable

HOST = "127.0.0.1"
_TARGETS = Path(__file__).parents[1] / "targets"
_FIRST_LINE = re.compile(rb"(127\.0\.0\.1:[1-9][0-9]{0,4}) ([\x21-\x7e]{1,100})")
_PSEUDO_VERSION = re.compile(r"v\d+\.\d+\.\d+-\d{14}-[0-9a-f]{12}")
_MAX_LINE = 200
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
    """A program that prints its address and version, and ends when its standard input closes."""

    def __init__(self, command: Sequence[str], seconds: float = 120.0) -> None:
        """Start it. Raises TargetError if it does not listen on 127.0.0.1 within ``seconds``."""
        self._process = ProcessTarget(shlex.join(command), seconds)
        try:
            line = self._process.line()
            match = _FIRST_LINE.fullmatch(line)
            if match is None:
                text = printable(line.decode(errors="replace"), _MAX_LINE)
                raise self._process.trouble(f"it printed {text!r}, not its address")
        except TargetError:
            self._process.end(0)
            raise
        self.address, self.version = match[1].decode(), match[2].decode()

    def close(self) -> None:
        """Close its input, and kill it if it does not end. Never raises."""
        self._process.end(_END_SECONDS)


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
