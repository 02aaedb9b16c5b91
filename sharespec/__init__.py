"""The public interface of sharespec; the command is in ``sharespec.cli``.

>>> with open_session() as session:
...     replay = replay_sources(session, find_sources(["traces"]), Plan())

Single operations are in ``spec.step`` and ``impl.partition``, the vocabulary in ``model``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sharespec.api import *  # noqa: F403 - what __getattr__ returns


def __getattr__(name: str) -> object:
    """Return a name of ``sharespec.api``: only who uses one waits for Spark and Numba."""
    return getattr(import_module("sharespec.api"), name)
