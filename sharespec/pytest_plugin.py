"""What pytest has once sharespec is installed: a broker for the tests of an application."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from serve.running import ServedBroker


@pytest.fixture
def sharespec_broker() -> "Iterator[ServedBroker]":
    """Serve share groups on 127.0.0.1: give ``.address`` to clients as bootstrap.servers.

    Groups begin with the first record of a topic. ``sharespec.serving`` takes other settings.
    """
    from serve.running import serving  # noqa: PLC0415 - who has no such test waits for nothing

    with serving() as broker:
        yield broker
