"""A released broker with the recorder in it, and members of share groups that are real."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs
import pytest

from conformance.cores.kafka import recorder_jar
from conformance.wire.kafka_broker import write_alone
from tests.conformance.unbuilt import skipping_unbuilt
from tests.java_archive import archived
from tests.recorder.account import Trace, read

PROJECT = Path(__file__).parents[2] / "recorder"
BREAKER = PROJECT / "target" / "sharespec-recorder-tests.jar"
"""An agent that alters a broker on purpose; its option is what (see Breaker.java)."""

_VERSION = os.environ.get("SHARESPEC_KAFKA", "4.4.0")
_CLASSES = f"{BREAKER}{os.pathsep}{PROJECT}/target/kafka-{_VERSION}/*"
JAVA = ("java", "-Xms128m", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
_START_SECONDS, _STOP_SECONDS, _PAUSE_S = 300, 120, 0.2
_REACHED_SECONDS, _ENDLESS_SECONDS, _LOOK_S, _RUNS = 240, 3600, 0.5, 6
_STARTED = b"Kafka Server started"
_SETTINGS = (
    "group.share.min.heartbeat.interval.ms=500",
    "group.share.heartbeat.interval.ms=500",
    "group.share.min.session.timeout.ms=3000",
    "group.share.session.timeout.ms=3000",
    "group.share.record.lock.duration.ms=2000",
)


@cache
def recorder() -> Path:
    """Build the recorder, and skip the test where Java or Maven is missing."""
    if shutil.which("java") is None:
        pytest.skip("the recorder needs Java 17 or newer: there is no java on the path")
    with skipping_unbuilt():
        return recorder_jar()


@cache
def _java() -> tuple[str, ...]:
    """Return the command for Java that maps the classes of a broker."""

    def run(option: str) -> None:
        java = (*JAVA, option)
        with TemporaryDirectory() as folder, broker(Path(folder), None, java=java) as running:
            running.stop()

    return (*JAVA, archived(PROJECT / "target", run))


@attrs.define
class Broker:
    """A broker that runs in a folder, whose trace is in ``trace``."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes]"
    _workers: "list[subprocess.Popen[bytes]]" = attrs.field(factory=list)

    @property
    def trace(self) -> Path:
        """Where the recorder writes."""
        return self.folder / "trace"

    @property
    def log(self) -> str:
        """What the broker has said."""
        return self.folder.joinpath("log").read_text(errors="replace")

    @property
    def said(self) -> list[str]:
        """What the recorder has said."""
        return [line for line in self.log.splitlines() if "sharespec recorder:" in line]

    def stop(self) -> None:
        """Stop in order."""
        self.process.communicate(b"stop\n", timeout=_STOP_SECONDS)

    def recorded(self) -> Trace:
        """Stop in order, and return what the recorder wrote."""
        self.stop()
        return read(self.trace)

    def kill(self) -> None:
        """Stop as a crash does."""
        end(self.process)

    def close(self) -> None:
        """End what still runs of it and of its members, and close what they were connected with."""
        for process in (*self._workers, self.process):
            end(process)

    def attach(self, options: str) -> None:
        """Attach the recorder to it, or switch the one that is there."""
        command = [*JAVA, "-jar", str(recorder()), "attach", str(self.process.pid), options]
        subprocess.run(command, check=True, capture_output=True, timeout=_START_SECONDS)

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of the tests against it and return what it prints."""
        main = [f"sharespec.recorder.{program}", f"127.0.0.1:{self.port}", *arguments]
        command = [*JAVA[:-2], _QUIET, "-cp", _CLASSES, *main]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
        return done.stdout

    def work(self, words: str, seconds: int, *settings: str, topic: str = "t") -> dict[str, int]:
        """Run members and others (see Workload.java) and return what they counted."""
        done = self.start_work(words, seconds, *settings, topic=topic)
        out, err = done.communicate(timeout=seconds + 180)
        assert done.returncode == 0, err.decode(errors="replace")
        counted = json.loads(out.splitlines()[-1])
        assert counted["failures"] == 0, err.decode(errors="replace")
        return dict(counted)

    def start_work(
        self, words: str, seconds: int, *settings: str, topic: str = "t", group: str = "g"
    ) -> "subprocess.Popen[bytes]":
        """Start members and others; they end with the broker at the latest."""
        arguments = (f"127.0.0.1:{self.port}", group, topic, str(seconds), "1", words, *settings)
        process = subprocess.Popen(
            [*_java(), _QUIET, "-cp", _CLASSES, "sharespec.recorder.Workload", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._workers.append(process)
        return process

    def work_on(self, words: str, *settings: str) -> "subprocess.Popen[bytes]":
        """Start members and others that work until they are ended, and await their first record."""
        process = self.start_work(words, _ENDLESS_SECONDS, *settings)
        assert process.stdout is not None
        assert process.stdout.readline() == b"working\n"
        return process

    def work_until(
        self, reached: Callable[[], bool], words: str, seconds: int, *settings: str
    ) -> None:
        """Let members work until something is reached: how soon depends on the machine."""
        for _ in range(_RUNS):
            self.work(words, seconds, *settings)
            if reached():
                return
        pytest.fail(f"not reached in {_RUNS} runs of {seconds} s")


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process, and close what it was connected with."""
    process.kill()
    process.communicate()


