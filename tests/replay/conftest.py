from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from replay.session import open_session

FEW_TASKS = "spark.sql.shuffle.partitions", "4"
"""By default a shuffle has 200 tasks, each of which takes longer than a few rows do."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with open_session("local[2]") as session:
        session.conf.set(*FEW_TASKS)
        yield session
