"""Folders for what is needed once, removed at the end or at the next start after a kill.

And files that are whole, or not there.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

PREFIX = "sharespec-"
DRAFT = ".draft"
"""How the name of a file ends that is still being written."""

LOCK = ".sharespec-lock"
"""Whoever uses a folder holds a lock on this file in it, which the system drops when it dies."""


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[str]:
    """Make a folder and remove it at the end, with those of processes that were killed.

    ``parent`` is where; default: the system's temporary folder. Raises OSError.
    """
    _remove_abandoned(Path(parent or tempfile.gettempdir()))
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
    try:
        with (Path(folder) / f"{LOCK}-new").open("wb") as lock:
            # Some network file systems have no locks; without its file no folder is abandoned.
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
                # Under its name it is locked already: nobody may take it for abandoned.
                Path(lock.name).rename(Path(folder) / LOCK)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def made_folder(path: Path) -> Iterator[None]:
    """Make a folder and those above it; of these the empty ones go at the end. Raises OSError."""
    made = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):
            for each in made:
                each.rmdir()


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Write a file under the name that this yields; it has its own when all is written, or none.

    So who runs twice, or is killed, leaves one whole file. What is no plain file, such as a pipe,
    is written as it is, and so is a file in a folder that is not this user's. Who removes the draft
    leaves what was there before. Raises OSError with the name of the file.
    """
    target = path.resolve()
    is_plain = target.is_file() and os.access(target.parent, os.W_OK)
    draft = target.with_name(f"{target.name}.{uuid4().hex}{DRAFT}")
    if target.exists() and not is_plain:
        draft = target
    try:
        yield draft
        if draft != target and draft.exists():
            draft.replace(target)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(draft)):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
    finally:
        if draft != target:
            draft.unlink(missing_ok=True)


def _remove_abandoned(parent: Path) -> None:
    for lock in parent.glob(f"{PREFIX}*/{LOCK}"):
        if _is_abandoned(lock):
            shutil.rmtree(lock.parent, ignore_errors=True)


def _is_abandoned(lock: Path) -> bool:
    """Return whether a folder is this user's, and nobody uses it."""
    try:
        if lock.parent.is_symlink() or lock.parent.stat().st_uid != os.getuid():
            return False
        with lock.open("rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
