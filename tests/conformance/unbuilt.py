"""Skips tests where a tool or registry cannot be had, but not where our own sources are broken."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, NoReturn, TypeVar

import pytest

from conformance.subjects import TargetChoice, opened
from conformance.target import TargetError

Opened = TypeVar("Opened")
_OURS = ("COMPILATION", "code ETARGET", "code E404", "code EJSONPARSE")
"""What Maven says of sources, and npm of a package.json or of a version that there is not."""


def skip_unbuilt(error: TargetError) -> NoReturn:
    """Skip because a tool or a registry is missing; raise what is a fault of our sources."""
    if any(mark in str(error) for mark in _OURS):
        raise error
    pytest.skip(str(error))


@contextmanager
def skipping_unbuilt() -> Iterator[None]:
    """Skip where what the block builds cannot be had, as ``skip_unbuilt`` does."""
    try:
        yield
    except TargetError as error:
        skip_unbuilt(error)


@contextmanager
def built_or_skipped(opening: AbstractContextManager[Opened]) -> Iterator[Opened]:
    """Open a target, or skip where it cannot be built."""
    with ExitStack() as stack:
        with skipping_unbuilt():
            target = stack.enter_context(opening)
        yield target


def opened_or_skipped(subject: TargetChoice) -> AbstractContextManager[Any]:
    """Open the target of a subject as ``opened`` does, or skip where it cannot be built."""
    return built_or_skipped(opened(subject))
