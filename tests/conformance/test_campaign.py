"""A search ends when it should, is the same for the same seed, and finds each deviation once."""

import threading

import attrs
import pytest

from conformance.campaign import (
    _MORE_EXAMPLES,
    Campaign,
    Limits,
    _kind,
    _Search,
    alone,
    campaign,
    play,
)
from conformance.cores.kit import CORES
from conformance.plays import Plays
from conformance.target import Hello, TargetError
from tests.conformance.counters import COUNTERS, DOUBTED, Add, Counter, Counters, Meter
from tests.doubles.small_core import SmallCore

WRONG = SmallCore("does not count redeliveries")
FAR = 10**9


def searched(target: Meter, sequences: int = 30, seed: int = 0, **more: float) -> Campaign[Add]:
    limits = Limits(sequences=sequences, examples=1)
    return campaign(target, attrs.evolve(limits, **more), COUNTERS, seed)  # type: ignore[arg-type] # any limit


def test_a_search_is_the_same_for_the_same_seed() -> None:
    found = [searched(Meter(), 1, seed, shrink_plays=0) for seed in (3, 3, 4)]
    first, again, other = (each.faults[0].sequence for each in found)
    assert first == again != other


def test_sequences_that_are_played_at_once_count_in_their_order() -> None:
    together, met = threading.Barrier(3), threading.Event()

    class Met(Counters):
        def stage(self, target: Meter, hello: Hello[None], /) -> Counter:
            if self.at_once > 1 and not met.is_set():
                together.wait(60)  # It fails where fewer are played at once.
                met.set()
            return super().stage(target, hello)

    one, three = (
        attrs.evolve(campaign(Meter(), Limits(60, 30), kit, 5), seconds=0)
        for kit in (COUNTERS, Met(at_once=3))
    )
    assert three == one
    assert one.faults


def test_a_search_ends_with_its_sequences_or_its_time() -> None:
    assert searched(Meter(), 3).sequences == 3
    assert searched(Meter(), seconds=1e-9).sequences == 0


def test_a_budget_of_operations_ends_with_the_sequence_that_reaches_it() -> None:
    found = searched(Meter(FAR), operations=100)
    assert found.steps >= 100
    assert searched(Meter(FAR), found.sequences - 1).steps < 100


def test_one_sequence_of_some_is_longer_and_so_is_one_while_something_waits() -> None:
    shorter, found = (searched(Meter(FAR), n, length=9) for n in (24, 25))
    assert found.steps - shorter.steps > 40
    assert searched(Meter(FAR, waits=True), 24).steps > 2 * searched(Meter(FAR), 24).steps


def test_a_sequence_ends_when_the_judge_cannot_follow() -> None:
    assert 0 < searched(Meter(14), 200).unjudged < 100


def test_a_search_shrinks_what_it_finds_and_closes_every_stage() -> None:
    meter = Meter()
    (fault,) = searched(meter, seed=5).faults
    assert sum(add.by for add in fault.sequence) == 20
    assert len(fault.sequence) <= 6
    assert COUNTERS.plain(fault.sequence)[0] == {"by": fault.sequence[0].by, "ask": "Add"}
    assert meter.closed == meter.opened > 30
    (whole,) = searched(Meter(), seed=5, shrink_seconds=0).faults
    assert len(whole.sequence) > len(fault.sequence)


def test_a_sequence_is_played_alone_as_often_as_the_kit_must() -> None:
    (fault,) = searched(Meter()).faults
    (shown,) = alone(Meter(), (*fault.sequence, Add(1)), COUNTERS).faults
    assert (shown.deviation, shown.sequence) == (fault.deviation, fault.sequence)
    for tries, shows in ((1, 0), (2, 1), (3, 1)):
        late = Meter(shows=lambda number: number > 0)
        again = alone(late, fault.sequence, attrs.evolve(COUNTERS, tries=tries))
        assert (late.opened, len(again.faults)) == (min(tries, 2), shows)


