"""Apache Kafka's own share-partition as a target, built when its driver changed."""

import os
import shutil
from pathlib import Path

from conformance.build import build, maven_recipe
from conformance.cores.process import ProcessTarget
from conformance.cores.protocol import DriverTarget
from conformance.cores.target import K
from conformance.releases import NEWEST, check_release, for_release
from conformance.target import TargetError

_PROJECT = Path(__file__).parents[1] / "targets" / "kafka"
KNOWN = _PROJECT / "known.toml"
"""The known deviations of Apache Kafka's share-partition."""

_RECORDER = Path(__file__).parents[2] / "recorder"

_SOURCES = ("pom.xml", "src/**/*.*")


def kafka_driver(
    main: str, kind: type[K], seconds: float, project: Path = _PROJECT, version: str = NEWEST
) -> DriverTarget[K]:
    """Start a driver of a release, and build it first if a source is newer than the last build.

    ``main`` is its class, ``kind`` that of its capabilities. Raises TargetError if there is no such
    release, Java 17 or Maven is missing, or Maven Central cannot be reached.
    """
    flags = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    java, path = kafka_java(project, version)
    command = f"{java} {flags} -cp '{path}' kafka.server.share.{main}"
    return DriverTarget(ProcessTarget(command, seconds), kind)


def kafka_java(project: Path = _PROJECT, version: str = NEWEST) -> tuple[str, str]:
    """Return the command for Java and the class path; build as ``kafka_driver`` does.

    Raises TargetError as ``kafka_driver`` does.
    """
    check_release(version)
    command = java_command()
    older = "" if version == NEWEST else f" {version}"
    recipe = maven_recipe(f"the driver for Apache Kafka{older}", sources=_SOURCES)
    project = build(project, recipe, for_release(project, version) if older else None)
    classes = project / "target" / "classes"
    return command, f"{classes}{os.pathsep}{project / 'target' / 'lib' / '*'}"


def recorder_jar() -> Path:
    """Return the recorder of share-partitions, an agent for Java; build as ``kafka_driver`` does.

    Raises TargetError as ``kafka_driver`` does.
    """
    recipe = maven_recipe("the recorder", sources=_SOURCES)
    return build(_RECORDER, recipe) / "target" / "sharespec-recorder.jar"


def java_command() -> str:
    """Return the command for Java: that of JAVA_HOME, else the one on the path.

    Raises TargetError if there is none.
    """
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else "java"
    if shutil.which(command) is None:
        raise TargetError("Apache Kafka needs Java 17 or newer: there is no java on the path")
    return command
