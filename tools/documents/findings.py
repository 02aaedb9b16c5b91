"""The tables of findings: each fault, its implementation and version, and when it last showed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import attrs

from conformance.known import LOSSES, KnownDeviation
from conformance.releases import NEWEST, RELEASES
from report import markdown
from tools.targets import target_of

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
    "kafka-group-coordinator": Page(
        "group-coordinator.md", "Apache Kafka 4.4.0, `GroupMetadataManager`"
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
    r"^## (.+)\n\nA fault in Apache Kafka(?:'s client)?, (.+?)\. \*\*(.+?)\*\*"
    r"(?s:.+?)\n    ((?:mvn .+=|pytest -m broker |sharespec simulate kafka )(.+))$",
    re.MULTILINE,
)


def cluster_faults() -> list[tuple[str, ...]]:
    """Return title, implementation, loss, command and tests of each fault on the page.

    The implementation has the releases of which the page's table says that the fault shows.
    """
    page = (FOLDER / f"{CLUSTER}.md").read_text(encoding="utf-8")
    return [
        (title, f"Apache Kafka {_since(page, title)}{NEWEST}, {classes}", *rest)
        for title, classes, *rest in _FAULT.findall(page)
    ]


def _since(page: str, title: str) -> str:
    """Return the oldest release from which on a fault shows, and "to"; nothing for the newest."""
    anchor = re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
    (head,) = re.findall(r"^\| Released \| (.+) \|$", page, re.MULTILINE)
    (row,) = re.findall(rf"^\| \[[^]]+\]\(#{anchor}\) \| (.+) \|$", page, re.MULTILINE)
    cells = reversed([*zip(head.split(" | "), row.split(" | "), strict=True)])
    oldest = NEWEST
    for releases, cell in takewhile(lambda one: "fails" in one[1], cells):
        named = re.findall(r"[\d.]+\d", cell.partition(";")[0])
        oldest = min(named or releases.split(", "))
    return "" if oldest == NEWEST else f"{oldest} to "


def known_of(target: str) -> tuple[KnownDeviation, ...]:
    """Return the known deviations of a target."""
    return target_of(target).known


def _reproduced() -> Mapping[str, Mapping[str, Any]]:
    return json.loads(REPRODUCED.read_text(encoding="utf-8"))  # type: ignore[no-any-return] # as REPRODUCED says


def findings_table() -> str:
    """Return a Markdown table with a row for each known deviation of each target."""
    columns = "Deviation", "Implementation", "Verdict", "Last reproduced", "Command"
    return markdown.table(columns, _rows(_reproduced()))


def _rows(reproduced: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for title, what, _, command, tests in cluster_faults():
        last = _when(reproduced[CLUSTER].get(tests))
        yield title, what, "A fault in Apache Kafka.", last, f"`{command}`"
    for target, page in PAGES.items():
        for known in known_of(target):
            last = _when(reproduced.get(target, {}).get(known.name))
            command = f"`sharespec verify {target} --only {known.name}`"
            what = _implementation(target, page, known)
            yield known.title, what, known.reason, last, command


def track_record() -> str:
    """Return a Markdown table with a row for each fault of Apache Kafka, and one for other targets.

    First what loses records, as ``LOSSES`` has it. A deviation that another one causes too, or that
    is no fault, is not counted.
    """
    reproduced = _reproduced()
    rows = [
        (loss.lower(), title, f"{CLUSTER}.md", what, last)
        for title, what, loss, _, tests in cluster_faults()
        for last in (_when(reproduced[CLUSTER].get(tests)),)
    ]
    for target, page in PAGES.items():
        faults = [known for known in known_of(target) if known.reason.startswith("A fault in")]
        dates = reproduced.get(target, {})
        if "Apache Kafka" not in page.implementation:
            rows.append(_together(faults, page, [dates.get(known.name) for known in faults]))
            continue
        for known in faults:
            if ", the same as" not in known.reason:
                what = _implementation(target, page, known)
                rows.append(
                    (known.loses, known.title, page.name, what, _when(dates.get(known.name)))
                )
    rows.sort(key=lambda row: LOSSES.index(row[0].partition(" (")[0]))
    texts = (
        (f"[{title}](docs/findings/{name})", loss, what, last)
        for loss, title, name, what, last in rows
    )
    return markdown.table(("Fault", "A user's loss", "Version", "Last reproduced"), texts)


def _together(
    faults: Sequence[KnownDeviation], page: Page, dates: Sequence[Mapping[str, str] | None]
) -> tuple[str, str, str, str, str]:
    """Return one row for all faults of a target: by the worst loss, and when all showed last."""
    counts = [(loss, sum(known.loses == loss for known in faults)) for loss in LOSSES]
    (worst, first), *others = ((loss, count) for loss, count in counts if count)
    rest = "".join(f", {loss} ({count})" for loss, count in others)
    oldest = min(filter(None, dates), key=lambda last: last["date"], default=None)
    last = _when(oldest if all(dates) else None)
    return f"{worst} ({first}){rest}", f"{len(faults)} faults", page.name, page.implementation, last


def _implementation(target: str, page: Page, known: KnownDeviation) -> str:
    """Return the implementation, with the oldest release from which on each shows a deviation."""
    measured = json.loads(RELEASES_MEASURED.read_text(encoding="utf-8")).get(target)
    if measured is None:
        return page.implementation
    rows = ((release, measured.get(release, {})) for release in reversed(RELEASES))
    verdicts = ((release, row.get("deviations", {})) for release, row in rows)
    showing = takewhile(lambda one: one[1].get(known.name) == "shows", verdicts)
    oldest = [NEWEST, *(release for release, _ in showing)][-1]
    since = "" if oldest == NEWEST else f"{oldest} to "
    return page.implementation.replace(NEWEST, f"{since}{NEWEST}")


def _when(last: Mapping[str, str] | None) -> str:
    return "–" if last is None else f"{last['commit']}, {last['date']}"
