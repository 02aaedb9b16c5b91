import json
import sys
from pathlib import Path

from impl.cache import DISABLED, is_interpreted
from replay.check import compile_ahead
from replay.plan import Plan
from tests.impl.helpers import COMPILES
from tests.replay.outside import printed

CODE = """
import gc, json, sys
import replay.preload
from impl.replay import replay_rows
try:
    import pandas
except ModuleNotFoundError as error:
    hidden = str(error)
needed = "replay.gather", "replay.check_sorted", "spec.share_broker"
used = [name in sys.modules for name in needed]
loaded = len(getattr(replay_rows, "signatures", ()))
print(json.dumps([hidden, gc.get_freeze_count() > 10_000, used, "numba" in sys.modules, loaded]))
"""


def preloaded(**environment: str) -> list[object]:
    """Return what a process has ready that imported the module."""
    result: list[object] = json.loads(printed(sys.executable, "-c", CODE, **environment))
    return result


def test_what_is_interpreted_needs_no_numba() -> None:
    hidden = "pandas is not used here"
    assert preloaded(**{DISABLED: "1"}) == [hidden, True, [True, True, False], False, 0]


@COMPILES
def test_what_was_compiled_is_loaded_once_for_all_children(tmp_path: Path) -> None:
    compile_ahead(Plan())
    *_, numba, loaded = preloaded()
    assert (numba, loaded) == ((False, 0) if is_interpreted() else (True, 1))
    *_, numba, loaded = preloaded(NUMBA_CACHE_DIR=str(tmp_path))
    assert (numba, loaded) == (not is_interpreted(), 0)
