"""Recall: what was measured of each fault, and what counts as found."""

import json
import tomllib
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import click
import pytest
from click.testing import CliRunner

from clients.kit import CLIENTS
from conformance.campaign import Fault, Limits
from conformance.cores import asks
from conformance.cores.kit import CORES
from conformance.deviation import target_finding
from conformance.known import KnownDeviation
from conformance.releases import RELEASES
from model.config import SharePartitionConfig
from tools import recall
from tools.documents.recall import HISTORY, MEASURED, PARTS, part_of, sections, total
from tools.targets import MeasuredTarget

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
    listed = {(part_of(fault), fault["id"]) for fault in FAULTS if "shows" in fault}
    assert {(part, fault) for part in measured for fault in measured[part]["found"]} == listed
    assert all(f"| {fault['id']} | {fault['in']} |" in sections() for fault in FAULTS)
    found = sum(one["search"] for told in measured.values() for one in told["found"].values())
    assert f"**{found}**, which is {found} of all {len(FAULTS)}" in total()


def _searched(form: dict[str, Any] | None) -> dict[str, Any]:
    shown = [] if form is None else [form]
    return {"search": shown, "vectors": [], "sequences": 5, "seconds": 1, "ended": ""}


A = {"names": ["A in acquire"], "text": "offset 1 came with 2", "with": ["renew", "brokers 5"]}


@pytest.mark.parametrize(
    ("older", "newer", "entry", "found"),
    [
        (A, None, "A in acquire", True),
        (None, None, "A in acquire", False),
        (A, A, "A in acquire", False),
        (A, None, "A", False),
        (A, None, "A in acquire saying came with 2 [renew, brokers 5]", True),
        (A, None, "A in acquire saying came with 3", False),
        (A, None, "A in acquire [renew, brokers 4]", False),
        (A, None, "A in acquire [renew, no poll]", True),
        (A, None, "A in acquire [no renew]", False),
        (A, A | {"with": []}, "A in acquire [renew]", True),
    ],
)
def test_a_fault_is_found_if_only_the_release_that_has_it_shows_it(  # noqa: PLR0913
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    older: dict[str, Any] | None,
    newer: dict[str, Any] | None,
    entry: str,
    *,
    found: bool,
) -> None:
    history = tmp_path / "history.toml"
    history.write_text(
        f'[[fault]]\nid = "one"\nin = "4.1.0"\nmended = "4.1.1"\nshows = ["{entry}"]\n'
    )
    shown, asked = {"4.1.0": _searched(older), "4.1.1": _searched(newer)}, []

    def searched(_target: object, version: str, *_budget: object) -> dict[str, Any]:
        asked.append(version)
        if asked == ["4.1.0", "4.1.1"]:
            raise click.Abort
        return shown[version]

    monkeypatch.setattr(recall, "HISTORY", history)
    monkeypatch.setattr(recall, "MEASURED", tmp_path / "recall.json")
    monkeypatch.setattr(recall, "SEARCHED", tmp_path / "searched")
    monkeypatch.setattr(recall, "searched", searched)
    assert CliRunner().invoke(recall.main).exit_code == 1
    assert not (tmp_path / "recall.json").exists()
    assert CliRunner().invoke(recall.main, catch_exceptions=False).exit_code == 0
    assert asked == ["4.1.0", "4.1.1", "4.1.1"]
    measured = json.loads((tmp_path / "recall.json").read_text())
    assert measured["leader"]["found"] == {"one": {"search": found, "vectors": False}}


@pytest.mark.parametrize(("again", "shown"), [(0, True), (1, False)])
def test_what_every_sequence_begins_with_is_no_step_of_it(again: int, *, shown: bool) -> None:
    begins = asks.CoreTakeOver(SharePartitionConfig())
    sequence = (begins, asks.CoreCompact(0), *[begins] * again)
    fault = Fault(target_finding("A", "acquire", "", "", ""), sequence, (), ("Compact", "TakeOver"))
    forms = [*recall.forms_of(CORES, [fault])]
    assert recall.shows("A in acquire [Compact, no TakeOver]", forms) == shown


def test_what_a_release_has_mended_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    passed_over: list[str] = []

    def campaign(*_of: object, known: Iterable[KnownDeviation]) -> SimpleNamespace:
        passed_over.extend(each.name for each in known)
        none = {"faults": (), "unconfirmed": (), "met": {}, "interrupted": False, "failure": ""}
        return SimpleNamespace(**none, sequences=1, seconds=1)

    monkeypatch.setattr(recall, "campaign", campaign)
    of_all = KnownDeviation("of-all", "It fails", ("waits", ""), "A fault.")
    mended = attrs.evolve(of_all, name="mended", mended="4.4.0")
    target = MeasuredTarget(
        "verify-client kafka", CLIENTS, (of_all, mended), (), lambda _version: nullcontext()
    )
    assert recall.searched(target, "4.3.1", Limits(1, 1), 0)["search"] == []
    assert passed_over == ["of-all"]
