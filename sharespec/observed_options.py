"""The options that say how requests of brokers are judged, and what is known besides them."""

from collections.abc import Mapping
from typing import Any

import click

from replay.observed.settings import Assumed
from sharespec.commands.options import Number, all_of

_DEFAULTS = Assumed()

observed_options = all_of(
    click.option(
        "--slack",
        "slack_ms",
        default=_DEFAULTS.slack_ms,
        type=Number(0, 10**12),
        metavar="MS",
        help="Request logs: how long after its answer a request's line may be written where "
        "the log shows no stall.",
    ),
    click.option(
        "--skew",
        "skew_ms",
        default=_DEFAULTS.skew_ms,
        type=Number(0, 10**12),
        metavar="MS",
        help="Request logs: how far the clocks of two brokers may differ.",
    ),
    click.option(
        "--delivery-limit",
        type=click.IntRange(1, 25),
        metavar="N",
        help="Request logs: the delivery count limit, if it is known.",
    ),
    click.option(
        "--max-record-locks",
        type=click.IntRange(1),
        metavar="N",
        help="Request logs: the width of a window in offsets, if it is known.",
    ),
    click.option(
        "--compacted/--not-compacted",
        default=None,
        help="Request logs: whether topics are compacted, if it is known.",
    ),
)


def settings_of(values: Mapping[str, Any]) -> Assumed:
    """Return the settings of the options' values; those that were not given are as by default."""
    return Assumed(**{name: value for name, value in values.items() if value is not None})
