"""What a replay found as DataFrames of pandas, with the columns of ``sharespec replay --out``."""

import attrs
import pandas as pd
import pyarrow as pa

from replay.result_schema import DIVERGENCES, VERDICTS, divergence_row, verdict_row
from replay.verdict import Replay


@attrs.frozen(eq=False)
class Frames:
    """A row for each share-partition in ``verdicts``, for each divergence in ``divergences``.

    The columns are those of ``VERDICTS`` and ``DIVERGENCES`` (docs/replay.md). Whole numbers are
    of ``Int64``, so that one which is missing makes no offset a fraction.
    """

    verdicts: pd.DataFrame
    divergences: pd.DataFrame


def to_pandas(replay: Replay) -> Frames:
    """Return what a replay found as DataFrames."""
    verdicts = [verdict_row(verdict) for verdict in replay.verdicts]
    divergences = [
        divergence_row(divergence)
        for verdict in replay.verdicts
        for divergence in verdict.divergences
    ]
    return Frames(_frame(verdicts, VERDICTS), _frame(divergences, DIVERGENCES))


def _frame(rows: list[dict[str, object]], schema: pa.Schema) -> pd.DataFrame:
    types = {pa.int64(): pd.Int64Dtype(), pa.string(): pd.StringDtype()}
    frame: pd.DataFrame = pa.Table.from_pylist(rows, schema).to_pandas(types_mapper=types.get)
    return frame
