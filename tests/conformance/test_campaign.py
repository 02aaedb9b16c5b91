"""A search ends when it should, is the same for the same seed, and finds each deviation once."""

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from conformance.campaign import (
    _MORE_EXAMPLES,
    Limits,
    _kind,
    _played,
    _Search,
    alone,
    campaign,
    play,
)
from conformance.cores import asks
from conformance.cores.kit import CORES
from conformance.cores.scene import Scene
from conformance.cores.target import Reply
from conformance.target import TargetError
from conformance.wire.kit import BROKERS
from conformance.wire.target import Exchange, GroupTopic
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.share_messages import ShareRequest
from tests.doubles.broker_faults import UNCOUNTED, BrokerFault
from tests.doubles.small_core import SmallCore
from tests.doubles.spec_broker import SpecBroker
from tools.promises.behaviour import HONEST

WRONG = SmallCore("does not count redeliveries")


def test_a_search_is_the_same_for_the_same_seed() -> None:
    first, again = (campaign(SmallCore(), Limits(sequences=20), CORES, seed=3) for _ in range(2))
    assert first.asked == again.asked
    assert campaign(SmallCore(), Limits(sequences=20), CORES, seed=4).asked != first.asked


def test_a_search_ends_with_its_sequences_or_its_time() -> None:
    assert campaign(SmallCore(), Limits(sequences=3), CORES).sequences == 3
    assert campaign(SmallCore(), Limits(seconds=1e-9), CORES).sequences == 0


def test_a_budget_of_operations_ends_with_the_sequence_that_reaches_it() -> None:
    found = campaign(SmallCore(), Limits(operations=100), CORES)
    assert found.steps >= 100
    fewer = campaign(SmallCore(), Limits(sequences=found.sequences - 1), CORES)
    assert fewer.steps < 100


