"""A broker that is served, with a client and a topic."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from tests.serve.served import Client, client_of


@pytest.fixture
def client() -> Iterator[Client]:
    with client_of() as client:
        yield client


@pytest.fixture
def topic(client: Client) -> UUID:
    return client.topic("t")
