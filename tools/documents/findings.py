"""The tables of findings: each fault, its implementation and version, and when it last showed."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

import attrs

from conformance.known import KnownDeviation, read_known
from conformance.releases import NEWEST, RELEASES
from conformance.subjects import Subject

FOLDER = Path(__file__).parents[2] / "docs" / "findings"
RELEASES_MEASURED = FOLDER / "releases.json"
"""For each target and release the commit, date and verdict on each deviation, by tools.versions."""
REPRODUCED = FOLDER / "reproduced.json"
"""For each target and finding the commit and the date (ISO 8601) at which it last showed."""


@attrs.frozen
class Page:
    """The page with a target's findings, and the implementation and version they are of."""

    name: str
    implementation: str


PAGES = {
    "kafka": Page("apache-kafka.md", "Apache Kafka 4.4.0, `SharePartition`"),
    "kafka-coordinator": Page(
        "share-coordinator.md", "Apache Kafka 4.4.0, `ShareCoordinatorShard`"
    ),
    "kafka-broker": Page("kafka-broker.md", "Apache Kafka 4.4.0, a broker"),
    "librdkafka-mock": Page("librdkafka-mock.md", "librdkafka 2.16.0, mock cluster"),
    "kfake": Page("kfake.md", "kfake v0.0.0-20260918054303"),
    "crabka": Page("crabka.md", "crabka-broker 0.3.8"),
    "crabka-core": Page("crabka.md", "crabka-broker 0.3.8, `AcquisitionState`"),
}
"""Each target with findings."""


CLUSTER = "cluster"
"""The name of the faults between the parts of a cluster in ``REPRODUCED``, and of their page."""

_FAULT = re.compile(
    r"^## (.+)\n\nA fault in Apache Kafka(?:'s client)?, (.+?)\. (?s:.+?)\n    (mvn .+=(.+))$",
    re.MULTILINE,
)


def cluster_faults() -> list[tuple[str, ...]]:
    """Return title, classes, command and tests of each fault that is on the page, in its order."""
    return _FAULT.findall((FOLDER / f"{CLUSTER}.md").read_text(encoding="utf-8"))


def known_of(target: str) -> tuple[KnownDeviation, ...]:
    """Return the known deviations of a target."""
    subject = Subject(target)
    return () if subject.known is None else read_known(subject.known, subject.kit.read)


def _reproduced() -> Mapping[str, Mapping[str, Any]]:
    return json.loads(REPRODUCED.read_text(encoding="utf-8"))  # type: ignore[no-any-return] # as REPRODUCED says


def findings_table() -> str:
    """Return a Markdown table with a row for each known deviation of each target."""
    head = "| Deviation | Implementation | Verdict | Last reproduced | Command |"
    return "\n".join((head, "|---|---|---|---|---|", *_rows(_reproduced())))


def _rows(reproduced: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for title, classes, command, tests in cluster_faults():
        last = f"A fault in Apache Kafka. | {_when(reproduced[CLUSTER].get(tests))}"
        yield f"| {title} | Apache Kafka 4.4.0, {classes} | {last} | `{command}` |"
    for target, page in PAGES.items():
        for known in known_of(target):
            last = _when(reproduced.get(target, {}).get(known.name))
            command = f"`sharespec verify {target} --only {known.name}`"
            what = _implementation(target, page, known)
            yield f"| {known.title} | {what} | {known.reason} | {last} | {command} |"


def track_record() -> str:
    """Return a Markdown table with a row for each fault of Apache Kafka, and one for other targets.

    A deviation that another one causes too, or that is no fault, is not counted.
    """
    reproduced = _reproduced()
    lines = ["| Fault | Version | Last reproduced |", "|---|---|---|"]
    for title, classes, _, tests in cluster_faults():
        version = f"Apache Kafka 4.4.0, {classes} | {_when(reproduced[CLUSTER].get(tests))}"
        lines.append(f"| [{title}](docs/findings/{CLUSTER}.md) | {version} |")
    for target, page in PAGES.items():
        faults = [known for known in known_of(target) if known.reason.startswith("A fault in")]
        link = f"docs/findings/{page.name}"
        if "Apache Kafka" not in page.implementation:
            dates = [reproduced.get(target, {}).get(known.name) for known in faults]
            oldest = min(filter(None, dates), key=lambda last: last["date"], default=None)
            last = _when(oldest if all(dates) else None)
            lines.append(f"| [{len(faults)} faults]({link}) | {page.implementation} | {last} |")
            continue
        for known in faults:
            if ", the same as" not in known.reason:
                last = _when(reproduced.get(target, {}).get(known.name))
                what = _implementation(target, page, known)
                lines.append(f"| [{known.title}]({link}) | {what} | {last} |")
    return "\n".join(lines)


def _implementation(target: str, page: Page, known: KnownDeviation) -> str:
    """Return the implementation, with the oldest release from which on each shows a deviation."""
    measured = json.loads(RELEASES_MEASURED.read_text(encoding="utf-8")).get(target)
    if measured is None:
        return page.implementation
    verdicts = ((release, measured[release]["deviations"]) for release in reversed(RELEASES))
    showing = takewhile(lambda one: one[1].get(known.name) == "shows", verdicts)
    oldest = [NEWEST, *(release for release, _ in showing)][-1]
    since = "" if oldest == NEWEST else f"{oldest} to "
    return page.implementation.replace(NEWEST, f"{since}{NEWEST}")


def _when(last: Mapping[str, str] | None) -> str:
    return "–" if last is None else f"{last['commit']}, {last['date']}"
