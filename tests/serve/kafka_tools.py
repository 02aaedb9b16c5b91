"""Apache Kafka's command line tools, fetched by Maven, against a broker."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import attrs

from conformance.build import BuildRecipe, build
from conformance.cores.kafka import java_command
from conformance.wire.admin import Resource
from serve.running import EARLIEST
from tests.conformance.unbuilt import skipping_unbuilt
from tests.java_archive import archived
from tests.serve.served import clients_of

_PROJECT = Path(__file__).with_name("tools")
_MAVEN = BuildRecipe(
    "the copy of Apache Kafka's command line tools",
    "Maven",
    ("mvn", "--quiet", "--batch-mode", "package"),
    ("pom.xml",),
    "target",
    600,
    error_mark="ERROR",
)
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", _QUIET)
_PACKAGE = "org.apache.kafka.tools"
_SECONDS = 300
_NUMBERS = count(1)


def fetched(address: str) -> "Tools":
    """Return the tools against a broker, which they ask once; fetch them if the versions changed.

    Skips where Java 17 or Maven is missing, or Maven Central cannot be reached.
    """
    with skipping_unbuilt():
        java = java_command()
        build(_PROJECT, _MAVEN)
    path = ("-cp", f"{_PROJECT / 'target' / 'lib'}{os.sep}*")

    def run(option: str) -> None:
        Tools((java, *_FLAGS, option, *path), address).groups("--list")

    return Tools((java, *_FLAGS, archived(_PROJECT / "target", run), *path), address)


@attrs.frozen
class Ran:
    """What a tool wrote, and its exit status."""

    status: int
    output: str
    errors: str

    def rows(self) -> list[list[str]]:
        """Return the words of each line that has some."""
        return [line.split() for line in self.output.splitlines() if line.strip()]


@attrs.frozen
class Tools:
    """The tools against the broker at an address."""

    command: tuple[str, ...]
    address: str

    def run(self, tool: str, *arguments: str) -> Ran:
        ran = subprocess.run(
            self._command(tool, arguments),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    @contextmanager
    def running(self, tool: str, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a tool for the block, and then end it as an interrupt of its user would."""
        with subprocess.Popen(
            self._command(tool, arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                yield process
            finally:
                process.terminate()
                process.wait(_SECONDS)

    def topics(self, *arguments: str) -> Ran:
        return self.run("TopicCommand", *arguments)

    def groups(self, *arguments: str) -> Ran:
        return self.run("consumer.group.ShareGroupCommand", *arguments)

    def start_afresh(self, topic: str, group: str) -> tuple[str, str]:
        """Return a topic and a group that nothing used, whichever test is run again."""
        number = next(_NUMBERS)
        names = f"{topic}{number}", f"{group}{number}"
        with clients_of(self.address) as (client,):
            client.admin.configure(
                Resource.GROUP, names[1], EARLIEST
            )  # The default is the end of the log.
        return names

    def fill(self, topic: str, records: int) -> Ran:
        """Create a topic of one partition, and produce to it."""
        assert self.topics("--create", "--topic", topic, "--partitions", "1").status == 0
        many = ("--num-records", str(records), "--record-size", "20", "--throughput", "-1")
        return self.run("ProducerPerformance", "--topic", topic, *many)

    def consume(self, group: str, topic: str, *how: str) -> list[tuple[int, int]]:
        """Return (offset, delivery count) of each record that the console consumer printed."""
        shown = [
            word
            for name in ("print.offset=true", "print.delivery=true", "print.value=false")
            for word in ("--formatter-property", name)
        ]
        asked = ("--group", group, "--topic", topic, *shown, *how)
        ran = self.run("consumer.ConsoleShareConsumer", *asked)
        assert ran.status == 0, ran.errors
        rows = [[word.partition(":")[2] for word in row] for row in ran.rows()]
        assert f"Processed a total of {len(rows)} messages" in ran.errors
        return [(int(offset), int(delivery)) for offset, delivery in rows]

    def offsets(self, group: str) -> list[list[str]]:
        """Return topic, partition, start offset and lag of each row of a description."""
        ran = self.groups("--describe", "--group", group)
        assert ran.status == 0, ran
        if "has no offset information" in ran.output:
            return []
        header, *rows = ran.rows()
        assert header == ["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"], ran
        assert {row[0] for row in rows} == {group}
        return [row[1:] for row in rows]

    def state(self, group: str) -> tuple[str, int]:
        """Return the state and the number of members, or "missing" and 0."""
        ran = self.groups("--describe", "--group", group, "--state")
        if f"Group {group} not found." in ran.output:
            return "missing", 0
        row = ran.rows()[-1]
        assert row[0] == group, ran
        return row[-2], int(row[-1])

    def _command(self, tool: str, arguments: tuple[str, ...]) -> list[str]:
        where = ("--bootstrap-server", self.address)
        return [*self.command, f"{_PACKAGE}.{tool}", *where, *arguments]