def test_a_sequence_is_played_alone_as_often_as_the_kit_must(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = campaign(WRONG, Limits(sequences=40, examples=1), CORES).faults[0]
    longer = (*fault.sequence, asks.MemberLeaves("m1"))
    (shown,) = alone(WRONG, longer, CORES).faults
    assert (shown.deviation, shown.sequence) == (fault.deviation, fault.sequence)
    assert alone(SmallCore(), longer, CORES).faults == ()
    played: list[object] = []

    def late(*asked: Any) -> Any:  # noqa: ANN401 - as it is called
        played.append(asked)
        return _played(WRONG if len(played) > 1 else SmallCore(), *asked[1:])

    monkeypatch.setattr("conformance.campaign._played", late)
    again = alone(WRONG, longer, attrs.evolve(CORES, tries=3))
    assert (len(played), len(again.faults)) == (2, 1)


def test_a_deviation_is_listed_once_with_a_sequence_that_shows_it() -> None:
    found = campaign(WRONG, Limits(sequences=60, examples=3), CORES)
    assert len({(f.deviation.signature, f.deviation.cause, f.kinds) for f in found.faults}) == len(
        found.faults
    )
    for fault in found.faults:
        _scene, at, again = play(WRONG, WRONG.hello(), fault.sequence, CORES)
        assert again == fault.deviation
        assert at == len(fault.sequence) - 1
        assert fault.seen >= 1
        assert fault.steps


def test_shrinking_goes_on_with_what_no_shrunk_sequence_accounts_for_and_ends_by_its_plays() -> (
    None
):
    (fault, *_) = campaign(WRONG, Limits(sequences=12, examples=1, shrink_plays=30), CORES).faults
    (whole, *_) = campaign(WRONG, Limits(sequences=12, examples=1, shrink_plays=0), CORES).faults
    assert len(fault.sequence) < len(whole.sequence)
    search = _Search(WRONG, WRONG.hello(), Limits(examples=1), CORES, ())
    kind, is_example = _kind(fault.deviation), search._is_example  # noqa: SLF001 - of the campaign
    search.faults[kind, fault.kinds] = fault
    search.seen[kind] = 2
    other = attrs.evolve(fault, kinds=("Compact",))
    assert not is_example(whole, kind)
    assert is_example(other, kind)
    search.examples[kind] = 1 + _MORE_EXAMPLES
    assert not is_example(other, kind)


def test_an_interruption_keeps_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    ask_before = Scene.ask

    def ask(self: Scene, one: asks.Ask) -> object:
        nonlocal asked
        asked += 1
        if asked == 2000:
            raise KeyboardInterrupt
        return ask_before(self, one)

    monkeypatch.setattr(Scene, "ask", ask)
    found = campaign(SmallCore(), Limits(sequences=10_000), CORES)
    assert found.interrupted
    assert found.sequences > 10


def test_progress_is_reported() -> None:
    told: list[tuple[int, int]] = []
    campaign(SmallCore(), Limits(sequences=4), CORES, progress=lambda *both: told.append(both))
    assert [sequences for sequences, _faults in told] == [1, 2, 3, 4]


class Dying(SmallCore):
    """A driver that dies after so many operations."""

    def __init__(self, after: int, *faults: str) -> None:
        super().__init__(*faults)
        self.left = after

    def apply(self, seq: int, operation: dict[str, object], answers: Sequence[ErrorCode]) -> Reply:
        self.left -= 1
        if self.left < 0:
            raise TargetError("it ended")
        return super().apply(seq, operation, answers)


class SlippingBroker(SpecBroker):
    """A broker that alters records in so many of its responses, and never again."""

    def __init__(self, times: int, fault: BrokerFault = HONEST) -> None:
        super().__init__(fault)
        self.left = times

    def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:
        exchange = super().ask(place, request, connection)
        read = tuple((at, (some[0].first,)) for at, some in exchange.read if some)
        if not (read and self.left):
            return exchange
        self.left -= 1
        return attrs.evolve(exchange, altered=read)


class DyingBroker(SpecBroker):
    """A broker that is gone after so many requests, and then removes nothing any more."""

    def __init__(self, after: int, fault: BrokerFault = HONEST) -> None:
        super().__init__(fault)
        self.left, self.tried = after, 0

    def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:
        self.left -= 1
        if self.left < 0:
            raise TargetError("the connection is closed")
        return super().ask(place, request, connection)

    def finish(self, place: GroupTopic) -> None:
        if self.left < 0:
            self.tried += 1
            raise TargetError("the topic cannot be removed")
        super().finish(place)


def test_one_sequence_of_some_is_longer() -> None:
    shorter, found = (campaign(SmallCore(), Limits(sequences=n, length=9), CORES) for n in (24, 25))
    assert found.steps - shorter.steps > 40


@pytest.mark.slow
def test_a_driver_that_dies_ends_the_search_with_its_results() -> None:
    whole = campaign(
        Dying(10**6, "does not count redeliveries"), Limits(sequences=50, examples=1), CORES
    )
    found = campaign(
        Dying(whole.steps * 2, "does not count redeliveries"), Limits(examples=1), CORES
    )
    assert found.failure == "it ended"
    assert not found.interrupted
    assert found.sequences > 20
    assert {f.deviation.signature for f in found.faults} >= {
        f.deviation.signature for f in whole.faults
    }
    assert found.exercised["acquire is answered NONE"] > 100


def test_a_broker_that_dies_ends_the_search_with_its_results() -> None:
    broker = DyingBroker(200)
    found = campaign(broker, Limits(), BROKERS)
    assert found.failure == "the connection is closed"
    assert found.sequences > 2
    assert found.asked["fetch NONE"] > 50
    assert broker.tried == 1


def test_a_deviation_is_kept_if_the_target_dies_while_shrinking() -> None:
    alive = campaign(SpecBroker(UNCOUNTED), Limits(sequences=1, examples=1), BROKERS, 0)
    (fault,) = alive.faults
    asked = sum(
        count for op, count in alive.asked.items() if op.split()[0] in {"fetch", "acknowledge"}
    )
    dying = DyingBroker(asked + 3, UNCOUNTED)
    found = campaign(dying, Limits(examples=1), BROKERS, 0)
    assert found.failure == "the connection is closed"
    assert [f.deviation.signature for f in found.faults] == [fault.deviation.signature]


def test_a_topic_that_cannot_be_removed_hides_no_deviation() -> None:
    class Keeping(SpecBroker):
        def finish(self, place: GroupTopic) -> None:
            super().finish(place)
            raise TargetError("the topic cannot be removed")

    found = campaign(Keeping(UNCOUNTED), Limits(examples=1), BROKERS, 0)
    assert found.failure == "the topic cannot be removed"
    assert len(found.faults) == 1


@pytest.mark.parametrize("after", [0, 3])
def test_a_target_that_dies_in_the_first_sequence_is_an_error(after: int) -> None:
    with pytest.raises(TargetError, match="it ended"):
        campaign(Dying(after), Limits(), CORES)
    with pytest.raises(TargetError, match="the connection is closed"):
        campaign(DyingBroker(after), Limits(), BROKERS)


def test_what_never_comes_back_is_unconfirmed() -> None:
    found = campaign(SlippingBroker(1), Limits(sequences=6), BROKERS)
    assert not found.faults
    (once,) = found.unconfirmed
    assert (once.deviation.name, once.seen, once.in_vain) == ("SENT_AS_WRITTEN", 1, 3)


def test_what_comes_back_in_one_of_the_tries_is_confirmed() -> None:
    found = campaign(SlippingBroker(2), Limits(sequences=2), BROKERS)
    assert [fault.deviation.name for fault in found.faults] == ["SENT_AS_WRITTEN"]
    assert not found.unconfirmed


def test_a_later_sequence_confirms_what_did_not_come_back() -> None:
    class Returning(SlippingBroker):
        """A broker that slips in one sequence, and for good after the replays of that."""

        opened = 0

        def open(
            self, config: SharePartitionConfig, partitions: int, group: str = ""
        ) -> GroupTopic:
            self.opened += 1
            if self.opened == 2 + BROKERS.confirmations:
                self.left = 10**6
            return super().open(config, partitions, group)

    found = campaign(Returning(1), Limits(sequences=2, shrink_seconds=1), BROKERS)
    assert (len(found.faults), found.unconfirmed) == (1, ())
