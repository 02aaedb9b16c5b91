"""``python -m tools.recall``: which faults that others found the search finds by chance."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from conformance.campaign import Fault, Limits, campaign, unknown
from conformance.kit import AnyKit, features_of
from conformance.vectors.play import Played, all_cases, play_vectors
from report.terminal import shown_progress
from tools.documents.recall import HISTORY, MEASURED, PARTS, part_of
from tools.documents.reproduced import commit_now, note, origin
from tools.targets import MeasuredTarget, target_of

SEARCHED = Path(__file__).parents[1] / "build" / "recall"
"""What each release showed, a file for each commit and budget: an interrupted run goes on here."""

_NO = "no "
"""What the name of a step begins with that a sequence must not have."""

_CORE_SHRINK_PLAYS, _CORE_EXAMPLES = 400, 3


def forms_of(kit: AnyKit, faults: Iterable[Fault[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the names, the text, and the steps and settings of each deviation.

    What every sequence of a kit begins with is no step: no entry could do without it.
    """
    for fault in faults:
        deviation = fault.deviation
        names = [deviation.name, deviation.where, ": ".join(deviation.probable_cause)]
        yield {
            "names": names,
            "text": deviation.recorded,
            "with": [
                *features_of(kit, fault.sequence[1 - kit.opening :]),
                *_settings(kit.plain(fault.sequence)),
            ],
            "sequence": kit.plain(fault.sequence, short=True),
        }


def _settings(plain: object) -> list[str]:
    """Return how a script begins, as JSON has it; other sequences have no settings."""
    if not isinstance(plain, dict):
        return []
    return [f"{name} {value}" for name, value in plain.items() if name != "steps"]


def shows(entry: str, forms: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a form is as an entry of docs/history.toml has it, whose head says how."""
    rest, _, needed = entry.partition(" [")
    name, _, words = rest.partition(" saying ")
    features = {*filter(None, needed.removesuffix("]").split(", "))}
    barred = {each.removeprefix(_NO) for each in features if each.startswith(_NO)}
    features = {each for each in features if not each.startswith(_NO)}
    return any(
        name in form["names"]
        and words in form["text"]
        and features <= {*form["with"]}
        and barred.isdisjoint(form["with"])
        for form in forms
    )


def searched(target: MeasuredTarget, version: str, limits: Limits, seed: int) -> dict[str, Any]:
    """Return what a release shows by chance and in vectors, and how many sequences were tried.

    What is known of the usual release is left out, as in a run of the command, and not what a
    release has mended: that is looked for. Raises TargetError if the release cannot be built or
    driven, and Abort if interrupted.
    """
    kit, played = target.kit, Played()
    known = tuple(each for each in target.known if not each.mended)
    passed_over = known if kit.passes_over_known else ()
    label = f"{target.name} {version}"
    with target.opened(version) as opened, shown_progress(Console(stderr=True), label) as say:
        found = campaign(
            opened,
            limits,
            kit,
            seed,
            lambda tried, faults: say(f"{label}: {tried:,} sequences, {faults} deviations"),
            known=passed_over,
        )
        if found.interrupted:
            raise click.Abort
        if kit.plays_vectors:
            played = play_vectors(opened, kit.hello(opened), all_cases())
    if found.failure and not kit.confirmations:
        raise click.ClickException(f"{label}: {found.failure}")
    faults = unknown(found.faults, known) if kit.confirmations else found.faults
    return {
        "search": [*forms_of(kit, faults)],
        "vectors": [*forms_of(kit, played.faults)],
        "sequences": found.sequences,
        "seconds": round(found.seconds),
        "unconfirmed": [*forms_of(kit, found.unconfirmed)],
        "known": found.met,
        "ended": found.failure,
    }


def _is_found(fault: Mapping[str, Any], older: Sequence[Any], newer: Sequence[Any]) -> bool:
    looked_for = fault["shows"]
    return any(shows(each, older) for each in looked_for) and not any(
        shows(each, newer) for each in looked_for
    )


@click.command()
@click.option("--sequences", type=click.IntRange(1), help="Default: as many as verify tries.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    help="Of clients and brokers: how long a search lasts.",
)
@click.option("--seed", default=0, show_default=True)
@click.option("--part", type=click.Choice(list(PARTS)), multiple=True, help="Only this part.")
@click.option("--release", multiple=True, help="Search only this release, and note nothing yet.")
def main(
    *,
    sequences: int | None,
    seconds: float | None,
    seed: int,
    part: tuple[str, ...],
    release: tuple[str, ...],
) -> None:
    """Search every release that has a fault of docs/history.toml, or mended one, and note it.

    What was searched at this commit with this budget is not searched again, so that a run that was
    interrupted goes on.
    """
    listed = [f for f in tomllib.loads(HISTORY.read_text())["fault"] if "shows" in f]
    for each in part or dict.fromkeys(map(part_of, listed)):
        faults = [fault for fault in listed if part_of(fault) == each]
        target = target_of(PARTS[each])
        limits = _limits(target.kit, sequences, seconds)
        needed = sorted({fault[key] for fault in faults for key in ("in", "mended")})
        shown = {
            version: _kept(target, version, limits, seed)
            for version in needed
            if not release or version in release
        }
        if not release:
            note(MEASURED, each, _measured(faults, shown, limits, seed))


def _limits(kit: AnyKit, sequences: int | None, seconds: float | None) -> Limits:
    """Return the budget of a search; in real time that of the command, but for what is given."""
    most = sequences or kit.sequences
    if not kit.confirmations:
        return Limits(inf, most, examples=_CORE_EXAMPLES, shrink_plays=_CORE_SHRINK_PLAYS)
    return Limits(seconds or inf, most, examples=kit.examples, shrink_seconds=kit.shrink_seconds)


def _kept(target: MeasuredTarget, version: str, limits: Limits, seed: int) -> dict[str, Any]:
    """Search a release, unless that was done at this commit with this budget, and keep it."""
    budget = f"{limits.sequences}-{limits.seconds:g}-{seed}"
    path = SEARCHED / f"{target.name.replace(' ', '-')}-{version}-{commit_now()}-{budget}.json"
    if not path.exists():
        one = searched(target, version, limits, seed) | origin()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(one, indent=1) + "\n")
    one = json.loads(path.read_text())
    said = f"{one['sequences']:,} sequences in {one['seconds']} s, {len(one['search'])} forms"
    click.echo(f"{target.name} {version}: {said}{' and ended' if one['ended'] else ''}")
    return dict(one)


def _measured(
    faults: Sequence[Mapping[str, Any]],
    shown: Mapping[str, Mapping[str, Any]],
    limits: Limits,
    seed: int,
) -> dict[str, Any]:
    tried = {
        version: {
            "sequences": one["sequences"],
            "seconds": one["seconds"],
            "ended": bool(one["ended"]),
            "rules": sorted({form["names"][0] for form in one["search"]}),
        }
        for version, one in shown.items()
    }
    return {
        "commit": commit_now(),
        "date": max(one["date"] for one in shown.values()),
        "sequences": limits.sequences,
        "seconds": None if limits.seconds == inf else limits.seconds,
        "seed": seed,
        "tried": tried,
        "found": {
            fault["id"]: {
                way: _is_found(fault, shown[fault["in"]][way], shown[fault["mended"]][way])
                for way in ("search", "vectors")
            }
            for fault in faults
        },
    }


if __name__ == "__main__":
    main(prog_name="python -m tools.recall")
