"""``sharespec watch``: check recorded events as they come into a folder or a topic."""

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click
from rich.text import Text

from judge.finding import Finding
from judge.words import many
from replay.place import DEFAULT_MASTER
from replay.plan import Plan
from replay.processes import SessionError
from replay.sources import NoSuchTraceError
from replay.state_file import StateError, locked
from sharespec.commands.options import FILE, FOLDER, JSON, OFFERED_WITHIN, PROFILE, SECONDS, SWEEP
from sharespec.console import output, progress_console
from sharespec.exit import MAX_PROBLEMS, Exit, exits_on, fail, problem_lines
from sharespec.known_faults import default_known, known_label

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from replay.stream import Batch

MOST = 100
"""After so many divergences in a batch nothing more of a share-partition is checked."""

POLL_SECONDS = 0.5
"""How soon the command notices that it is interrupted."""


@attrs.define
class _Totals:
    """What this run has seen."""

    checked: int = 0
    wrong: int = 0
    waiting: int = 0
    batches: int = 0
    unknown: tuple[str, ...] = ()


@click.command("watch")
@click.argument("source")
@click.option(
    "--state",
    required=True,
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Keep in DIR where each share-partition was left: a later run goes on there.",
)
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    help="Write the divergences, and what cannot be read or is missing, into DIR: a file of JSON "
    "lines for each batch that has some.",
)
@click.option(
    "--metrics",
    "metrics_file",
    type=FILE,
    help="Write metrics for Prometheus to FILE after each batch.",
)
@click.option("--once", is_flag=True, help="Check what is there and end, as for a daily job.")
@click.option(
    "--every",
    type=SECONDS,
    metavar="SECONDS",
    help="How often a batch begins, at most; default: when the one before is done.",
)
@click.option(
    "--wait",
    default=3,
    type=click.IntRange(0),
    metavar="BATCHES",
    help="For how many batches events wait for those that are missing before them.",
)
@click.option(
    "--package",
    metavar="GROUP:ARTIFACT:VERSION",
    help="Spark's source of topics, which it fetches from Maven Central; default: "
    "org.apache.spark:spark-sql-kafka-0-10_2.13 of PySpark's version.",
)
@PROFILE
@OFFERED_WITHIN
@SWEEP
@click.option("--master", default=DEFAULT_MASTER, help="Spark's master.")
@JSON
@exits_on(NoSuchTraceError, SessionError, StateError)
def watch_command(  # noqa: PLR0913 - one argument for each option
    *,
    source: str,
    state: str,
    out: Path | None,
    metrics_file: Path | None,
    once: bool,
    every: float | None,
    wait: int,
    package: str | None,
    profile: str,
    offered_within: int | None,
    sweep: int | None,
    master: str,
    json_lines: bool,
) -> None:
    """Check what comes into the folder or topic SOURCE, and write each divergence once.

    A topic is kafka:HOST:PORT/TOPIC; the value of each record is an event as a JSON line.

    A file is read when it appears: write it elsewhere, or with a name that begins with a dot, and
    move it when it is whole. Needs Java.

    Exits with 0 if all that was checked conforms, 1 if something diverged or is unreadable or
    missing, 2 if it could not run or too little of a share-partition could be judged, 130 if
    interrupted, as is the usual end without --once.
    """
    plan = Plan(profile, offered_within=offered_within, sweep_ms=sweep, state_folder=state)
    plan = attrs.evolve(plan, max_divergences=MOST)
    trigger: dict[str, bool | str] | None = {"availableNow": True} if once else None
    if every and not once:
        trigger = {"processingTime": f"{round(every * 1000)} milliseconds"}
    totals = _Totals()
    teller = _teller(profile, totals, metrics_file, json_lines=json_lines)
    whole = _watched((source, package), plan, (out, wait, trigger, master), teller)
    if not json_lines:
        click.echo(_last_line(totals))
    if not whole:
        sys.exit(Exit.INTERRUPTED)
    if totals.wrong:
        sys.exit(Exit.WRONG)
    if not totals.checked:
        fail("nothing was checked, so nothing is known")
    if totals.unknown:
        names = ", ".join(totals.unknown[:MAX_PROBLEMS])
        fail(f"{len(totals.unknown):,} unknown, too little of them was judged: {names}")


