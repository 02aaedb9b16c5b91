"""A folder that grows, as a stream of events: each file is read once, after it has come."""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere with Spark

from replay.arrivals import ARRIVED
from replay.frame import spark_type
from replay.sources import SUFFIXES, NoSuchTraceError
from replay.stream_rows import file_rows

FILES_PER_BATCH = 100
"""How many files a batch has at most."""

_SCHEMA = "path string, modificationTime timestamp, length long, content binary"
_NAMES = f"*{{{','.join(SUFFIXES)}}}"


def folder_stream(session: SparkSession, folder: Path) -> DataFrame:
    """Return the events of the files that come into a folder, and into those within it.

    Spark lists the files, and workers read them as a replay does: what cannot be read becomes a row
    that says so. Raises NoSuchTraceError if there is no such folder.
    """
    if not folder.is_dir():
        raise NoSuchTraceError(f"{folder} is no folder")
    files = (
        session.readStream.format("binaryFile")
        .schema(_SCHEMA)
        .option("pathGlobFilter", _NAMES)
        .option("recursiveFileLookup", "true")
        .option("maxFilesPerTrigger", FILES_PER_BATCH)
        # Spark passes over files that are older than the newest by more, without a word.
        .option("maxFileAge", "36500d")
        .load(f"file:{folder.absolute()}")
    )
    came = (F.unix_millis("modificationTime")).alias("came")
    return files.select("path", came).mapInArrow(file_rows, spark_type(ARRIVED))
