"""``python -m tests.kafka.older 4.2.1``: the tests of faults for an older Apache Kafka."""

import shutil
import sys
from pathlib import Path

from conformance.java import OLDER
from conformance.releases import NEWEST, read_changes, rewritten

PROJECT = Path(__file__).parent


def main(version: str) -> Path:
    """Write the tests for a version of Apache Kafka, and return their folder."""
    folder = Path("out", f"kafka-{version}")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PROJECT / "src", folder / "src")
    pom = (PROJECT / "pom.xml").read_text()
    (folder / "pom.xml").write_text(pom.replace(f">{NEWEST}<", f">{version}<"))
    changes = read_changes(OLDER)
    for path in folder.rglob("*.java"):
        path.write_text(rewritten(path.read_text(), version, changes))
        if (version < "4.2" and "ShareConsumer" in path.name) or "DeadLetter" in path.name:
            path.unlink()
    return folder


if __name__ == "__main__":
    main(*sys.argv[1:])
