"""kfake, a broker in Go for tests of clients, and crabka, one in Rust, as targets.

They run as separate programs on 127.0.0.1.
"""

import re
import shlex
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path, PurePosixPath

from conformance.build import build, cargo_recipe, go_recipe
from conformance.cores.process import ProcessTarget
from conformance.target import TargetError
from conformance.wire.admin import Resource
from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Bounds
from judge.words import printable
from model.config import SharePartitionConfig

HOST = "127.0.0.1"
_TARGETS = Path(__file__).parents[1] / "targets"
_FIRST_LINE = re.compile(rb"(127\.0\.0\.1:[1-9][0-9]{0,4}) ([\x21-\x7e]{1,100})")
_PSEUDO_VERSION = re.compile(r"v\d+\.\d+\.\d+-\d{14}-[0-9a-f]{12}")
_MAX_LINE = 200
_END_SECONDS = 5.0

# The manifest asks for Rust 1.96, but 1.95 suffices.
CRABKA = cargo_recipe("crabka", "--ignore-rust-version")
"""Builds both programs of crabka."""

_SWEEP_MS, _LATE_MS = 20, 180
_KFAKE_CAN = {
    "alters": False,
    "renew_setting": False,
    "recreates": False,
    "group_limits": True,
    "sweep_ms": _SWEEP_MS + _LATE_MS,
    "lock_ms": 500,
    "delivery_limits": (2, 3, 5),
    "lock_limits": (4, 10, 200),
}
"""It accepts any limits, so that the narrowest are chosen."""

_CRABKA_LOCK_MS, _CRABKA_LATE_MS, _DELIVERY_LIMIT, _LOCK_LIMIT = 800, 600, 3, 10
_CRABKA_CAN = {
    "alters": False,
    "recreates": False,
    "config": False,
    "committed": False,
    "sweep_ms": _CRABKA_LATE_MS,
    "lock_ms": _CRABKA_LOCK_MS,
    "delivery_limits": (_DELIVERY_LIMIT,),
    "lock_limits": (_LOCK_LIMIT,),
}
"""It has the limits that it was started with, and no settings."""


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


class KfakeBroker(BrokerTarget):
    """Set limits for the whole broker, since kfake ignores those of a group."""

    def configure(self, group: str, config: SharePartitionConfig) -> None:
        """Set the settings of a group that it has, and the broker's limits."""
        self._own = frozenset({"share.auto.offset.reset", "share.isolation.level"})
        super().configure(group, config)
        limits = {
            "group.share.record.lock.duration.ms": str(config.record_lock_duration_ms),
            "group.share.delivery.count.limit": str(config.delivery_count_limit),
            "group.share.partition.max.record.locks": str(config.partition_max_record_locks),
        }
        self._admin.configure(Resource.BROKER, str(self._admin.nodes[0]), limits)


@contextmanager
def kfake_target(
    silence: float, version: str = "", project: Path = _TARGETS / "kfake"
) -> Iterator[BrokerTarget]:
    """Build and run a kfake broker, of a version if given; ``silence``: its timeout in seconds.

    Raises TargetError, with what Go says of a version that its module proxy does not serve.
    """
    project = (
        _kfake_of(project, version) if version else build(project, go_recipe("kfake", "kfake"))
    )
    configs = {"share.record.lock.sweep.interval.ms": str(_SWEEP_MS)}
    server = _started(project / "build" / "kfake", configs)
    # The first fetch creates the group, so that no member has to join.
    with _driven(server, KfakeBroker, "kfake", _KFAKE_CAN, silence) as target:
        yield target


def _kfake_of(project: Path, version: str) -> Path:
    """Build kfake of another version, whose checksums Go notes itself."""
    if not _PSEUDO_VERSION.fullmatch(version):
        allowed = "v0.0.0-YYYYMMDDHHMMSS-COMMIT, 12 digits of the commit"
        raise TargetError(f"kfake {version!r:.60} is no pseudo-version; allowed: {allowed}")

    def content(path: PurePosixPath, own: bytes) -> bytes | None:
        if path.name == "go.mod":
            return re.sub(rb"(?<=pkg/kfake )v\S+", version.encode(), own)
        return None if path.name == "go.sum" else own

    return build(project, go_recipe(f"kfake {version}", "kfake", "-mod=mod"), content)


@contextmanager
def crabka_target(silence: float, project: Path = _TARGETS / "crabka") -> Iterator[BrokerTarget]:
    """Build and run a crabka broker; ``silence``: its timeout in seconds. Raises TargetError."""
    configs = {
        "group.share.record.lock.duration.ms": str(_CRABKA_LOCK_MS),
        "group.share.delivery.count.limit": str(_DELIVERY_LIMIT),
        "group.share.partition.max.record.locks": str(_LOCK_LIMIT),
    }
    server = _started(build(project, CRABKA) / "target" / "debug" / "broker", configs)
    # Once a group has a member, it lets nobody else fetch.
    with _driven(server, BrokerTarget, "crabka", _CRABKA_CAN, silence) as target:
        yield target


def _started(program: Path, configs: Mapping[str, str]) -> ServerProgram:
    arguments = (f"{name}={value}" for name, value in configs.items())
    return ServerProgram([str(program), *arguments])


@contextmanager
def _driven(
    server: ServerProgram,
    kind: type[BrokerTarget],
    name: str,
    can: Mapping[str, object],
    silence: float,
) -> Iterator[BrokerTarget]:
    """Drive a server that was started, whose groups nobody has to join, and end it."""
    with (
        closing(server),
        closing(
            kind(
                server.address,
                name=name,
                version=server.version,
                bounds=Bounds(seconds=silence),
                can=can,
                joins=False,
            )
        ) as target,
    ):
        yield target


def free_ports(number: int) -> list[int]:
    """Return free ports of this machine."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
