"""The options that several commands share."""

from collections.abc import Callable
from pathlib import Path

import click

from model.profile import PROFILES


def profile_option(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option ``--profile``."""
    return click.option(
        "--profile",
        type=click.Choice(sorted(PROFILES)),
        default=default,
        show_default=True,
        help="Which rules apply where the KIPs and Apache Kafka differ.",
    )


TRACES = click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path))
GROUP = click.option("--group", help="Only this share group.")
AT = click.option(
    "--at",
    type=click.IntRange(0),
    metavar="MS",
    help="As of the last event up to this time, on the trace's clock in ms; default: the end.",
)
SEQ = click.option(
    "--seq", type=click.IntRange(0), help="As of the event of this seq in each share-partition."
)
PROFILE = profile_option("kafka")
JSON = click.option("--json", "json_lines", is_flag=True, help="Print JSON, one object to a line.")
