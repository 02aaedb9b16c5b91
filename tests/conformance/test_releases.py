"""The sources of a driver for older releases: what changes, what is left out, and what shows."""

from itertools import pairwise
from pathlib import Path, PurePosixPath

import pytest

from conformance.campaign import alone
from conformance.cores.kafka import KNOWN
from conformance.cores.kit import CORES
from conformance.java import OLDER
from conformance.known import read_sequence
from conformance.releases import (
    NEWEST,
    RELEASES,
    check_release,
    for_release,
    read_changes,
    rewritten,
)
from conformance.subjects import TargetChoice
from conformance.target import TargetError
from tests.conformance.unbuilt import opened_or_skipped
from tests.kafka.older import PROJECT as TESTS

DRIVER = KNOWN.parent


def test_releases_are_in_order_and_the_last_is_that_of_the_project() -> None:
    numbers = [tuple(map(int, version.split("."))) for version in RELEASES]
    assert all(earlier < later for earlier, later in pairwise(numbers))
    assert f"<kafka.version>{NEWEST}<" in (DRIVER / "pom.xml").read_text()


def test_another_version_is_refused_with_those_that_can_be_driven() -> None:
    with pytest.raises(
        TargetError, match=r"'4\.0\.9' cannot be driven; allowed: 4\.0\.0, .*4\.4\.0$"
    ):
        check_release("4.0.9")


@pytest.mark.parametrize(
    ("older", "folders"),
    [(DRIVER / "older.toml", [DRIVER / "src", DRIVER / "older"]), (OLDER, [TESTS, OLDER.parent])],
    ids=["driver", "tests"],
)
def test_each_pattern_changes_something(older: Path, folders: list[Path]) -> None:
    found = [path for folder in folders for path in folder.rglob("*.java")]
    paths = [path for path in found if "target" not in path.parts]
    sources = [path.read_text() for path in (*paths, DRIVER / "pom.xml")]
    for change in read_changes(older):
        changed = [rewritten(source, "4.0.0", (change,)) for source in sources]
        assert changed != sources, change.pattern
        sources = changed


def test_the_newest_release_needs_no_change() -> None:
    changes = read_changes(DRIVER / "older.toml")
    source = (DRIVER / "src/main/java/kafka/server/share/Target.java").read_text()
    assert rewritten(source, NEWEST, changes) == source != rewritten(source, "4.1.2", changes)


def test_an_older_project_has_its_own_release_and_nothing_else() -> None:
    content = for_release(DRIVER, "4.1.2")
    package = PurePosixPath("src/main/java/kafka/server/share")
    assert content(package / "Simulation.java", b"x") is None
    assert b"before 4.4" in (content(package / "Release.java", b"x") or b"")
    pom = (DRIVER / "pom.xml").read_bytes()
    assert b"<kafka.version>4.1.2<" in (content(PurePosixPath("pom.xml"), pom) or b"")


LESS = """[
  {"ask": "TakeOver", "config": {"delivery_count_limit": 3, "partition_max_record_locks": 8,
   "record_lock_duration_ms": 100, "auto_offset_reset": "earliest"}},
  {"ask": "Produce", "batches": [[0, 1]]},
  {"ask": "Fetch", "member": "m1", "mode": "batch_optimized", "batch_size": 500,
   "max_records": 500, "max_batches": 1},
  {"ask": "MemberLeaves", "member": "m1", "answers": []}
]"""
"""KAFKA-19972: a member's session ends with a record, whose delivery count falls back to 0."""


@pytest.mark.slow
@pytest.mark.parametrize(("version", "shown"), [("4.1.2", "WRITTEN_STATE"), (NEWEST, None)])
def test_a_release_shows_the_fault_that_a_later_one_mended(version: str, shown: str | None) -> None:
    with opened_or_skipped(TargetChoice("kafka", silence=60, version=version)) as target:
        hello = target.hello()
        assert hello.version == version
        faults = alone(target, read_sequence(LESS, CORES.read), CORES).faults
    assert [fault.deviation.name for fault in faults] == ([] if shown is None else [shown])
