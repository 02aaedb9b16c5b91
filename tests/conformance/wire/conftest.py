"""A broker in memory, and who administrates it."""

from collections.abc import Iterator

import pytest

from conformance.wire.admin import Admin
from tests.conformance.wire.fake import Fake, administrating


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def admin(fake: Fake) -> Iterator[Admin]:
    with administrating(fake) as admin:
        yield admin