def test_a_deviation_is_listed_once_with_a_sequence_that_shows_it() -> None:
    found = campaign(WRONG, Limits(sequences=60, examples=3), CORES)
    assert len({(f.deviation.signature, f.deviation.cause, f.kinds) for f in found.faults}) == len(
        found.faults
    )
    for fault in found.faults:
        _scene, at, again = play(WRONG, WRONG.hello(), fault.sequence, CORES)
        assert again == (fault.deviation,)
        assert at == len(fault.sequence) - 1
        assert fault.seen >= 1
        assert fault.steps


def test_shrinking_goes_on_with_what_no_shrunk_sequence_accounts_for_and_ends_by_its_plays() -> (
    None
):
    (fault, *_) = campaign(WRONG, Limits(sequences=12, examples=1, shrink_plays=30), CORES).faults
    (whole, *_) = campaign(WRONG, Limits(sequences=12, examples=1, shrink_plays=0), CORES).faults
    assert len(fault.sequence) < len(whole.sequence)
    search = _Search(WRONG, WRONG.hello(), Limits(examples=1), CORES, (), Plays(1))
    kind, is_example = _kind(fault.deviation), search._is_example  # noqa: SLF001 - of the campaign
    search.faults[kind, fault.kinds] = fault
    search.seen[kind] = 2
    other = attrs.evolve(fault, kinds=("Compact",))
    assert not is_example(whole, kind)
    assert is_example(other, kind)
    search.examples[kind] = 1 + _MORE_EXAMPLES
    assert not is_example(other, kind)


def test_an_interruption_keeps_the_results() -> None:
    found = searched(Meter(FAR, left=2000, ends=KeyboardInterrupt()), 10_000)
    assert found.interrupted
    assert found.sequences > 10


def test_progress_is_reported() -> None:
    told: list[tuple[int, int]] = []
    limits = Limits(sequences=4)
    campaign(Meter(), limits, COUNTERS, progress=lambda *both: told.append(both))
    assert told == [(number, 1) for number in range(1, 5)]


def test_a_target_that_dies_ends_the_search_with_its_results() -> None:
    meter = Meter(FAR, left=200)
    found = searched(meter)
    assert (found.failure, found.interrupted) == ("it ended", False)
    assert found.sequences > 2
    assert found.asked["add NONE"] == found.exercised["added"] == 200
    assert meter.closed == meter.opened


def test_a_deviation_is_kept_if_the_target_dies_while_shrinking_or_cannot_be_closed() -> None:
    whole = searched(Meter(), 1, shrink_plays=0)
    for target, said in (
        (Meter(left=whole.steps + 3), "it ended"),
        (Meter(stuck=True), "it cannot be closed"),
    ):
        found = searched(target)
        assert found.failure == said
        assert [fault.deviation.name for fault in found.faults] == ["LIMIT"]


@pytest.mark.parametrize("after", [0, 3])
def test_a_target_that_dies_in_the_first_sequence_is_an_error(after: int) -> None:
    with pytest.raises(TargetError, match="it ended"):
        searched(Meter(left=after))


@pytest.mark.parametrize(
    ("shown", "faults", "unconfirmed"),
    [
        ({0}, 0, [(1, 3)]),  # It never comes back.
        ({0, 2}, 1, []),  # It does in one of the tries.
        ({0, *range(4, 99)}, 1, []),  # A later sequence confirms it.
    ],
)
def test_what_does_not_come_back_is_unconfirmed(
    shown: set[int], faults: int, unconfirmed: list[tuple[int, int]]
) -> None:
    limits = Limits(sequences=6, examples=1)
    found = campaign(Meter(5, shown.__contains__), limits, DOUBTED)
    assert len(found.faults) == faults
    assert [(each.seen, each.in_vain) for each in found.unconfirmed] == unconfirmed


def test_a_shorter_sequence_that_does_not_come_back_is_not_the_one_reported() -> None:
    def reported(*shown: int, plays: float) -> tuple[Add, ...]:
        limits = Limits(sequences=1, examples=1, shrink_plays=plays)
        (fault,) = campaign(Meter(20, shown.__contains__), limits, DOUBTED, 5).faults
        return fault.sequence

    # Stage 0 shows it and 1 confirms it; the next 20 shorten it, and the last show what is left.
    whole = reported(*range(99), plays=0)
    assert reported(*range(22), plays=20) == whole
    assert len(reported(*range(99), plays=20)) < len(whole)
