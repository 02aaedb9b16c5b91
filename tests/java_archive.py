"""Classes of a program in Java as it keeps them in memory: half of a short run is to read them."""

import fcntl
from collections.abc import Callable
from pathlib import Path


def archived(folder: Path, run: Callable[[str], object]) -> str:
    """Return the option of Java that maps the classes of what was built into a folder.

    Of several processes one runs the program, with an option that writes its classes at its end. An
    archive that does not fit the class path, or that Java could not write, is passed over.
    """
    archive, part = folder / "classes.jsa", folder / "classes.part"
    with folder.joinpath("archiving").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists() or archive.stat().st_mtime < (folder / "built").stat().st_mtime:
            run(f"-XX:ArchiveClassesAtExit={part}")
            if part.exists():
                part.replace(archive)
    return f"-XX:SharedArchiveFile={archive}"
