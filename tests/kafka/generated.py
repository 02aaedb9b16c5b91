"""Tests that are generated from deviations, in a project of Maven for one release."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

from conformance.campaign import replayed
from conformance.cores.java_test import JavaCase, java_method
from conformance.cores.kit import CORES
from conformance.known import KnownDeviation
from conformance.releases import NEWEST
from conformance.subjects import TargetChoice, opened
from conformance.target import TargetError

PROJECT = Path(__file__).parent
MAVEN = ("mvn", "--quiet", "--batch-mode")


def methods_of(listed: Iterable[KnownDeviation], version: str) -> dict[str, str]:
    """Return the test of each deviation that the release shows, by its name. Raises TargetError."""
    with opened(TargetChoice("kafka", silence=60, version=version)) as target:
        hello = target.hello()
        shown = [next(replayed(target, hello, [known], CORES)) for known in listed]
        cases = (JavaCase(each.known.name, each.fault) for each in shown if each.fault)
        return dict(java_method(target, CORES, case) for case in cases)


def project_with(folder: Path, version: str, sources: dict[str, str]) -> Path:
    """Write a project for a release with these classes of ``kafka.server.share``; return it."""
    pom = (PROJECT / "pom.xml").read_text()
    (folder / "pom.xml").write_text(pom.replace(f">{NEWEST}<", f">{version}<"))
    package = folder / "src" / "test" / "java" / "kafka" / "server" / "share"
    package.mkdir(parents=True)
    for name, source in sources.items():
        (package / f"{name}.java").write_text(source)
    return folder


def ran(project: Path) -> dict[str, str]:
    """Run the tests of a project; return what failed of each, with its class; empty if nothing.

    Raises TargetError with what Maven says where no test runs.
    """
    command = [*MAVEN, "test"]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, timeout=600, check=False
    )
    reports = [*(project / "target" / "surefire-reports").glob("TEST-*.xml")]
    if not reports:
        said = (line for line in done.stdout.splitlines() if "ERROR" in line)
        raise TargetError(next(said, "Maven ran no test"))
    roots = [ET.parse(report) for report in reports]  # noqa: S314 - our own
    return {_name(case): _failure(case) for root in roots for case in root.iter("testcase")}


def _name(case: ET.Element) -> str:
    return f"{case.attrib['classname'].rpartition('.')[2]}.{case.attrib['name']}"


def _failure(case: ET.Element) -> str:
    """Return the message of the assertion that failed, or all of what else went wrong."""
    if not len(case):
        return ""
    failure = case.find("failure")
    return ET.tostring(case).decode() if failure is None else failure.attrib["message"]
