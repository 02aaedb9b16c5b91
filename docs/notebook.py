"""Check a table of share-group events in a session of your own, cell by cell.

Argument: Parquet, as `sharespec convert TRACE --out events.parquet` writes it.
In an activated environment, or with its Python as PYSPARK_PYTHON: workers are started by that.
"""

# %% The session that a notebook has; its workers get the code.
import sys

from pyspark.sql import SparkSession

import sharespec

if not sys.argv[1:]:
    sys.exit(f"usage: {sys.argv[0]} EVENTS.parquet")
session = SparkSession.builder.getOrCreate()
sharespec.ship(session)

# %% Any DataFrame with the columns of a trace: a table of Delta, Iceberg or Hive, a query, files.
events = session.read.parquet(sys.argv[1])
checked = sharespec.check(events, sharespec.Plan(profile="kafka"))
checked.results.persist()

# %% What needs a look, and which record it is.
checked.verdicts.groupBy("verdict").count().show()
checked.divergences.select("partition", "seq", "name", "headline").show(truncate=False)

# %% The lag after each event, for a chart of yours.
checked.lag.select("partition", "seq", "time_ms", "lag").orderBy("partition", "seq").show(3)
