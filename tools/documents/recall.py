"""docs/recall.md: the faults that others found, and which of them the search finds by chance."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from itertools import starmap
from typing import Any

from tools.documents.findings import FOLDER

HISTORY = FOLDER.parent / "history.toml"
MEASURED = FOLDER / "recall.json"
"""For each part and fault whether the search and the vectors showed it, by tools.recall."""

PARTS = {
    "leader": "kafka",
    "share coordinator": "kafka-coordinator",
    "group coordinator": "kafka-group-coordinator",
    "Java client": "verify-client kafka",
    "franz-go": "verify-client franz-go",
    "kfake": "kfake",
}
"""The parts that have faults and are measured, each with the name of its target."""


def part_of(fault: Mapping[str, Any]) -> str:
    """Return the part of Apache Kafka that has a fault."""
    part: str = fault.get("part", "leader")
    return part


def total() -> str:
    """Return how many faults there are, and how many of them chance alone finds."""
    measured, faults = _read()
    found = [one["search"] for told in measured.values() for one in told["found"].values()]
    beyond = sum("beyond" in fault for fault in faults)
    rest = len(faults) - len(found) - beyond
    unmeasured = f" and {rest} are not measured yet" if rest else ""
    return (
        f"Of {len(faults)} faults {beyond} are out of reach{unmeasured}. Of the other "
        f"{len(found)} chance alone finds **{sum(found)}**, which is {sum(found)} of all "
        f"{len(faults)}."
    )


def sections() -> str:
    """Return a section for each part, with a table of its faults."""
    return "\n".join(_parts(*_read())).strip()


def _read() -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Return what was measured, and the faults."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    return measured, tomllib.loads(HISTORY.read_text(encoding="utf-8"))["fault"]


def _parts(measured: Mapping[str, Any], faults: list[Mapping[str, Any]]) -> Iterator[str]:
    for part in dict.fromkeys((*PARTS, *map(part_of, faults))):
        its = [fault for fault in faults if part_of(fault) == part]
        told = measured.get(part, {"found": {}})
        summary = _summary(told, len(its)) if part in measured else "Not measured yet."
        heading = part[0].upper() + part[1:]
        yield from (f"## {heading}", "", summary, "", *_table(told, its), "")


def _summary(measured: Mapping[str, Any], listed: int) -> str:
    found = list(measured["found"].values())
    search, both = sum(one["search"] for one in found), sum(any(one.values()) for one in found)
    vectors = f"; with the vectors, which were written by hand, {both}" if both > search else ""
    tried = ", ".join(starmap(_tried, measured.get("tried", {}).items()))
    return (
        f"By chance **{search} of {len(found)}** in reach are found, of {listed} listed{vectors}. "
        f"Measured at {measured['commit']}, {measured['date']}, with {_budget(measured)} "
        f"a release, seed {measured['seed']}.{f' Searched: {tried}.' if tried else ''}"
    )


def _budget(measured: Mapping[str, Any]) -> str:
    seconds = measured.get("seconds")
    return f"{measured['sequences']:,} sequences{f' or {seconds:g} s' if seconds else ''}"


def _tried(release: str, one: Mapping[str, Any]) -> str:
    ended = ", after which it ended" if one["ended"] else ""
    return f"{release} ({one['sequences']:,} in {one['seconds']:,} s{ended})"


def _table(measured: Mapping[str, Any], faults: list[Mapping[str, Any]]) -> Iterator[str]:
    yield "| Fault | Has it | Mended | What happens | By chance | Vectors |"
    yield "|---|---|---|---|---|---|"
    for fault in faults:
        found = measured["found"].get(fault["id"])
        missed = "–" if fault.get("shows") else "– (no rule is about it)"
        ways = ("found" if found[way] else missed for way in ("search", "vectors")) if found else ()
        rest = f"beyond: {fault['beyond']}" if "beyond" in fault else "not measured"
        verdict = " | ".join(ways) or f"{rest} |"
        head = f"| {fault['id']} | {fault['in']} | {fault.get('mended', '–')} | {fault['symptom']}"
        yield f"{head} | {verdict} |"
