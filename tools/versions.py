"""``python -m tools.versions``: which known deviations each release of Apache Kafka shows."""

import json
from datetime import UTC, datetime
from itertools import product

import click

from conformance.campaign import replayed
from conformance.kit import AnyKit
from conformance.known import KnownDeviation
from conformance.releases import RELEASES
from conformance.subjects import VERSIONED, Subject, opened
from tools.documents.findings import RELEASES_MEASURED, known_of
from tools.documents.reproduced import commit_now


def verdicts(subject: Subject, listed: tuple[KnownDeviation, ...], kit: AnyKit) -> dict[str, str]:
    """Return of each deviation whether the release shows it, or why it cannot be tried.

    Raises TargetError if the release cannot be built or driven.
    """
    found = {}
    with opened(subject) as target:
        hello = kit.hello(target)
        for known in listed:
            if reason := kit.lacking(hello, known.sequence):
                found[known.name] = reason
                continue
            (again,) = replayed(target, hello, (known,), kit)
            found[known.name] = "shows" if again.fault else "does not show"
    return found


@click.command()
@click.argument("versions", nargs=-1, type=click.Choice(RELEASES))
@click.option("--target", "names", type=click.Choice(VERSIONED), multiple=True, default=VERSIONED)
def main(versions: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Play the sequence of each known deviation on the releases, all by default, and note it."""
    measured = json.loads(RELEASES_MEASURED.read_text()) if RELEASES_MEASURED.exists() else {}
    for name, version in product(names, versions or RELEASES):
        subject = Subject(name, silence=60, version=version)
        found = verdicts(subject, known_of(name), subject.kit)
        date = datetime.now(UTC).date().isoformat()
        row = {"commit": commit_now(), "date": date, "deviations": found}
        measured.setdefault(name, {})[version] = row
        RELEASES_MEASURED.write_text(json.dumps(measured, indent=1, sort_keys=True) + "\n")
        count = list(found.values()).count("shows")
        click.echo(f"{name} {version}: {count} of {len(found)} known deviations show")


if __name__ == "__main__":
    main(prog_name="python -m tools.versions")