def _watched(
    wanted: tuple[str, str | None],
    plan: Plan,
    how: tuple[Path | None, int, dict[str, bool | str] | None, str],
    teller: "Callable[[Batch], None]",
) -> bool:
    """Check until the stream ends and return True, or False when interrupted."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - help needs no Spark

    from replay.judged import Patience  # noqa: PLC0415 - as above
    from replay.session import open_session  # noqa: PLC0415 - as above
    from replay.stream import check_stream, reason_of  # noqa: PLC0415 - as above
    from replay.stream_file import read_stream  # noqa: PLC0415 - as above
    from replay.stream_source import (  # noqa: PLC0415 - as above
        check_answers,
        folder_stream,
        kafka_package,
        topic_of,
        topic_stream,
    )

    (source, package), (out, wait, trigger, master) = wanted, how
    topic = topic_of(source)
    if topic:
        check_answers(topic)
    elif not Path(source).is_dir():
        raise NoSuchTraceError(f"{source} is no folder")
    states = Path(plan.state_folder or "")
    packages = [package or kafka_package()] if topic else []
    with ExitStack() as stack:
        stack.enter_context(locked(states))
        read_stream(states, plan.rules)  # Before anybody waits for Spark.
        session = stack.enter_context(open_session(master, packages))
        interrupted = stack.enter_context(_interruption())
        try:
            query = check_stream(
                topic_stream(session, topic) if topic else folder_stream(session, Path(source)),
                plan,
                out,
                each=teller,
                trigger=trigger,
                patience=Patience(wait),
                source=source,
            )
            return _awaited(query, interrupted)
        except PySparkException as error:
            raise SessionError(f"the stream ended: {reason_of(error)}") from error


@contextmanager
def _interruption() -> Iterator[threading.Event]:
    """Have Ctrl-C set an event. PySpark's handler calls Java, perhaps within a call to Java."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.signal(signal.SIGINT, lambda *_: event.set())
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def _awaited(query: "StreamingQuery", interrupted: threading.Event) -> bool:
    """Wait for the stream to end, not in a call to Java, which an interrupt would break off."""
    errors: list[Exception] = []

    def wait() -> None:
        try:
            query.awaitTermination()
        except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        while thread.is_alive() and not interrupted.is_set():
            thread.join(POLL_SECONDS)
    except KeyboardInterrupt:
        interrupted.set()
    if interrupted.is_set():
        query.stop()
        return False
    if errors:
        raise errors[0]
    return True


def _teller(
    profile: str, totals: _Totals, metrics_file: Path | None, *, json_lines: bool
) -> "Callable[[Batch], None]":
    """Return what is told each batch."""
    known = partial(known_label, faults=default_known(profile))

    def tell(batch: "Batch") -> None:
        from replay.stream import write_metrics  # noqa: PLC0415 - help needs no Spark

        summary, counts = batch.summary, batch.summary.counts
        totals.batches += 1
        totals.waiting, totals.unknown = summary.waiting, batch.left.unknown
        totals.checked += counts.checked
        totals.wrong += summary.alarms + summary.problems
        if json_lines:
            click.echo(_json_of(batch, known))
        elif not batch.again:
            _show(batch, known)
        progress_console().print(_line(batch), soft_wrap=True)
        if metrics_file:
            write_metrics(metrics_file, batch, time.time())

    return tell


def _show(batch: "Batch", label: Callable[[Finding], str]) -> None:
    from replay.report import alarm_text  # noqa: PLC0415 - what tells alarms imports this

    console = output()
    for divergence in batch.alarms:
        console.print(alarm_text(divergence, label(divergence)), soft_wrap=True)
    for line in problem_lines(batch.problems):
        console.print(Text(f"Unreadable: {line}"), soft_wrap=True)


def _line(batch: "Batch") -> Text:
    summary, counts = batch.summary, batch.summary.counts
    done = ", done before" if batch.again else ""
    rate = counts.checked / max(summary.seconds, 1e-9)
    lag = "" if summary.lag_seconds is None else f", {summary.lag_seconds:.1f} s after they came"
    text = (
        f"batch {summary.batch}{done}: {counts.checked:,} events checked of "
        f"{many(summary.partitions, 'share-partition')}, {summary.alarms:,} diverge; "
        f"{counts.late + counts.twice:,} came again, {summary.waiting:,} wait, "
        f"{counts.passed:,} passed over, {counts.unreadable:,} unreadable, "
        f"{many(len(batch.left.unknown), 'share-partition')} unknown; "
        f"{summary.seconds:.1f} s, {rate:,.0f} events/s{lag}"
    )
    return Text(text)


def _json_of(batch: "Batch", label: Callable[[Finding], str]) -> str:
    alarms = [
        {
            "partition": each.place.partition,
            "seq": each.seq,
            "source": each.place.source,
            "line": each.place.line,
            "name": each.name,
            "headline": each.headline,
            "known": label(each) or None,
        }
        for each in batch.alarms
    ]
    problems = [attrs.asdict(each) for each in batch.problems]
    told = {"again": batch.again, "divergences": alarms, "unreadable": problems}
    told["unknown"] = batch.left.unknown
    return json.dumps(attrs.asdict(batch.summary) | told)


def _last_line(totals: _Totals) -> str:
    if not totals.batches:
        return "The stream read nothing."
    waiting = f", {totals.waiting:,} wait for events that are missing" if totals.waiting else ""
    return (
        f"{many(totals.checked, 'event')} checked in {many(totals.batches, 'batch', 'es')}{waiting}"
    )
