"""The options that several commands share."""

import math
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from model.profile import PROFILES
from sharespec.cli import did_you_mean


class OneOf(click.Choice[str]):
    """One of some words, in capitals or not; a word that is none is told which ones are like it."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - as click has it
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str:
        """Return the word as the list has it, or fail as click does."""
        for word in self.choices:
            if word.casefold() == str(value).casefold():
                return word
        text = self.get_invalid_choice_message(value, ctx)
        return self.fail(f"{text}{did_you_mean(str(value), self.choices)}", param, ctx)


class Number(click.FloatRange):
    """A number of a range, and no NaN, which lies neither in it nor out of it."""

    def convert(
        self,
        value: Any,  # noqa: ANN401 - as click has it
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number, or fail as click does."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{number} is not a number.", param, ctx)
        return number


SECONDS = Number(0, 7 * 86_400, min_open=True)
"""A time in seconds, up to a week: more is a mistake, and too long for the system's timers."""


FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


Option = Callable[[Callable[..., None]], Callable[..., None]]
"""What adds an option to a command."""


def all_of(*options: Option) -> Option:
    """Return what adds options to a command, in this order."""
    return lambda command: reduce(lambda so_far, option: option(so_far), options[::-1], command)


def profile_option(default: str) -> Option:
    """Return the option ``--profile``."""
    return click.option(
        "--profile",
        type=OneOf(sorted(PROFILES)),
        default=default,
        help="Which rules apply where the KIPs and Apache Kafka differ.",
    )


def silence_option(text: str, seconds: float) -> Option:
    """Return the option ``--silence``: how long something may take, by default so many seconds."""
    help_ = f"How long {text}, in seconds."
    return click.option("--silence", type=SECONDS, default=seconds, help=help_)


def seed_option(text: str) -> Option:
    """Return the option ``--seed`` of a run of a cluster."""
    return click.option("--seed", type=click.IntRange(0, 2**40), default=0, help=text)


TRACE = click.argument("trace", type=click.Path(path_type=Path))
PARTITION = click.option(
    "--partition",
    metavar="GROUP:TOPIC:PARTITION",
    help="Which share-partition; needed if the trace has several.",
)
TRACES = click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path))
GROUP = click.option("--group", help="Only this share group.")
AT = click.option(
    "--at",
    "at_ms",
    type=click.IntRange(0),
    metavar="MS",
    help="As of the last event up to this time, on the trace's clock in ms; default: the end.",
)
SEQ = click.option(
    "--seq", type=click.IntRange(0), help="As of the event of this seq in each share-partition."
)
PROFILE = profile_option("kafka")
JSON = click.option("--json", "json_lines", is_flag=True, help="Print JSON, one object to a line.")
FAULTS = click.option(
    "--faults",
    "fault_file",
    type=FILE,
    help="What was done to the brokers, one fault a line: while one was paused, its timers may be "
    "late.",
)
FAULTS_CLOCK = click.option(
    "--faults-clock",
    type=click.IntRange(0, 10**15),
    default=0,
    metavar="MS",
    help="When the clock of --faults showed 0, in ms since the epoch.",
)
OFFERED_WITHIN = click.option(
    "--offered-within",
    type=click.IntRange(1),
    metavar="FETCHES",
    help="How many fetches may pass over an available record, or find the window full of what is "
    "finished; default: as the profile has it.",
)
SWEEP = click.option(
    "--sweep",
    type=click.IntRange(0),
    metavar="MS",
    help="How long after its deadline a timer may end a lock, where a trace has a real clock; "
    "default: as the profile has it, and for request logs 2000.",
)
