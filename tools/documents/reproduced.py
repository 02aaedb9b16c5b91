"""Note which known deviations of a target showed in a run, with the commit of the project.

``sharespec verify kafka --sequences 0 --json | python -m tools.documents.reproduced kafka``
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import click

from tools.documents.findings import PAGES, REPRODUCED


def shown(lines: Iterable[str]) -> list[str]:
    """Return the known deviations that a run reproduced, from the JSON lines that it printed."""
    rows = [json.loads(line) for line in lines]
    return [row["name"] for row in rows if row["kind"] == "known" and row["shows"]]


def noted(text: str, target: str, names: Iterable[str], commit: str, date: str) -> str:
    """Return the JSON text of all reproductions with those of one run in place of older ones."""
    table = json.loads(text)
    rows = table.setdefault(target, {})
    rows |= {name: {"commit": commit, "date": date} for name in names}
    return json.dumps(table, indent=1, sort_keys=True) + "\n"


def commit_now() -> str:
    """Return the short name of the project's commit."""
    head = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - fixed arguments


@click.command()
@click.argument("target", type=click.Choice(list(PAGES)))
def main(target: str) -> None:
    """Read the JSON lines of ``sharespec verify TARGET`` and note what they reproduced."""
    commit = commit_now()
    names = shown(sys.stdin)
    date = datetime.now(UTC).date().isoformat()
    REPRODUCED.write_text(noted(REPRODUCED.read_text(), target, names, commit, date))
    click.echo(f"{target}: {len(names)} reproduced at {commit}")


if __name__ == "__main__":
    main()
