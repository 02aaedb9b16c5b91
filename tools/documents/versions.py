"""docs/versions.md: each known deviation of classes, brokers and clients, and its releases."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tools.documents.findings import RELEASES_MEASURED
from tools.targets import MeasuredTarget, target_of

_SIGNS = {"shows": "●", "does not show": "–"}


def sections() -> str:
    """Return a section for each target."""
    measured = json.loads(RELEASES_MEASURED.read_text(encoding="utf-8"))
    parts = (_part(target_of(name), its) for name, its in measured.items())
    return "\n".join(line for part in parts for line in part).strip()


def _part(target: MeasuredTarget, measured: Mapping[str, Any]) -> Iterator[str]:
    listed = [release for release in target.releases if release in measured]
    yield from (f"## {target.name}", "")
    yield "| Deviation | " + " | ".join(listed) + " |"
    yield "|---|" + ":-:|" * len(listed)
    for known in target.known:
        verdicts = [measured[release]["deviations"].get(known.name, "") for release in listed]
        signs = [_SIGNS.get(verdict, "○") for verdict in verdicts]
        yield f"| `{known.name}`: {known.title} | " + " | ".join(signs) + " |"
    yield from ("", "| Release | Deviations that show | Cannot be tried | Measured |")
    yield "|---|--:|--:|---|"
    for release in listed:
        one = measured[release]
        verdicts = list(one["deviations"].values())
        cannot = sum(verdict not in _SIGNS for verdict in verdicts)
        when = f"{one['commit']}, {one['date']}"
        yield f"| {release} | {verdicts.count('shows')} | {cannot} | {when} |"
    yield ""
