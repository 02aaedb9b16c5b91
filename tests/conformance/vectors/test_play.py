"""Implementations play the vectors: right ones pass, and each wrong one fails where it should."""

from collections.abc import Sequence

import attrs
import pytest

from conformance.cores.builtin import EngineTarget
from conformance.cores.kafka import KNOWN
from conformance.cores.kit import CORES
from conformance.cores.target import Reply
from conformance.known import read_known
from conformance.subjects import TargetChoice
from conformance.target import TargetError
from conformance.vectors.play import all_cases, play_vectors, reason_to_skip
from conformance.vectors.source import Case
from model.errors import ErrorCode
from tests.conformance.unbuilt import opened_or_skipped
from tests.doubles.small_core import SmallCore

FOUND_BY = {
    "gives the attempt back when a record is released": "release-below-the-limit",
    "ignores the delivery limit of what is released": "a-release-at-the-limit-archives",
    "ignores the delivery limit of what expires": "an-expiry-at-the-limit-archives",
    "acknowledges what is rejected": "reject",
    "delivers gaps again": "gap",
    "lets anybody acknowledge what is held": "who-does-not-own-a-record-cannot-acknowledge-it",
    "lets a lock expire after half its duration": "a-lock-lasts-its-duration",
    "keeps every lock that is due": "a-lock-expires-at-its-deadline",
    "does not extend a lock that is renewed": "a-renewal-extends-the-lock",
    "moves the start offset past a record that is held": "the-start-offset-stops-at-a-held-record",
    "ignores the limit of the window": "under-record-limit-the-window-keeps-to-its-limit",
    "writes the start offset to which its write moves it": "an-expiry-at-the-limit-archives",
    "keeps a change whose write failed": "a-write-that-fails-restores-the-record",
    "applies and writes the first batch of a refused request": (
        "one-bad-batch-refuses-the-batches-before-it"
    ),
    "does not count redeliveries": "acquire-again-what-was-released",
    "keeps the records of a member that leaves": "a-member-leaves",
}
"""Every wrong core; none of them takes a random search."""


def named(*names: str) -> list[Case]:
    return [case for case in all_cases() if case.name in names]


@pytest.mark.parametrize("profile", ["kip", "kafka"])
@pytest.mark.parametrize("name", ["spec", "impl"])
def test_the_engines_play_all_of_their_profile(name: str, profile: str) -> None:
    target = EngineTarget(name, profile)
    played = play_vectors(target, target.hello(), all_cases())
    assert played.faults == ()
    assert set(played.skipped) <= {f"is not for profile {profile}"}
    assert played.number + sum(played.skipped.values()) == len(all_cases()) > 200


def test_the_small_core_plays_what_it_can() -> None:
    target = SmallCore()
    played = play_vectors(target, target.hello(), all_cases())
    assert played.faults == ()
    assert played.number > 150
    assert not any("acquire_modes" in reason for reason in played.skipped)


@pytest.mark.parametrize("fault", FOUND_BY)
def test_a_wrong_core_fails_the_vector_about_it(fault: str) -> None:
    target, name = SmallCore(fault), FOUND_BY[fault]
    (found,) = play_vectors(target, target.hello(), named(name)).faults
    assert found.deviation.label == name
    (case,) = named(name)
    assert found.deviation.pins == case.pins
    cited = found.deviation.rests_on
    if len(found.sequence) < len(case.asks):
        assert cited is None
    else:
        assert cited is not None
        assert cited.says == f"“{case.rests_on.says}”"
    assert len(found.sequence) == len(found.steps) <= len(named(name)[0].asks)


def test_the_first_missing_need_is_the_reason() -> None:
    hello = EngineTarget("spec").hello()
    (case,) = named("a-renewal-beside-a-write-that-fails")
    assert reason_to_skip(case, hello) is None
    for change, reason in (
        ({"renew": False}, "needs renew"),
        ({"write_errors": ()}, "needs write_errors COORDINATOR_NOT_AVAILABLE"),
    ):
        can = attrs.evolve(hello.capabilities, **change)
        assert reason_to_skip(case, attrs.evolve(hello, capabilities=can)) == reason


def test_a_core_with_one_acquire_mode_plays_vectors_in_it() -> None:
    target = EngineTarget("spec")
    hello = target.hello()
    can = attrs.evolve(hello.capabilities, acquire_modes=("batch_optimized",))
    one_mode = attrs.evolve(hello, capabilities=can)
    played = play_vectors(target, one_mode, all_cases())
    assert not played.faults
    assert played.number == play_vectors(target, hello, all_cases()).number


@pytest.mark.broker
def test_apache_kafka_differs_where_it_is_known_to() -> None:
    with opened_or_skipped(TargetChoice("kafka", silence=60)) as target:
        played = play_vectors(target, target.hello(), all_cases())
    known = {name for one in read_known(KNOWN, CORES.read) for name in one.vectors}
    assert {fault.deviation.label for fault in played.faults} == known
    assert played.number > 190


class Mumbling(SmallCore):
    """It answers with a state that nobody can read, from its first answer on or from a later."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after

    def apply(self, seq: int, operation: dict[str, object], answers: Sequence[ErrorCode]) -> Reply:
        self._after -= 1
        reply = super().apply(seq, operation, answers)
        return reply if self._after >= 0 else {**reply, "after": {}}


def test_a_driver_that_nobody_can_read_is_told_so_once() -> None:
    target = Mumbling(0)
    with pytest.raises(TargetError, match=r"initialize cannot be read: it has no after.start_offs"):
        play_vectors(target, target.hello(), all_cases())
    later = Mumbling(40)
    played = play_vectors(later, later.hello(), all_cases())
    assert played.faults == ()
    assert 2 < played.number < 20
    assert "cannot be read: it has no after.start_offset; it sent {" in played.failure
