"""Tests that are generated from deviations, in a project of Maven for one release."""

import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import attrs

from conformance.campaign import Limits, campaign, replayed
from conformance.java import JavaCase, NoTestError
from conformance.known import KnownDeviation
from conformance.releases import NEWEST
from conformance.subjects import TargetChoice, opened
from conformance.target import TargetError

PROJECT = Path(__file__).parent
MAVEN = ("mvn", "--quiet", "--batch-mode")


def methods_of(
    subject: TargetChoice, listed: Iterable[KnownDeviation]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the test of each deviation that a release shows, by its name; and why there is none.

    Raises TargetError.
    """
    kit, java = subject.kit, subject.java
    assert java
    methods: dict[str, str] = {}
    refused: dict[str, str] = {}
    with opened(attrs.evolve(subject, silence=60)) as target:
        shown = list(replayed(target, target.hello(), tuple(listed), kit))
        for case in (JavaCase(each.known.name, each.fault) for each in shown if each.fault):
            try:
                name, method = java.method(target, kit, case)
            except NoTestError as error:
                refused[case.name] = str(error)
            else:
                methods[name] = method
    return methods, refused


def planted(
    subject: TargetChoice, doubles: Mapping[str, Any], sequences: int = 1
) -> dict[str, str]:
    """Return the tests of what the first search of each double shows that has some, by their names.

    A search has so many sequences; there are 60 at most.
    """
    kit, java = subject.kit, subject.java
    assert java
    methods: dict[str, str] = {}
    limits = Limits(sequences=sequences, examples=1, shrink_plays=300)
    for name, target in doubles.items():
        before = len(methods)
        for seed in range(60 // sequences):
            for fault in campaign(target, limits, kit, seed).faults:
                with suppress(NoTestError):
                    methods |= [java.method(target, kit, JavaCase(name, fault), methods)]
            if len(methods) > before:
                break
    return methods


def project_with(folder: Path, version: str, sources: dict[str, str]) -> Path:
    """Write a project for a release with these classes; return it."""
    pom = (PROJECT / "pom.xml").read_text()
    (folder / "pom.xml").write_text(pom.replace(f">{NEWEST}<", f">{version}<"))
    for name, source in sources.items():
        package = source.partition(";")[0].removeprefix("package ").split(".")
        path = folder.joinpath("src", "test", "java", *package, f"{name}.java")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
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
