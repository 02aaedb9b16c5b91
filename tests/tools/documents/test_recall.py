"""Recall: what was measured of each fault, and what counts as found."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.releases import RELEASES
from tools import recall
from tools.documents.recall import HISTORY, MEASURED, PARTS, document, part_of

FAULTS = tomllib.loads(HISTORY.read_text())["fault"]


def test_each_fault_has_its_releases_and_is_looked_for_or_says_why_not() -> None:
    assert len({fault["id"] for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        mended = fault.get("mended")
        if fault["in"] in RELEASES and mended:
            assert RELEASES.index(fault["in"]) < RELEASES.index(mended)
        if part_of(fault) in PARTS:
            assert ("shows" in fault) != ("beyond" in fault)


def test_what_is_looked_for_was_measured() -> None:
    measured = json.loads(MEASURED.read_text())
    listed = [(part_of(fault), fault["id"]) for fault in FAULTS if "shows" in fault]
    assert {(part, fault) for part in measured for fault in measured[part]["found"]} == {*listed}
    assert all(f"| {fault['id']} | {fault['in']} |" in document() for fault in FAULTS)
    found = sum(one["search"] for told in measured.values() for one in told["found"].values())
    assert f"**{found}**, which is {found} of all {len(FAULTS)}" in document()


@pytest.mark.parametrize(
    ("older", "newer", "found"),
    [
        ({"A in acquire"}, set(), True),
        (set(), set(), False),
        ({"A in acquire"}, {"A in acquire"}, False),
    ],
)
def test_a_fault_is_found_if_only_the_release_that_has_it_shows_it(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    older: set[str],
    newer: set[str],
    *,
    found: bool,
) -> None:
    history = tmp_path / "history.toml"
    history.write_text(
        '[[fault]]\nid = "one"\nin = "4.1.0"\nmended = "4.1.1"\nshows = ["A in acquire"]\n'
    )
    shown = {"4.1.0": ((older, set[str]()), 5), "4.1.1": ((newer, set[str]()), 5)}
    monkeypatch.setattr(recall, "HISTORY", history)
    monkeypatch.setattr(recall, "MEASURED", tmp_path / "recall.json")
    monkeypatch.setattr(recall, "searched", lambda *asked: shown[asked[1]])
    assert CliRunner().invoke(recall.main, catch_exceptions=False).exit_code == 0
    measured = json.loads((tmp_path / "recall.json").read_text())
    assert measured["leader"]["found"] == {"one": {"search": found, "vectors": False}}
