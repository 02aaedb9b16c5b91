"""Apache Kafka's own share-partition as an implementation under test, built on demand."""

import os
import shutil
import subprocess
from pathlib import Path

from conformance.cores.process import ProcessTarget
from conformance.target import TargetError

__all__ = ["KNOWN", "kafka_java", "kafka_target"]

_PROJECT = Path(__file__).parents[1] / "targets" / "kafka"
KNOWN = _PROJECT / "known.toml"
"""What is known of Apache Kafka's share-partition."""

_BUILD_SECONDS = 600


def kafka_target(seconds: float, project: Path = _PROJECT) -> ProcessTarget:
    """Build the driver if its sources are newer than what was built, and start it.

    Raises TargetError if Java 17 or Maven are missing or Maven Central cannot be reached.
    """
    flags = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    java, path = kafka_java(project)
    return ProcessTarget(f"{java} {flags} -cp '{path}' kafka.server.share.Driver", seconds)


def kafka_java(project: Path = _PROJECT) -> tuple[str, str]:
    """Return the command for Java, and the class path, which is built if that is needed.

    Raises TargetError as ``kafka_target`` does.
    """
    java = os.environ.get("JAVA_HOME")
    command = str(Path(java, "bin", "java")) if java else "java"
    if shutil.which(command) is None:
        raise TargetError("Apache Kafka needs Java 17 or newer: there is no java on the path")
    classes = project / "target" / "classes"
    sources = [project / "pom.xml", *project.rglob("src/**/*.*")]
    newest = max(source.stat().st_mtime for source in sources)
    stamp = project / "target" / "built"
    if not stamp.exists() or stamp.stat().st_mtime < newest:
        _build(project)
        stamp.touch()
    return command, f"{classes}{os.pathsep}{project / 'target' / 'lib' / '*'}"


def _build(project: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise TargetError("building the driver for Apache Kafka needs Maven: no mvn on the path")
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            [maven, "--quiet", "--batch-mode", "package"],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=_BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"Maven was not done after {_BUILD_SECONDS} s") from None
    if done.returncode:
        said = next((li for li in done.stdout.splitlines() if "ERROR" in li), done.stdout[-300:])
        raise TargetError(f"Maven could not build the driver: {said[:500]}")
