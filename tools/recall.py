"""``python -m tools.recall``: which faults that others found the search finds by chance."""

import json
import tomllib
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import click

from conformance.campaign import Fault, Limits, campaign
from conformance.cores.kafka import kafka_target
from conformance.cores.kit import CORES
from conformance.vectors.play import all_cases, play_vectors
from tools.documents.recall import HISTORY, MEASURED
from tools.documents.reproduced import commit_now


def shown_by(faults: Iterable[Fault[Any]]) -> set[str]:
    """Return the rule with its operation, and the probable cause, of each deviation."""
    deviations = [fault.deviation for fault in faults]
    causes = {": ".join(deviation.probable_cause) for deviation in deviations}
    return causes | {deviation.where for deviation in deviations}


def searched(version: str, limits: Limits, seed: int) -> tuple[tuple[set[str], set[str]], int]:
    """Return what a release shows by chance and in vectors, and how many sequences were tried.

    Raises TargetError if the release cannot be built or driven.
    """
    with closing(kafka_target(60, version=version)) as target:
        found = campaign(target, limits, CORES, seed)
        if found.failure:
            raise click.ClickException(f"{version}: {found.failure}")
        played = play_vectors(target, target.hello(), all_cases())
    return (shown_by(found.faults), shown_by(played.faults)), found.sequences


def _is_found(fault: dict[str, Any], older: set[str], newer: set[str]) -> bool:
    looked_for = set(fault["shows"])
    return bool(looked_for & older) and not looked_for & newer


@click.command()
@click.option("--sequences", type=click.IntRange(1), default=3000, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(sequences: int, seed: int) -> None:
    """Search every release that has a fault of docs/history.toml, or mended one, and note it."""
    listed = [f for f in tomllib.loads(HISTORY.read_text())["fault"] if "shows" in f]
    limits = Limits(seconds=float("inf"), sequences=sequences, examples=3, shrink_seconds=2)
    shown = {}
    for version in sorted({fault[name] for fault in listed for name in ("in", "mended")}):
        shown[version], tried = searched(version, limits, seed)
        click.echo(f"{version}: {tried:,} sequences, {len(shown[version][0])} forms")
    verdicts = {
        fault["id"]: {
            way: _is_found(fault, shown[fault["in"]][n], shown[fault["mended"]][n])
            for n, way in enumerate(("search", "vectors"))
        }
        for fault in listed
    }
    date = datetime.now(UTC).date().isoformat()
    head = {"commit": commit_now(), "date": date, "sequences": sequences, "seed": seed}
    MEASURED.write_text(json.dumps({**head, "found": verdicts}, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(prog_name="python -m tools.recall")
