"""What is known of a divergence, and what is not shown."""

from pathlib import Path
from typing import Any

import attrs
import pytest

from conformance.known import CLUSTER, KnownDeviation, KnownError, as_toml, read_known
from judge.finding import Finding, FindingKind, FindingPlace
from replay.verdict import PartitionVerdict, Replay, Verdict
from sharespec.known_faults import (
    CLUSTER_KNOWN,
    default_known,
    known_after,
    known_in_cluster,
    known_of,
    sorted_out,
)

BACK = Finding(
    7, "spec", FindingKind.GUARD, "START_NEVER_GOES_BACK", "s", "r", "e", "b", "a",
    operation="advance_time", operations_before=("advance_log_start", "initialize"),
)  # fmt: skip
NEW = attrs.evolve(BACK, seq=11, name="END_OFFSET")
THREW = "UNKNOWN_SERVER_ERROR: java.lang.IllegalArgumentException: inconsistent range"
NULL = (
    'UNKNOWN_SERVER_ERROR: java.lang.NullPointerException: Cannot invoke "org.apache.kafka.server.'
    'share.fetch.InFlightState.hasOngoingStateTransition()" because the return value is null'
)


def replay_of(*divergences: Finding) -> Replay:
    first, *more = divergences
    verdict = PartitionVerdict(
        "g:t:0", Verdict.DIVERGES, 20, 20, divergence=first, more=tuple(more)
    )
    return Replay((verdict,), (), 1.0)


def known_as(divergence: Finding) -> str | None:
    known = known_of(divergence, default_known("kafka"))
    return known.name if known else None


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({}, "start-goes-back-on-expiry"),
        ({"operation": "expire"}, "start-goes-back-on-expiry"),
        ({"operation": "release"}, "start-goes-back-on-release"),
        ({"operation": "produce"}, None),
        ({"operations_before": ("initialize",)}, None),
        ({"name": "END_OFFSET"}, None),
        (
            {
                "name": "EXCEPTION",
                "operation": "acquire",
                "recorded": THREW,
                "operations_before": ("compact",),
            },
            "acquire-in-full-window-after-compaction",
        ),
        ({"name": "EXCEPTION", "operation": "acquire", "recorded": "UNKNOWN: other"}, None),
        (
            {"name": "EXCEPTION", "operation": "complete_write", "recorded": NULL},
            "write-completion-after-records-deleted-past-the-window",
        ),
        (
            {
                "name": "EXCEPTION",
                "operation": "complete_write",
                "recorded": NULL.replace("InFlightState", "InFlightBatch"),
            },
            None,
        ),
    ],
)
def test_a_known_fault_has_its_rule_operation_text_and_what_it_needs(
    change: dict[str, Any], name: str | None
) -> None:
    assert known_as(attrs.evolve(BACK, **change)) == name


def test_only_released_kafkas_have_known_faults() -> None:
    assert default_known("kip") == default_known("draft_resolved") == ()
    assert len(default_known("kafka_4_4")) == len(default_known("kafka")) > 10
    assert {fault.page for fault in default_known("kafka")} == {"docs/findings/apache-kafka.md"}


def test_known_and_new_divergences_are_counted() -> None:
    told = sorted_out(replay_of(BACK, NEW), (), default_known("kafka"))
    assert (told.known, told.new) == (1, 1)
    assert told.label(BACK).startswith("start-goes-back-on-expiry: The start offset goes back")
    assert told.label(NEW) == ""
    assert list(told.lines()) == ["1 new divergence, 1 known"]


