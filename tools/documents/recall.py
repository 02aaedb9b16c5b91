"""docs/recall.md: the faults that others found, and which of them the search finds by chance."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from tools.documents.findings import FOLDER

HISTORY = FOLDER.parent / "history.toml"
MEASURED = FOLDER / "recall.json"
"""For each fault whether the search and the vectors showed it, by tools.recall."""

_HEAD = """# Recall

How many faults that others found would this project have found? Of the leader of a
share-partition in Apache Kafka, `make recall` searches the release that has each fault of
[history.toml](history.toml), and the one that mended it, by chance alone, and plays the test
vectors on both. A fault is found if the first shows it and the second does not. Faults of other
parts, and of clients, are not measured here yet.
"""


def document() -> str:
    """Return the whole document."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    faults = tomllib.loads(HISTORY.read_text(encoding="utf-8"))["fault"]
    return "\n".join((_HEAD, _summary(measured, len(faults)), "", *_table(measured, faults), ""))


def _summary(measured: Mapping[str, Any], listed: int) -> str:
    found = list(measured["found"].values())
    search, both = sum(one["search"] for one in found), sum(any(one.values()) for one in found)
    return (
        f"By chance **{search} of {len(found)}** in reach are found, of {listed} listed; with the "
        f"vectors, which were written by hand, {both}. Measured at {measured['commit']}, "
        f"{measured['date']}, with {measured['sequences']:,} sequences a release, seed "
        f"{measured['seed']}."
    )


def _table(measured: Mapping[str, Any], faults: list[Mapping[str, Any]]) -> Iterator[str]:
    yield "| Fault | Has it | Mended | What happens | By chance | Vectors |"
    yield "|---|---|---|---|---|---|"
    for fault in faults:
        found = measured["found"].get(fault["id"])
        ways = ("found" if found[way] else "–" for way in ("search", "vectors")) if found else ()
        verdict = " | ".join(ways) or f"beyond: {fault['beyond']} |"
        head = f"| {fault['id']} | {fault['in']} | {fault['mended']} | {fault['symptom']}"
        yield f"{head} | {verdict} |"
