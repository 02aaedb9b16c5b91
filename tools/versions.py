"""``python -m tools.versions``: which known deviations each release of a target shows."""

import click

from conformance.campaign import replayed
from conformance.target import TargetError
from tools.documents.findings import RELEASES_MEASURED
from tools.documents.reproduced import note, origin
from tools.targets import WITH_RELEASES, MeasuredTarget, target_of


def verdicts(target: MeasuredTarget, version: str) -> dict[str, str]:
    """Return of each deviation whether the release shows it, or why it cannot be tried.

    In real time a sequence in which it stops responding cannot be tried. Raises TargetError if the
    release cannot be built or driven.
    """
    found, kit = {}, target.kit
    with target.opened(version) as opened:
        hello = kit.hello(opened)
        for known in target.known:
            if reason := kit.lacking(hello, known.sequence):
                found[known.name] = reason
                continue
            try:
                (again,) = replayed(opened, hello, (known,), kit)
            except TargetError as error:
                if not kit.confirmations:
                    raise
                found[known.name] = str(error).partition("\n")[0]
            else:
                found[known.name] = "shows" if again.fault else "does not show"
    return found


@click.command()
@click.argument("versions", nargs=-1)
@click.option(
    "--target", "names", type=click.Choice(WITH_RELEASES), multiple=True, default=WITH_RELEASES
)
@click.option("--newest", type=click.IntRange(1), help="Only so many releases of each target.")
def main(versions: tuple[str, ...], names: tuple[str, ...], newest: int | None) -> None:
    """Play the sequence of each known deviation on the releases, all by default, and note it."""
    targets = [target_of(name) for name in names]
    if strange := set(versions).difference(*(target.releases for target in targets)):
        allowed = "; ".join(f"{each.name} {', '.join(each.releases)}" for each in targets)
        raise click.BadParameter(f"{min(strange)!r} is no release; allowed: {allowed}")
    for target in targets:
        for version in target.releases[-(newest or 0) :]:
            if not versions or version in versions:
                _note(target.name, version, verdicts(target, version))


def _note(name: str, version: str, found: dict[str, str]) -> None:
    note(RELEASES_MEASURED, name, {version: {**origin(), "deviations": found}})
    count = list(found.values()).count("shows")
    click.echo(f"{name} {version}: {count} of {len(found)} known deviations show")


if __name__ == "__main__":
    main(prog_name="python -m tools.versions")
