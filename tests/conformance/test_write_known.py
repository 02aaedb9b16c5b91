"""A file of what a run showed: with it nothing of the same run is new, and nothing is gone."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from conformance.campaign import Campaign, Fault, Limits, campaign, replayed, unknown
from conformance.cores.kit import CORES
from conformance.known import REASON, KnownDeviation, as_toml, read_known
from conformance.report import Report, known_now
from conformance.vectors.play import Played, play_vectors
from conformance.vectors.source import cases
from tests.doubles.small_core import SmallCore

WRONG = (
    "ignores the delivery limit of what is released",
    "delivers gaps again",
    "acknowledges what is rejected",
)
FEW = (*cases()["limits"], *cases()["lag"])


def results(target: SmallCore) -> tuple[Played, Campaign[Any], tuple[Fault[Any], ...]]:
    played = play_vectors(target, target.hello(), FEW)
    searched = campaign(target, Limits(sequences=12, examples=1), CORES)
    return played, searched, (*played.faults, *searched.faults)


@pytest.fixture(scope="module")
def report() -> Report:
    played, searched, faults = results(SmallCore(*WRONG))
    return Report(CORES, searched, (), faults, played)


def test_a_file_that_is_passed_back_leaves_nothing_new_and_nothing_gone(
    report: Report, tmp_path: Path
) -> None:
    path = tmp_path / "known.toml"
    path.write_text(as_toml(known_now(report), CORES.plain), encoding="utf-8")
    known = read_known(path, CORES.read)
    assert known == known_now(report)
    target = SmallCore(*WRONG)
    again = [*replayed(target, target.hello(), known, CORES)]
    assert all(each.fault for each in again)
    assert any(fault.deviation.vector for fault in report.new)
    assert any(not fault.deviation.vector for fault in report.new)
    assert unknown(results(target)[-1], known) == []
    written = Report(CORES, report.campaign, tuple(again), ())
    assert known_now(written) == known


def test_another_mistake_is_new_and_a_mended_one_is_gone(report: Report) -> None:
    known = known_now(report)
    other = SmallCore(
        "ignores the delivery limit of what is released",
        "gives the attempt back when a record is released",
    )
    new = unknown(results(other)[-1], known)
    assert {fault.deviation.probable_cause[0] for fault in new} == {"a delivery fails"}
    mended = SmallCore(*WRONG[1:])
    gone = [e for e in replayed(mended, mended.hello(), known, CORES) if e.fault is None]
    assert gone
    assert {each.known.difference[0] for each in gone} == {"a delivery fails at the delivery limit"}
    left = Report(CORES, report.campaign, (*gone,), ())
    assert known_now(left) == ()


def test_a_new_cause_behind_a_known_rule_is_new(report: Report) -> None:
    fault = next(f for f in report.new if not f.deviation.vector)
    (known,) = known_now(Report(CORES, report.campaign, (), (fault,)))
    assert unknown([fault], [known]) == []
    deviation = attrs.evolve(fault.deviation, cause=("another", "cause"))
    assert unknown([attrs.evolve(fault, deviation=deviation)], [known]) != []
    assert known.reason == REASON


def test_any_text_is_read_back(tmp_path: Path, report: Report) -> None:
    odd = "a \"quoted\" \\ back\x7f\x1b é \U0001f600 ''' # [x]"
    fault = report.new[0]
    known = KnownDeviation(
        name="odd",
        title=odd,
        signature=("CRASHED", "acquire", odd),
        reason=odd,
        sequence=fault.sequence,
        needs=frozenset({"Fetch", "Compact"}),
        consequence=odd,
        cause=odd,
    )
    path = tmp_path / "known.toml"
    path.write_text(
        as_toml((known, attrs.evolve(known, name="other")), CORES.plain), encoding="utf-8"
    )
    assert read_known(path, CORES.read) == (known, attrs.evolve(known, name="other"))
    assert "plays each sequence again" in path.read_text(encoding="utf-8")
    assert "plays each sequence" not in as_toml((attrs.evolve(known, sequence=()),))


def test_names_are_unique(report: Report) -> None:
    fault = next(f for f in report.new if not f.deviation.vector)
    known = known_now(Report(CORES, report.campaign, (), (fault,)))
    shown = [*replayed(SmallCore(*WRONG), SmallCore(*WRONG).hello(), known, CORES)]
    both = known_now(Report(CORES, report.campaign, tuple(shown), (fault,)))
    assert [each.name for each in both] == [known[0].name, f"{known[0].name}-2"]
