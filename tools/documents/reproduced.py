"""Note which known deviations of a target showed in a run, with the commit of the project.

``sharespec verify kafka --sequences 0 --json | python -m tools.documents.reproduced kafka``
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from tools.documents.findings import PAGES, REPRODUCED


def shown(lines: Iterable[str]) -> list[str]:
    """Return the known deviations that a run reproduced, from the JSON lines that it printed."""
    rows = [json.loads(line) for line in lines]
    return [row["name"] for row in rows if row["kind"] == "known" and row["shows"]]


def commit_now() -> str:
    """Return the short name of the project's commit."""
    head = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - fixed arguments


def origin() -> dict[str, str]:
    """Return what is noted of a measurement: the commit and the date (ISO 8601)."""
    return {"commit": commit_now(), "date": datetime.now(UTC).date().isoformat()}


def note(path: Path, name: str, rows: Mapping[str, Any]) -> None:
    """Put rows of a target or a part into a file of JSON, in place of older ones."""
    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    table.setdefault(name, {}).update(rows)
    path.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


@click.command()
@click.argument("target", type=click.Choice(list(PAGES)))
def main(target: str) -> None:
    """Read the JSON lines of ``sharespec verify TARGET`` and note what they reproduced."""
    last = origin()
    names = shown(sys.stdin)
    note(REPRODUCED, target, dict.fromkeys(names, last))
    click.echo(f"{target}: {len(names)} reproduced at {last['commit']}")


if __name__ == "__main__":
    main()
