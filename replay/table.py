"""A replay of a table, or of Parquet at any address that Spark opens."""

import time
from typing import Any

import attrs
from py4j.protocol import Py4JError  # type: ignore[import-untyped] # not typed
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from judge.finding import Finding, FindingKind
from model.errors import InvalidValueError
from replay.frame import Checked, check
from replay.plan import Plan
from replay.result_schema import finding_of
from replay.runner import SessionError
from replay.session import first_line
from replay.sources import NoSuchTraceError
from replay.verdict import (
    LogKnowledge,
    PartitionVerdict,
    Problem,
    Replay,
    Verdict,
    counted,
)

_ERRORS = (PySparkException, Py4JError)
"""What PySpark raises: the second where it does not translate an exception of Java."""

_RESULTS = ("verdicts", "divergences", "lag")
"""The folders that ``--out`` gets, one for each DataFrame of a check."""


def replay_table(session: SparkSession, table: str, plan: Plan, out: str | None = None) -> Replay:
    """Check every share-partition of a table and return the verdicts.

    ``table`` is the name of a table, or the address of Parquet files, which has a colon. ``out`` is
    an address under which the DataFrames of the check are written as Parquet, over older ones.
    Raises NoSuchTraceError for a table that is not there or is none of events, SessionError if
    Spark gives up.
    """
    started = time.monotonic()
    try:
        checked = check(_opened(session, table), plan, table)
    except InvalidValueError as error:
        raise NoSuchTraceError(f"{table}: {error}") from None
    try:
        verdicts = _verdicts(checked, table, out)
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


def _verdicts(checked: Checked, table: str, out: str | None) -> list[PartitionVerdict]:
    results = checked.results.persist()
    try:
        verdicts = [_verdict(row, table) for row in results.collect()]
        for name in _RESULTS if out else ():
            frame: DataFrame = getattr(checked, name)
            frame.write.mode("overwrite").parquet(f"{out}/{name}")
    finally:
        results.unpersist()
    return sorted(verdicts, key=lambda verdict: verdict.partition)


def _verdict(row: Row, table: str) -> PartitionVerdict:
    values: dict[str, Any] = row.asDict()
    problem, diverging = values["problem"], [_divergence(each) for each in values["diverging"]]
    kept = {f.name: values[f.name] for f in attrs.fields(PartitionVerdict) if f.name in values}
    return PartitionVerdict(
        **{
            **kept,
            "verdict": Verdict(values["verdict"]),
            "log": LogKnowledge(values["log"]),
            "problem": problem and Problem(table, None, problem, values["partition"]),
            "divergence": diverging[0] if diverging else None,
            "more": tuple(diverging[1:]),
        }
    )


def _divergence(row: Row) -> Finding:
    fields = finding_of(row.asDict())
    return Finding(**{**fields, "kind": FindingKind(fields["kind"])})
