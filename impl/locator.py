"""Where Numba keeps compiled code: by its sources, wherever these lie."""

from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import UserProvidedCacheLocator

from impl.cache import source_digest


class SourceLocator(UserProvidedCacheLocator):
    """Keeps the code of a source once; of one in a zip too, which a Spark session has elsewhere."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:  # noqa: ANN401 - Numba has no types
        """Return the locator of a function. Raises OSError where its folder cannot be made."""
        locator: Any = cls(function, file)
        locator.ensure_cache_path()
        return locator

    @classmethod
    def get_suitable_cache_subpath(cls, file: str) -> str:
        """Return the name of the folder for the code of a package."""
        return f"{Path(file).parent.name}_{_digest()[:16]}"

    def get_source_stamp(self) -> str:
        """Return what changes with the sources."""
        return _digest()


_digest = cache(source_digest)
