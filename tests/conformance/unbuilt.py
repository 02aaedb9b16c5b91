"""Skips tests where a tool or registry cannot be had, but not where our own sources are broken."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

import pytest

from conformance.subjects import TargetChoice, opened
from conformance.target import TargetError

_OURS = ("COMPILATION", "code ETARGET", "code E404", "code EJSONPARSE")
"""What Maven says of sources, and npm of a package.json or of a version that there is not."""


def skip_unbuilt(error: TargetError) -> NoReturn:
    """Skip because a tool or a registry is missing; raise what is a fault of our sources."""
    if any(mark in str(error) for mark in _OURS):
        raise error
    pytest.skip(str(error))


@contextmanager
def opened_or_skipped(subject: TargetChoice) -> Iterator[Any]:
    """Open the target of a subject as ``opened`` does, or skip where it cannot be built."""
    with ExitStack() as stack:
        try:
            target = stack.enter_context(opened(subject))
        except TargetError as error:
            skip_unbuilt(error)
        yield target