def eventually(reached: Callable[[], bool]) -> None:
    """Wait until something is reached; how long depends on the machine, and is bounded."""
    until = time.monotonic() + _REACHED_SECONDS
    while not reached():
        assert time.monotonic() < until
        time.sleep(_LOOK_S)


@contextmanager
def broker(  # noqa: PLR0913 - each is one thing in which brokers differ
    folder: Path,
    options: str | None = "",
    *,
    features: Sequence[str] = (),
    settings: Sequence[str] = (),
    broken: str = "",
    java: Sequence[str] = (),
) -> Iterator[Broker]:
    """Run a broker with the recorder; without options, one without it. A folder may be used again.

    ``options`` are those of the recorder besides its folder and the room that the disk must have.
    ``broken`` is what an agent before it alters, ``java`` another command for Java.
    """
    jar = recorder()
    folder.mkdir(exist_ok=True)
    properties = folder / "server.properties"
    port = write_alone(properties, (*_SETTINGS, *settings))
    breaker = [f"-javaagent:{BREAKER}={broken}"] if broken else []
    agent = [] if options is None else [f"-javaagent:{jar}={_options(folder, options)}"]
    main = ["sharespec.recorder.Broker", str(properties), *features]
    folder.joinpath("log").touch()
    started = folder.joinpath("log").read_bytes().count(_STARTED)
    with folder.joinpath("log").open("ab") as log:
        process = subprocess.Popen(
            [*(java or _java()), *breaker, *agent, "-cp", _CLASSES, *main],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
        )
    running = Broker(folder, port, process)
    try:
        _await(running, started)
        yield running
    finally:
        running.close()


def _options(folder: Path, options: str) -> str:
    usual = [f"dir={folder / 'trace'}"] if "dir=" not in options else []
    usual += ["min_free=0"] if "min_free=" not in options else []
    return ",".join([*usual, *([options] if options else [])])


def _await(running: Broker, before: int) -> None:
    until = time.monotonic() + _START_SECONDS
    while running.folder.joinpath("log").read_bytes().count(_STARTED) == before:
        assert running.process.poll() is None, _end_of(running.log)
        assert time.monotonic() < until, _end_of(running.log)
        time.sleep(_PAUSE_S)


def _end_of(log: str) -> str:
    """Return the end of a broker's log without its settings, which hide why it ended."""
    return "\n".join(line for line in log.splitlines() if not line.startswith("\t"))[-4000:]
