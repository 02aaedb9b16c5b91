"""docs/versions.md: each known deviation of Apache Kafka's own classes, and its releases."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.releases import RELEASES
from tools.documents.findings import RELEASES_MEASURED, known_of

_SIGNS = {"shows": "●", "does not show": "–"}

_HEAD = """# Releases of Apache Kafka

`sharespec verify TARGET --version X.Y.Z` verifies the class of a release. `make versions`
plays the sequence of each known deviation on every release and writes these tables: ● shows it,
– does not, as it lacks the fault or another one ends the sequence, ○ lacks what the sequence needs,
such as a dead-letter queue.
"""


def document() -> str:
    """Return the whole document."""
    measured = json.loads(RELEASES_MEASURED.read_text(encoding="utf-8"))
    parts = ((f"## {name}", "", *_table(name, its), "", *_dates(its), "")
             for name, its in measured.items())  # fmt: skip
    return "\n".join((_HEAD, *(line for part in parts for line in part)))


def _table(name: str, measured: Mapping[str, Any]) -> Iterator[str]:
    listed = [release for release in RELEASES if release in measured]
    yield "| Deviation | " + " | ".join(listed) + " |"
    yield "|---|" + ":-:|" * len(listed)
    for known in known_of(name):
        verdicts = [measured[release]["deviations"].get(known.name, "") for release in listed]
        signs = [_SIGNS.get(verdict, "○") for verdict in verdicts]
        yield f"| `{known.name}`: {known.title} | " + " | ".join(signs) + " |"


def _dates(measured: Mapping[str, Any]) -> Iterator[str]:
    yield "| Release | Deviations that show | Cannot be tried | Measured |"
    yield "|---|--:|--:|---|"
    for release in filter(measured.__contains__, RELEASES):
        one = measured[release]
        verdicts = list(one["deviations"].values())
        cannot = sum(verdict not in _SIGNS for verdict in verdicts)
        when = f"{one['commit']}, {one['date']}"
        yield f"| {release} | {verdicts.count('shows')} | {cannot} | {when} |"
