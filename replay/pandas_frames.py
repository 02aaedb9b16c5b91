"""What a replay found as DataFrames of pandas, with the columns of ``sharespec replay --out``."""

import attrs
import pandas as pd
import pyarrow as pa

from replay.result_schema import result_tables
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
    types = {pa.int64(): pd.Int64Dtype(), pa.string(): pd.StringDtype()}
    tables = result_tables(replay.verdicts).items()
    return Frames(**{name: table.to_pandas(types_mapper=types.get) for name, table in tables})
