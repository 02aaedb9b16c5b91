"""A replay of a table, or of Parquet at any address that Spark opens."""

import functools
import time

from py4j.protocol import Py4JError  # type: ignore[import-untyped] # not typed
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from model.errors import InvalidValueError
from replay.facts import InputFacts
from replay.frame import check_rows, in_order, placed_rows, verdicts_of
from replay.plan import Plan
from replay.runner import SessionError
from replay.session import first_line
from replay.sources import NoSuchTraceError
from replay.verdict import Replay, counted

_ERRORS = (PySparkException, Py4JError)
"""What PySpark raises: the second where it does not translate an exception of Java."""


def replay_table(session: SparkSession, table: str, plan: Plan, out: str | None = None) -> Replay:
    """Check every share-partition of a table and return the verdicts.

    ``table`` is the name of a table, or the address of Parquet files, which has a colon. ``out`` is
    an address under which verdicts, divergences and lag are written as Parquet, over older ones.
    Raises NoSuchTraceError for a table that is not there or is none of events, SessionError if
    Spark gives up.
    """
    started = time.monotonic()
    try:
        rows = in_order(_opened(session, table))
    except InvalidValueError as error:
        raise NoSuchTraceError(f"{table}: {error}") from None
    try:
        places = functools.partial(placed_rows, table)
        task = functools.partial(check_rows, plan, InputFacts(), places)
        verdicts = verdicts_of(rows, task, lambda _: (), out)
    except _ERRORS as error:
        raise SessionError(f"Spark gave up: {_reason(error)}") from error
    seconds = time.monotonic() - started
    return Replay(tuple(verdicts), (), counted(verdicts, []), seconds, runner="Spark")


def _opened(session: SparkSession, table: str) -> DataFrame:
    try:
        frame = session.read.parquet(table) if ":" in table else session.table(table)
        frame.schema  # noqa: B018 - with Spark Connect a missing table shows only here
    except _ERRORS as error:
        raise NoSuchTraceError(f"{table}: {_reason(error)}") from None
    return frame


def _reason(error: Exception) -> str:
    """Return one line: the first of an error that Spark explains, the cause of another."""
    if isinstance(error, PySparkException) and error.getCondition():
        return str(error).strip().partition("\n")[0][:300]
    return first_line(error)
