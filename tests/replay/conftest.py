from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from replay.session import open_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with open_session("local[2]") as session:
        yield session
