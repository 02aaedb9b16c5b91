"""Skips tests where Apache Kafka cannot be had, but not where our own driver of it is broken."""

from typing import NoReturn

import pytest

from conformance.target import TargetError


def skip_without_kafka(error: TargetError) -> NoReturn:
    """Skip because a tool or Maven Central is missing; raise what is a fault of our sources."""
    if "COMPILATION" in str(error):
        raise error
    pytest.skip(str(error))
