"""Skips tests where a tool or registry cannot be had, but not where our own sources are broken."""

from typing import NoReturn

import pytest

from conformance.target import TargetError

_OURS = ("COMPILATION", "code ETARGET", "code E404", "code EJSONPARSE")
"""What Maven says of sources, and npm of a package.json or of a version that there is not."""


def skip_unbuilt(error: TargetError) -> NoReturn:
    """Skip because a tool or a registry is missing; raise what is a fault of our sources."""
    if any(mark in str(error) for mark in _OURS):
        raise error
    pytest.skip(str(error))
