"""The clients that the harness knows by name, and those behind a command."""

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs

from clients.drivers import Values
from conformance.build import Recipe, build
from conformance.cores.kafka import java_command
from conformance.cores.process import ProcessTarget
from conformance.releases import NEWEST, check_release
from conformance.target import TargetError

_KNOWN = {
    "librdkafka": Path(__file__).parent / "targets" / "librdkafka.toml",
    "franz-go": Path(__file__).parent / "targets" / "franzgo" / "known.toml",
    "kafka": Path(__file__).parent / "targets" / "kafka" / "known.toml",
    "kafkats": Path(__file__).parent / "targets" / "kafkats" / "known.toml",
}
NAMES = ("librdkafka", "kafka", "kafkats", "franz-go")
OLDEST_KAFKA = "4.1.0"
"""The oldest release of Apache Kafka whose share consumer can be driven."""

_KAFKA = Path(__file__).parent / "targets" / "kafka"
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


def driver_of(
    name: str | None, command: str | None, seconds: float, version: str | None = None
) -> Kept:
    """Return the driver of a client, by its name or by a command. Raises TargetError.

    ``seconds``: how long it may take for one answer. ``version``: the release of Apache Kafka,
    from ``OLDEST_KAFKA`` on; None is the newest.
    """
    if version is not None and name != "kafka":
        raise TargetError("a version can be chosen of kafka only")
    if command is None:
        command = _kafka(version) if name == "kafka" else _COMMANDS[str(name)]()
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


def _kafka(version: str | None) -> str:
    version = version or NEWEST
    check_release(version, OLDEST_KAFKA)
    java = java_command()
    project = build(_KAFKA, _maven(version))
    jars = project / "target" / version / "lib" / "*"
    source = shlex.quote(str(project / "KafkaShare.java"))
    return f"{java} {_FLAGS} -cp {shlex.quote(str(jars))} {source}"


def _maven(version: str) -> Recipe:
    return Recipe(
        f"the driver for Apache Kafka {version}",
        "Maven",
        ("mvn", "--quiet", "--batch-mode", "package", f"-Dkafka.version={version}"),
        ("pom.xml",),
        f"target/{version}",
        600,
        error_mark="ERROR",
    )


def _kafkats() -> str:
    project = build(_KAFKATS, _NPM)
    return f"node {shlex.quote(str(project / 'driver.js'))}"


def _franz_go() -> str:
    build(_FRANZ_GO, _GO)
    return shlex.quote(str(_FRANZ_GO / "build" / "driver"))


_COMMANDS: Mapping[str, Callable[[], str]] = {
    "librdkafka": _librdkafka,
    "kafkats": _kafkats,
    "franz-go": _franz_go,
}
