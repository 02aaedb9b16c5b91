"""``python -m tools.recall``: which faults that others found the search finds by chance."""

import json
import tomllib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import click

from conformance.campaign import Fault, Limits, campaign
from conformance.subjects import Subject, opened
from conformance.vectors.play import Played, all_cases, play_vectors
from tools.documents.recall import HISTORY, MEASURED, PARTS, part_of
from tools.documents.reproduced import commit_now


def shown_by(faults: Iterable[Fault[Any]]) -> set[str]:
    """Return the rule with its operation, and the probable cause, of each deviation."""
    deviations = [fault.deviation for fault in faults]
    causes = {": ".join(deviation.probable_cause) for deviation in deviations}
    return causes | {deviation.where for deviation in deviations}


def searched(
    name: str, version: str, limits: Limits, seed: int
) -> tuple[tuple[set[str], set[str]], int]:
    """Return what a release of a target shows by chance and in vectors, and how many were tried.

    Raises TargetError if the release cannot be built or driven.
    """
    subject = Subject(name, silence=60, version=version)
    with opened(subject) as target:
        found = campaign(target, limits, subject.kit, seed)
        if found.failure:
            raise click.ClickException(f"{name} {version}: {found.failure}")
        played = Played()
        if subject.kit.plays_vectors:
            played = play_vectors(target, target.hello(), all_cases())
    return (shown_by(found.faults), shown_by(played.faults)), found.sequences


def _is_found(fault: dict[str, Any], older: set[str], newer: set[str]) -> bool:
    looked_for = set(fault["shows"])
    return bool(looked_for & older) and not looked_for & newer


@click.command()
@click.option("--sequences", type=click.IntRange(1), help="Default: as many as verify tries.")
@click.option("--seed", default=0, show_default=True)
@click.option("--part", type=click.Choice(list(PARTS)), multiple=True, help="Only this part.")
def main(sequences: int | None, seed: int, part: tuple[str, ...]) -> None:
    """Search every release that has a fault of docs/history.toml, or mended one, and note it."""
    listed = [f for f in tomllib.loads(HISTORY.read_text())["fault"] if "shows" in f]
    measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    for each in part or dict.fromkeys(map(part_of, listed)):
        faults = [fault for fault in listed if part_of(fault) == each]
        most = sequences or Subject(PARTS[each]).kit.sequences
        measured[each] = {
            "commit": commit_now(),
            "date": datetime.now(UTC).date().isoformat(),
            "sequences": most,
            "seed": seed,
            "found": _measured(PARTS[each], faults, most, seed),
        }
    MEASURED.write_text(json.dumps(measured, indent=1, sort_keys=True) + "\n")


def _measured(
    name: str, faults: list[dict[str, Any]], sequences: int, seed: int
) -> dict[str, dict[str, bool]]:
    limits = Limits(seconds=float("inf"), sequences=sequences, examples=3, shrink_seconds=2)
    shown = {}
    for version in sorted({fault[key] for fault in faults for key in ("in", "mended")}):
        shown[version], tried = searched(name, version, limits, seed)
        click.echo(f"{name} {version}: {tried:,} sequences, {len(shown[version][0])} forms")
    return {
        fault["id"]: {
            way: _is_found(fault, shown[fault["in"]][n], shown[fault["mended"]][n])
            for n, way in enumerate(("search", "vectors"))
        }
        for fault in faults
    }


if __name__ == "__main__":
    main(prog_name="python -m tools.recall")
