"""What the checks of mutants compute once, of the unchanged code, and keep in a folder."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any


def kept(name: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever is kept
    path = Path(os.environ["SHARESPEC_KEPT"], name)
    if not path.exists():
        path.write_bytes(pickle.dumps(make()))
    return pickle.loads(path.read_bytes())  # noqa: S301 - written above
