"""``python -m tools.versions``: which known deviations each release of Apache Kafka shows."""

import json
from contextlib import closing
from datetime import UTC, datetime

import click

from conformance.campaign import replayed
from conformance.cores.kafka import KNOWN, kafka_target
from conformance.cores.kit import CORES
from conformance.known import KnownDeviation, read_known
from conformance.releases import RELEASES
from conformance.vectors.play import in_mode_of, lacking
from tools.documents.findings import RELEASES_MEASURED
from tools.documents.reproduced import commit_now


def verdicts(version: str, listed: tuple[KnownDeviation, ...]) -> dict[str, str]:
    """Return of each deviation whether the release shows it, or why it cannot be tried.

    Raises TargetError if the release cannot be built or driven.
    """
    found = {}
    with closing(kafka_target(60, version=version)) as target:
        hello = target.hello()
        for known in listed:
            sequence = in_mode_of(hello, known.sequence)
            if reason := lacking(hello, sequence):
                found[known.name] = reason
                continue
            (again,) = replayed(target, hello, (known,), CORES)
            found[known.name] = "shows" if again.fault else "does not show"
    return found


@click.command()
@click.argument("versions", nargs=-1, type=click.Choice(RELEASES))
def main(versions: tuple[str, ...]) -> None:
    """Play the sequence of each known deviation on the releases, all by default, and note it."""
    listed = read_known(KNOWN, CORES.read)
    measured = json.loads(RELEASES_MEASURED.read_text()) if RELEASES_MEASURED.exists() else {}
    for version in versions or RELEASES:
        found = verdicts(version, listed)
        date = datetime.now(UTC).date().isoformat()
        measured[version] = {"commit": commit_now(), "date": date, "deviations": found}
        RELEASES_MEASURED.write_text(json.dumps(measured, indent=1, sort_keys=True) + "\n")
        count = list(found.values()).count("shows")
        click.echo(f"{version}: {count} of {len(found)} known deviations show")


if __name__ == "__main__":
    main(prog_name="python -m tools.versions")
