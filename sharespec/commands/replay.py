"""``sharespec replay``: check recorded traces and request logs."""

from typing import Any

import click

from replay.place import DEFAULT_MASTER, TRACE_MODULES, get_ready_for
from sharespec.cli import is_own_process
from sharespec.commands.options import (
    FAULTS,
    FAULTS_CLOCK,
    FILE,
    JSON,
    OFFERED_WITHIN,
    PROFILE,
    SWEEP,
    Number,
    OneOf,
)
from sharespec.exit import exits_on
from sharespec.observed_options import observed_options
from sharespec.reports import file_option


@click.command("replay")
@click.argument("traces", nargs=-1, type=click.Path())
@click.option(
    "--table",
    metavar="TABLE",
    help="Check the events of a table that Spark knows, or of Parquet at an address that it opens, "
    "such as s3a://bucket/events.",
)
@PROFILE
@click.option(
    "--against",
    type=OneOf(["spec,impl", "impl"]),
    default="spec,impl",
    help="What to compare the traces with: impl, or both.",
)
@click.option(
    "--sample",
    type=Number(0, 1, min_open=True),
    default=1.0,
    metavar="FRACTION",
    help="Check only this fraction of the share-partitions; every run chooses the same ones.",
)
@click.option(
    "--invariants",
    default=50,
    type=click.IntRange(0),
    metavar="EVENTS",
    help="How many events lie between two checks of the specification's invariants; 0: no check.",
)
@OFFERED_WITHIN
@SWEEP
@FAULTS
@FAULTS_CLOCK
@click.option(
    "--master",
    help="Use Spark, with this master, for a table perhaps sc://host of Spark Connect; default: "
    f"small inputs are checked in this process, others by Spark on {DEFAULT_MASTER}.",
)
@click.option(
    "--out",
    help="Write verdicts, divergences and lag as Parquet into this folder, or to any address that "
    "Spark opens.",
)
@file_option(
    "--html",
    "Write the whole report to this file as one HTML page.",
    "page_file",
)
@click.option(
    "--state",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Go on where the replay before left each share-partition, as DIR has it, and leave there "
    "where this one does.",
)
@click.option(
    "--state-topic",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="DUMP",
    help="Request logs: what is in __share_group_state, as `sharespec state-topic` reads it.",
)
@click.option(
    "--divergences",
    "most",
    default=100,
    type=click.IntRange(1),
    metavar="NUMBER",
    help="After so many divergences nothing more of a share-partition is checked.",
)
@click.option(
    "--known",
    "known_file",
    type=FILE,
    help="Known deviations (TOML), besides those of released Kafkas, which are known under the "
    "profiles kafka. The exit status is 0 if FILE names all that diverges.",
)
@file_option(
    "--write-known",
    "Write what diverges as a file for --known, with what that names already.",
    "written_file",
)
@file_option("--junit", "Write JUnit XML to this file, one test case for each share-partition.")
@file_option("--markdown", "Write every kind of divergence to this file as Markdown.")
@click.option("--events", "with_json", is_flag=True, help="Show diverging events as JSON, too.")
@observed_options
@JSON
@exits_on()
def replay_command(**options: Any) -> None:  # noqa: ANN401 - the values of the options
    """Check every recorded event of TRACES against the specification and the implementation.

    After a divergence the recorded state is adopted where it tells enough, and the rest checked.

    TRACES are files or folders: JSON lines (gzip or not) or Parquet, or addresses of such that
    Spark opens, as hdfs://host/traces. Request logs of Kafka's brokers (kafka.request.logger at
    DEBUG) are recognised and judged by what they show.

    Exits with 0 if nothing diverges but what --known names, 1 if a share-partition diverges (also
    by a known fault of a released Kafka) or cannot be read, 2 if the replay could not run or had
    nothing to check, 130 if interrupted.
    """
    if not (options["table"] or options["master"]):
        get_ready_for(options["traces"], TRACE_MODULES, alone=is_own_process())
    from sharespec.replaying import run  # noqa: PLC0415 - children get ready meanwhile

    run(**options)
