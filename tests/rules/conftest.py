"""Every rule's test runs against the specification and against the implementation."""

import pytest

from tests.rules.share_partition import SIDES, choose_side


@pytest.fixture(scope="module", params=SIDES, autouse=True)
def side(request: pytest.FixtureRequest) -> str:
    """Let the share-partitions of a test be those of one side."""
    choose_side(request.param)
    return str(request.param)
