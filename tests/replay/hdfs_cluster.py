"""A small cluster of HDFS: Hadoop's own, of the version that PySpark has, fetched by Maven."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pyspark

from conformance.build import BuildRecipe, build
from conformance.cores.kafka import java_command
from conformance.target import TargetError
from tests.conformance.unbuilt import skip_unbuilt

_PROJECT = Path(__file__).with_name("hdfs")
_JARS = Path(pyspark.__file__).parent / "jars"
_BRIEF = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_STOP_SECONDS = 120


@attrs.frozen
class Hdfs:
    """A cluster that runs at an address."""

    address: str
    process: "subprocess.Popen[bytes]"

    def put(self, path: Path, name: str) -> str:
        """Copy a file or folder of this machine into the cluster; return its address."""
        self._do("put", str(path), f"/{name}")
        return f"{self.address}/{name}"

    def get(self, name: str, path: Path) -> None:
        """Copy a file or folder of the cluster to this machine."""
        self._do("get", f"/{name}", str(path))

    def _do(self, *words: str) -> None:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write("\t".join(words).encode() + b"\n")
        stdin.flush()
        assert stdout.readline() == b"done\n", words


def _fetched() -> tuple[str, Path]:
    """Return java and the folder of the cluster's jar, or skip the test where neither is."""
    (client,) = _JARS.glob("hadoop-client-api-*.jar")
    version = client.stem.rpartition("-")[2]
    output = f"target/hadoop-{version}"
    command = ("mvn", "--quiet", "--batch-mode", f"-Dhadoop.version={version}", "package")
    needs = "the copy of Hadoop's cluster for tests", "Maven"
    recipe = BuildRecipe(*needs, command, ("pom.xml",), output, 600, error_mark="ERROR")
    try:
        java = java_command()
        build(_PROJECT, recipe)
    except TargetError as error:
        skip_unbuilt(error)
    return java, _PROJECT / output


@contextmanager
def hdfs(folder: Path) -> Iterator[Hdfs]:
    """Start a cluster that keeps its data in a folder, and end it."""
    java, jars = _fetched()
    path = f"{jars}/*:{_JARS}/*"
    command = [java, *_BRIEF, "-cp", path, str(_PROJECT / "Hdfs.java"), str(folder / "hdfs")]
    with (
        (folder / "hdfs.log").open("wb") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = process.stdout.readline().decode().strip()
            assert address.startswith("hdfs://"), (folder / "hdfs.log").read_text()
            yield Hdfs(address, process)
            process.stdin.close()
            process.wait(_STOP_SECONDS)
        finally:
            process.kill()
