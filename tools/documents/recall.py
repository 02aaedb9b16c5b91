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

_HEAD = """# Recall

How many faults that others found would this project have found? [history.toml](history.toml) lists
faults of Apache Kafka's parts and clients, of franz-go and of kfake that their projects mended. Of
each part that is measured, `make recall` searches the release that has a fault, and the one that
mended it, by chance alone, and plays the test vectors, which the leader of a share-partition has,
on both. A fault is found if the first shows it and the second does not: the rule that it breaks,
and of clients the steps or the words that tell it from others. What no rule is about counts as not
found. Known violations of a client are passed over, as by `verify-client`. An interrupted run
loses no release that was searched: `build/recall` keeps them, and the next run at the same commit
with the same budget goes on with the others.
"""


def part_of(fault: Mapping[str, Any]) -> str:
    """Return the part of Apache Kafka that has a fault."""
    part: str = fault.get("part", "leader")
    return part


def document() -> str:
    """Return the whole document."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    faults = tomllib.loads(HISTORY.read_text(encoding="utf-8"))["fault"]
    return "\n".join((_HEAD, _whole(measured, faults), "", *_parts(measured, faults)))


def _whole(measured: Mapping[str, Any], faults: list[Mapping[str, Any]]) -> str:
    found = [one["search"] for told in measured.values() for one in told["found"].values()]
    beyond = sum("beyond" in fault for fault in faults)
    rest = len(faults) - len(found) - beyond
    unmeasured = f" and {rest} are not measured yet" if rest else ""
    return (
        f"Of {len(faults)} faults {beyond} are out of reach{unmeasured}. Of the other "
        f"{len(found)} chance alone finds **{sum(found)}**, which is {sum(found)} of all "
        f"{len(faults)}."
    )


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
