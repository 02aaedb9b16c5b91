"""The clients that the harness knows by name, and those behind a command."""

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs

from clients.drivers import Values
from conformance.build import Recipe, build
from conformance.cores.kafka import kafka_java
from conformance.cores.process import ProcessTarget
from conformance.target import TargetError

_KNOWN = {
    "librdkafka": Path(__file__).parent / "targets" / "librdkafka.toml",
    "kafkats": Path(__file__).parent / "targets" / "kafkats" / "known.toml",
}
NAMES = ("librdkafka", "kafka", "kafkats", "franz-go")
_JAVA = Path(__file__).parent / "targets" / "KafkaShare.java"
_KAFKATS = Path(__file__).parent / "targets" / "kafkats"
_NPM = Recipe(
    "the driver for @kafkats/client",
    "Node.js with npm",
    ("npm", "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"),
    ("package.json",),
    "node_modules",
    300,
)
_FRANZ_GO = Path(__file__).parent / "targets" / "franzgo"
_GO = Recipe(
    "the driver for franz-go",
    "Go 1.26 or newer",
    ("go", "build", "-o", "build/driver", "."),
    ("go.mod", "go.sum", "driver.go"),
    "build",
    600,
)
_FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@attrs.define
class Kept:
    """A driver in a process that goes on to the next script, unless the last one went wrong."""

    command: str
    seconds: float
    _process: ProcessTarget | None = None
    _is_clean: bool = True

    def ask(self, command: Values) -> Values:
        """Pass a command on; the process is started for the first. Raises TargetError."""
        if self._process is None:
            self._process = ProcessTarget(self.command, self.seconds)
        self._is_clean = False
        answer = self._process.ask(command)
        self._is_clean = command["do"] in ("hello", "close") and answer.get("error") is None
        return answer

    def close(self) -> None:
        """Keep the process if its client was closed well, end it otherwise."""
        if not self._is_clean:
            self.end()

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None


def driver_of(name: str | None, command: str | None, seconds: float) -> Kept:
    """Return the driver of a client, by its name or by a command. Raises TargetError.

    ``seconds``: how long it may take for one answer.
    """
    if command is None:
        command = _COMMANDS[str(name)]()
    return Kept(command, seconds)


def known_of(name: str | None) -> Path | None:
    """Return the file of what is known of a client, or None where nothing is."""
    return _KNOWN.get(str(name))


def _librdkafka() -> str:
    try:
        from confluent_kafka import ShareConsumer  # noqa: F401, PLC0415 - an extra of the package
    except ImportError:
        text = "librdkafka's share consumer needs: pip install 'sharespec[mock]'"
        raise TargetError(text) from None
    return f"{shlex.quote(sys.executable)} -m {__package__}.targets.librdkafka"


def _kafka() -> str:
    java, path = kafka_java()
    return f"{java} {_FLAGS} -cp {shlex.quote(path)} {shlex.quote(str(_JAVA))}"


def _kafkats() -> str:
    project = build(_KAFKATS, _NPM)
    return f"node {shlex.quote(str(project / 'driver.js'))}"


def _franz_go() -> str:
    build(_FRANZ_GO, _GO)
    return shlex.quote(str(_FRANZ_GO / "build" / "driver"))


_COMMANDS: Mapping[str, Callable[[], str]] = {
    "librdkafka": _librdkafka,
    "kafka": _kafka,
    "kafkats": _kafkats,
    "franz-go": _franz_go,
}
