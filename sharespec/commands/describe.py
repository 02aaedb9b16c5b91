"""``sharespec describe``: what Kafka's own command should print at some time of a trace."""

from pathlib import Path

import click

from model.profile import profile_named
from operations.describe import Offsets, described, offsets_text
from operations.local import chosen, named, opened_traces, share_partitions
from operations.walk import TraceTime, Walked, walk
from replay.sources import NoSuchTraceError
from sharespec.commands.options import AT, GROUP, PROFILE, SEQ, TRACES
from sharespec.exit import exits_on, report_problems


@click.command("describe")
@TRACES
@AT
@SEQ
@GROUP
@click.option("--verbose", is_flag=True, help="Print the leader epoch, too.")
@click.option(
    "--leader-lag",
    is_flag=True,
    help="Print the leader's lag, too: REPORTED-LAG and LEADER-LAG in place of LAG.",
)
@PROFILE
@exits_on(NoSuchTraceError)
def describe_command(  # noqa: PLR0913 - one argument for each option
    *,
    traces: tuple[Path, ...],
    at_ms: int | None,
    seq: int | None,
    group: str | None,
    verbose: bool,
    leader_lag: bool,
    profile: str,
) -> None:
    """Print what kafka-share-groups.sh --describe --offsets should print after TRACES.

    Start offset and LAG are those of the durable state: the reported lag. - means not known.

    Exits with 0, 1 if a share-partition diverges or cannot be read, whose line then shows its last
    state that could be followed, 2 if there is no trace.
    """
    lines: list[Offsets] = []
    with opened_traces(traces) as opened:
        problems = list(opened.problems)
        for rows in share_partitions(opened, chosen(opened, group)):
            walked = walk(rows, profile_named(profile), TraceTime(at_ms, seq))
            if walked.problem:
                problems.append(walked.problem)
            name = named(rows, problems)
            if name and walked.events:
                lines.append(described(name, walked.state, _note(walked)))
    click.echo(offsets_text(lines, verbose=verbose, leader_lag=leader_lag), nl=False)
    report_problems(problems)


def _note(walked: Walked) -> str:
    return f"after {walked.events:,} events: see the error" if walked.problem else ""
