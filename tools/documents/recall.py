"""docs/recall.md: the faults that others found, and which of them the search finds by chance."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from tools.documents.findings import FOLDER

HISTORY = FOLDER.parent / "history.toml"
MEASURED = FOLDER / "recall.json"
"""For each part and fault whether the search and the vectors showed it, by tools.recall."""

PARTS = {
    "leader": "kafka",
    "share coordinator": "kafka-coordinator",
    "group coordinator": "kafka-group-coordinator",
}
"""The parts of Apache Kafka that have faults, and the target of ``sharespec verify`` for each."""

_HEAD = """# Recall

How many faults that others found would this project have found? Of each part of Apache Kafka,
`make recall` searches the release that has each fault of [history.toml](history.toml), and the one
that mended it, by chance alone, and plays the test vectors, which the leader of a share-partition
has, on both. A fault is found if the first shows it and the second does not. Faults of other
parts, and of clients, are not measured here yet.
"""


def part_of(fault: Mapping[str, Any]) -> str:
    """Return the part of Apache Kafka that has a fault."""
    part: str = fault.get("part", "leader")
    return part


def document() -> str:
    """Return the whole document."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    faults = tomllib.loads(HISTORY.read_text(encoding="utf-8"))["fault"]
    return "\n".join((_HEAD, *_parts(measured, faults)))


def _parts(measured: Mapping[str, Any], faults: list[Mapping[str, Any]]) -> Iterator[str]:
    for part, told in measured.items():
        its = [fault for fault in faults if part_of(fault) == part]
        yield from (f"## The {part}", "", _summary(told, len(its)), "", *_table(told, its), "")


def _summary(measured: Mapping[str, Any], listed: int) -> str:
    found = list(measured["found"].values())
    search, both = sum(one["search"] for one in found), sum(any(one.values()) for one in found)
    vectors = f"; with the vectors, which were written by hand, {both}" if both > search else ""
    return (
        f"By chance **{search} of {len(found)}** in reach are found, of {listed} listed{vectors}. "
        f"Measured at {measured['commit']}, {measured['date']}, with {measured['sequences']:,} "
        f"sequences a release, seed {measured['seed']}."
    )


def _table(measured: Mapping[str, Any], faults: list[Mapping[str, Any]]) -> Iterator[str]:
    yield "| Fault | Has it | Mended | What happens | By chance | Vectors |"
    yield "|---|---|---|---|---|---|"
    for fault in faults:
        found = measured["found"].get(fault["id"])
        ways = ("found" if found[way] else "–" for way in ("search", "vectors")) if found else ()
        verdict = " | ".join(ways) or f"beyond: {fault['beyond']} |"
        head = f"| {fault['id']} | {fault['in']} | {fault.get('mended', '–')} | {fault['symptom']}"
        yield f"{head} | {verdict} |"
