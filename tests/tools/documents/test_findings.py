"""The documents of findings list what the files of known deviations contain."""

import json
import re
from pathlib import Path

import pytest

from conformance.known import LOSSES
from tests.kafka.test_faults import CONTROLS, SHOWN
from tools.documents.findings import (
    CLUSTER,
    FOLDER,
    PAGES,
    REPRODUCED,
    cluster_faults,
    known_of,
    track_record,
)
from tools.documents.generated import ROOT
from tools.documents.reproduced import note, shown

CLIENTS = FOLDER / "share-consumers.md"


def test_the_track_record_has_faults_of_each_implementation() -> None:
    rows = track_record().splitlines()[2:]
    assert all(any(page.implementation in row for row in rows) for page in PAGES.values())
    assert any("goes back" in row for row in rows)
    assert not any("The same" in row for row in rows)


def test_the_track_record_begins_with_what_loses_records() -> None:
    worst = [row.split(" | ")[1].partition(" (")[0] for row in track_record().splitlines()[2:]]
    assert worst == sorted(worst, key=LOSSES.index)
    assert set(worst) == set(LOSSES)
    assert {loss.lower() for _, _, loss, *_ in cluster_faults()} <= set(LOSSES)


@pytest.mark.parametrize("target", PAGES)
def test_each_fault_says_what_a_user_loses(target: str) -> None:
    faults = [known for known in known_of(target) if known.reason.startswith("A fault in")]
    assert [known.name for known in faults if not known.loses] == []


@pytest.mark.parametrize("target", PAGES)
def test_each_finding_has_its_section(target: str) -> None:
    text = (FOLDER / PAGES[target].name).read_text()
    for known in known_of(target):
        assert f"## {known.title}\n\n`{known.name}`" in text
        assert known.consequence in text
        assert known.cause in text


def test_the_first_page_counts_the_findings_of_clients() -> None:
    page = CLIENTS.read_text(encoding="utf-8")
    counted = f"[{page.count(chr(10) + '## ')} findings](docs/findings/share-consumers.md)"
    assert counted in (ROOT / "README.md").read_text(encoding="utf-8")


def test_each_test_beside_apache_kafkas_has_its_finding() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md"))
    tests = {name for names in re.findall(r"-Dtest=([\w+]+)", pages) for name in names.split("+")}
    by_maven = [names for *_, command, names in cluster_faults() if command.startswith("mvn")]
    assert {name for names in by_maven for name in names.split("+")} <= tests
    assert tests == set(CONTROLS) == {name.partition(".")[0] for name in SHOWN}
    assert all(title in track_record() for title, *_ in cluster_faults())


def test_only_known_deviations_are_noted_as_reproduced() -> None:
    reproduced = json.loads(REPRODUCED.read_text())
    assert set(reproduced.pop(CLUSTER)) <= {tests for *_, tests in cluster_faults()}
    for target, rows in reproduced.items():
        assert set(rows) <= {known.name for known in known_of(target)}


def test_a_run_replaces_the_older_reproduction_of_what_it_showed(tmp_path: Path) -> None:
    lines = [
        '{"kind": "known", "name": "a", "shows": true}',
        '{"kind": "known", "name": "b", "shows": false}',
        '{"kind": "summary"}',
    ]
    assert shown(lines) == ["a"]
    table = tmp_path / "reproduced.json"
    older, newer = ({"commit": commit} for commit in ("1111111", "2222222"))
    note(table, "kafka", dict.fromkeys(["a", "b"], older))
    note(table, "kafka", dict.fromkeys(shown(lines), newer))
    assert json.loads(table.read_text()) == {"kafka": {"a": newer, "b": older}}