def test_what_is_written_explains_all_that_diverged_and_no_disagreement(tmp_path: Path) -> None:
    ours = attrs.evolve(NEW, kind=FindingKind.DISAGREEMENT, name="OURS")
    default = default_known("kafka")
    results = [
        sorted_out(replay_of(BACK, NEW, NEW), (), default),
        sorted_out(replay_of(ours), (), ()),
    ]
    (tmp_path / "known.toml").write_text(as_toml(known_after(results, (), default)))
    written = read_known(tmp_path / "known.toml")
    assert [each.name for each in written] == [
        "start-goes-back-on-expiry",
        "end-offset-in-advance-time",
    ]
    assert [known_of(each, written) is None for each in (BACK, NEW, ours)] == [False, False, True]
    assert known_after(results, written, default) == written
    unlike = attrs.evolve(BACK, operations_before=("initialize",))
    assert known_of(unlike, written) is None


def test_what_a_file_names_and_no_divergence_shows_is_gone() -> None:
    other = KnownDeviation("other", "Other", ("END_OFFSET", "advance_time"), "why")
    missed = attrs.evolve(other, name="missed", signature=("RECORDS", "acquire"))
    told = sorted_out(replay_of(NEW), (other, missed), ())
    assert (told.known, told.new) == (1, 0)
    assert told.totals() == {"known": 1, "new": 0, "gone": ["missed"]}
    assert "known, and not shown by this trace: missed" in told.lines()


def test_a_file_for_traces_needs_no_sequence_and_may_say_more(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text('[[deviation]]\nname = "a"\nreason = "b"\nsignature = ["X", "y"]\nodd = 1\n')
    assert read_known(path) == (KnownDeviation("a", "a", ("X", "y"), "b"),)
    path.write_text('[[deviation]]\nname = "a"\nreason = "b"\nsignature = ["X"]')
    with pytest.raises(KnownError, match="signature is"):
        read_known(path)


FAILED = attrs.evolve(
    BACK, name="EXCEPTION", operation="acquire", operations_before=("archive_aborted",),
    recorded="UNKNOWN_SERVER_ERROR: java.lang.IllegalStateException: Batch record not found. The",
    place=FindingPlace("g:t:1", event='{"after":{"start_offset":90,"end_offset":96}}'),
)  # fmt: skip
COUNTED = attrs.evolve(
    NEW, engine="request log", name="WRITTEN_STATE", offset=90, place=FindingPlace("g:t:1")
)


@pytest.mark.parametrize(
    ("finding", "fetch", "is_known"),
    [
        ({}, {}, True),
        ({"name": "ACQUIRED"}, {}, True),
        ({"name": "NO_RECORD_LOST"}, {}, False),
        ({"offset": 96}, {}, False),
        ({"offset": None}, {}, False),
        ({"place": FindingPlace("h:t:1")}, {}, False),
        ({}, {"operation": "release"}, False),
        ({}, {"name": "END_OFFSET"}, False),
        ({}, {"recorded": "UNKNOWN_SERVER_ERROR: java.lang.Error: another"}, False),
    ],
)
def test_an_attempt_that_a_log_shows_is_known_by_the_fetch_that_failed_after_it(
    finding: dict[str, Any], fetch: dict[str, Any], *, is_known: bool
) -> None:
    seen, failed = attrs.evolve(COUNTED, **finding), attrs.evolve(FAILED, **fetch)
    known = known_in_cluster(seen, traces=(failed,))
    assert known.startswith("fetch-fails-on-aborted-batch") is is_known
    assert not known_in_cluster(seen)


@pytest.mark.parametrize(
    ("place", "is_known"), [("g:t:1", True), ("g:1", True), ("g:t:2", False), ("h:t:1", False)]
)
def test_a_finding_is_known_by_what_the_rules_found_of_its_record(
    place: str, *, is_known: bool
) -> None:
    known = read_known(CLUSTER_KNOWN)[0]
    (name, operation), at = known.signature, FindingPlace(place)
    rule = attrs.evolve(COUNTED, engine=CLUSTER, name=name, operation=operation, place=at)
    rule = attrs.evolve(rule, cause=known.difference)
    assert bool(known_in_cluster(COUNTED, (COUNTED, rule))) is is_known
