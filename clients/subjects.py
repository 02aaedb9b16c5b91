"""The clients that the harness knows by name, and those behind a command."""

import re
import shlex
import sys
import threading
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import attrs

from clients.drivers import Values
from conformance.build import BuildRecipe, build, cargo_recipe, go_recipe, maven_recipe
from conformance.cores.kafka import java_command
from conformance.cores.process import ProcessTarget
from conformance.releases import RELEASES
from conformance.target import GoneError, TargetError
from conformance.wire.librdkafka import WHEELS, with_wheel

_TARGETS = Path(__file__).parent / "targets"
OLDEST_KAFKA = "4.1.0"
"""The oldest release of Apache Kafka whose share consumer can be driven."""

VERSIONS: Mapping[str, tuple[str, ...]] = {
    "librdkafka": WHEELS,
    "kafka": RELEASES[RELEASES.index(OLDEST_KAFKA) :],
    "kafkats": ("0.12.0",),
    "franz-go": (
        *("1.21.0", "1.21.1", "1.21.2", "1.21.3", "1.21.4", "1.21.5", "1.21.6", "1.21.7"),
        *("1.22.0", "1.22.1", "1.22.2", "1.22.3"),
    ),
    "krafka": ("0.28.1",),
    "kafkit": ("0.1.9",),
    "kafrust": ("0.5.0",),
    "krabka": ("0.7.1",),
    "kacrab": ("0.4.0",),
    "spring-kafka": ("4.1.0", "4.1.1", "4.1.2"),
    "smallrye": ("4.34.0", "4.36.0"),
}
"""The releases of each client that can be driven; of librdkafka the wheels of confluent-kafka."""

NAMES = tuple(VERSIONS)

_FOLDERS = {name: _TARGETS / name.replace("-", "") for name in NAMES}
_NPM = BuildRecipe(
    "the driver for @kafkats/client",
    "Node.js with npm",
    ("npm", "install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"),
    ("package.json",),
    "node_modules",
    300,
)
_FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@attrs.define
class Kept:
    """A driver in a process that goes on to the next script, unless the last one went wrong."""

    command: str
    seconds: float
    is_over: bool = False
    _process: ProcessTarget | None = None
    _is_clean: bool = True

    def ask(self, command: Values) -> Values:
        """Pass a command on; the process is started for the first. Raises TargetError."""
        if self.is_over:
            raise GoneError("it was ended")
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


@attrs.define
class Drivers:
    """A driver of one client for each thread that plays scripts."""

    first: Kept
    _others: dict[int, Kept] = attrs.field(factory=dict)

    def start(self) -> Kept:
        """Return the driver of this thread."""
        if threading.current_thread() is threading.main_thread():
            return self.first
        fresh = Kept(self.first.command, self.first.seconds)
        return self._others.setdefault(threading.get_ident(), fresh)

    def end(self) -> None:
        """End all, and what is played with them."""
        for kept in (self.first, *self._others.values()):
            kept.is_over = True
            kept.end()


def driver_of(
    name: str | None, command: str | None, seconds: float, version: str | None = None
) -> Kept:
    """Return the driver of a client, by its name or by a command. Raises TargetError.

    ``seconds``: how long it may take for one answer. ``version``: one of ``VERSIONS``, which is
    built on demand in the user's cache; None is the one that this project is tested with.
    """
    release_of(name, version)
    if command is None:
        command = _COMMANDS[str(name)](version)
    return Kept(command, seconds)


def release_of(name: str | None, version: str | None) -> str:
    """Return the release of a client that is driven, empty where a command starts it.

    Raises TargetError where ``version`` is none that can be driven.
    """
    releases = VERSIONS.get(str(name), ())
    if version is not None and version not in releases:
        allowed = ", ".join(releases) or "none, as a command says what it starts"
        text = f"{name or '--exec'} {version!r:.40} cannot be driven; allowed: {allowed}"
        raise TargetError(text)
    return version or (releases[-1] if releases else "")


def known_of(name: str | None) -> Path | None:
    """Return the file of what is known of a client, or None where nothing is."""
    return _FOLDERS[name] / "known.toml" if name in _FOLDERS else None


def _librdkafka(version: str | None) -> str:
    driver, path = _FOLDERS["librdkafka"] / "driver.py", ""
    if version is None and find_spec("confluent_kafka") is None:
        text = "librdkafka's share consumer needs: pip install 'sharespec[mock]'"
        raise TargetError(text)
    if version is not None:
        project = with_wheel(driver.parent, version)
        driver, path = project / "driver.py", f"env PYTHONPATH={shlex.quote(str(project))}/wheel "
    return f"{path}{shlex.quote(sys.executable)} {shlex.quote(str(driver))}"


def _java(name: str, text: str, main: str) -> Callable[[str | None], str]:
    """Return what builds a driver in Java against a release of a client, by Maven."""

    def built(version: str | None) -> str:
        java, version = java_command(), version or VERSIONS[name][-1]
        setting = f"-D{name.partition('-')[0]}.version={version}"
        recipe = maven_recipe(
            f"the driver for {text} {version}",
            setting,
            sources=("pom.xml", "*.java"),
            output=f"target/{version}",
            beside="javadriver",
        )
        target = build(_FOLDERS[name], recipe) / "target" / version
        path = shlex.quote(f"{target / 'classes'}:{target / 'lib'}/*")
        return f"{java} {_FLAGS} -cp {path} {main}"

    return built


def _kafkats(version: str | None) -> str:
    def content(path: PurePosixPath, data: bytes) -> bytes:
        wanted = re.sub(rb'(@kafkats/client": )"[^"]*"', rb'\1"%s"' % str(version).encode(), data)
        return wanted if path.name == "package.json" else data

    project = build(_FOLDERS["kafkats"], _NPM, content if version else None)
    return f"node {shlex.quote(str(project / 'driver.js'))}"


def _franz_go(version: str | None) -> str:
    def content(path: PurePosixPath, data: bytes) -> bytes | None:
        """Leave to Go what that release of the module requires, and the checksums."""
        if path.name == "go.mod":
            head = data.decode().partition("require")[0]
            return f"{head}require github.com/twmb/franz-go v{version}\n".encode()
        return None if path.name == "go.sum" else data

    recipe = go_recipe("the driver for franz-go", "driver", *(["-mod=mod"] if version else []))
    project = build(_FOLDERS["franz-go"], recipe, content if version else None)
    return shlex.quote(str(project / "build" / "driver"))


def _crate(name: str, *flags: str) -> Callable[[str | None], str]:
    """Return what builds the one release of a crate that can be driven, by Cargo with flags."""

    def built(_version: str | None) -> str:
        recipe = cargo_recipe(f"the driver for {name}", *flags, beside="rustdriver")
        project = build(_FOLDERS[name], recipe)
        return shlex.quote(str(project / "target" / "debug" / f"sharespec-{name}"))

    return built


_COMMANDS: Mapping[str, Callable[[str | None], str]] = {
    "librdkafka": _librdkafka,
    "kafka": _java("kafka", "Apache Kafka", "KafkaShare"),
    "kafkats": _kafkats,
    "franz-go": _franz_go,
    "krafka": _crate("krafka"),
    "kafkit": _crate("kafkit"),
    "kafrust": _crate("kafrust"),
    "krabka": _crate("krabka", "--ignore-rust-version"),  # It asks for 1.98.1.
    "kacrab": _crate("kacrab"),
    "spring-kafka": _java("spring-kafka", "Spring for Apache Kafka", "SpringKafka"),
    "smallrye": _java("smallrye", "SmallRye Reactive Messaging", "SmallRye"),
}
