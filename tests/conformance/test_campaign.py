"""A search ends when it should, is the same for the same seed, and finds each deviation once."""

import pytest

from conformance import asks
from conformance.campaign import Limits, campaign, play
from conformance.miniature import FaultKind, Miniature
from conformance.scene import Scene

WRONG = Miniature(FaultKind.COUNT_STAYS)


def test_a_search_is_the_same_for_the_same_seed() -> None:
    first, again = (campaign(Miniature(), Limits(sequences=20), seed=3) for _ in range(2))
    assert first.asked == again.asked
    assert campaign(Miniature(), Limits(sequences=20), seed=4).asked != first.asked


def test_a_search_ends_with_its_sequences_or_its_time() -> None:
    assert campaign(Miniature(), Limits(sequences=3)).sequences == 3
    assert campaign(Miniature(), Limits(seconds=1e-9)).sequences == 0


def test_a_deviation_is_listed_once_with_a_sequence_that_shows_it() -> None:
    found = campaign(WRONG, Limits(sequences=60, examples=3))
    assert len({(f.deviation.signature, f.kinds) for f in found.faults}) == len(found.faults)
    for fault in found.faults:
        _scene, at, again = play(WRONG, WRONG.hello(), fault.sequence)
        assert again == fault.deviation
        assert at == len(fault.sequence) - 1
        assert fault.seen >= 1
        assert fault.steps


def test_an_interruption_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    ask_before = Scene.ask

    def ask(self: Scene, one: asks.Ask) -> object:
        nonlocal asked
        asked += 1
        if asked == 2000:
            raise KeyboardInterrupt
        return ask_before(self, one)

    monkeypatch.setattr(Scene, "ask", ask)
    found = campaign(Miniature(), Limits(sequences=10_000))
    assert found.interrupted
    assert found.sequences > 10


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    campaign(Miniature(), Limits(sequences=4), progress=lambda *both: told.append(both))
    assert [sequences for sequences, _faults in told] == [1, 2, 3, 4]
