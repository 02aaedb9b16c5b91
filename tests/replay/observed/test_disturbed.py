"""What a busy host, a clock that is set back and lost lines do to a log is no fault of a broker."""

from pathlib import Path

import pytest

from replay.observed.settings import Assumed
from replay.verdict import Verdict
from tests.doubles.broker_faults import fault_named
from tests.replay.observed.disturbed import DISTURBANCES, disturbed
from tests.replay.observed.real import KNOWN, altered, dump, judged, lines
from tests.replay.observed.simulated import Simulated
from tests.replay.observed.test_run import _counted_twice
from tests.replay.observed.test_simulated import KNOWN as OF_SIMULATED
from tests.replay.observed.test_simulated import QUICK
from tools.promises.routes import SEEN


@pytest.mark.parametrize(
    "seeds",
    [
        range(2),
        pytest.param(range(2, 5), marks=pytest.mark.slow),
        pytest.param(range(5, 100), marks=[pytest.mark.slow, pytest.mark.long]),
    ],
)
@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_a_disturbed_log_of_a_released_broker_does_not_diverge(
    tmp_path: Path, disturbance: str, seeds: range
) -> None:
    for seed in seeds:
        text = disturbed(list(lines()), disturbance, seed)
        settings, records = Assumed() if seed % 2 else KNOWN, () if seed % 3 else dump()
        for verdict in judged(tmp_path, text, settings, records=records).verdicts:
            assert verdict.divergences == (), (disturbance, seed, verdict)


@pytest.mark.parametrize("disturbance", ["busy host", "clock steps back"])
def test_an_altered_log_diverges_though_it_is_disturbed(tmp_path: Path, disturbance: str) -> None:
    text = altered("SHARE_FETCH", 2, _counted_twice)
    results = [judged(tmp_path, disturbed(text, disturbance, seed)) for seed in range(3)]
    assert any(result.count(Verdict.DIVERGES) for result in results)


@pytest.mark.parametrize("name", [name for name in QUICK if name != "PIGGYBACKED_IS_LOST"])
def test_a_faulty_broker_is_found_on_a_busy_host(tmp_path: Path, name: str) -> None:
    found = set()
    for seed in range(3):
        text = disturbed(
            Simulated(seed, fault_named(name), crashes=0).run(3, 5000), "busy host", seed
        )
        found |= {
            wrong.name
            for v in judged(tmp_path, text, OF_SIMULATED).verdicts
            for wrong in v.divergences
        }
    assert found & set(SEEN[name])


@pytest.mark.parametrize("seed", range(3))
def test_what_transactions_aborted_is_complete(tmp_path: Path, seed: int) -> None:
    text = Simulated(seed, crashes=0, aborts=0.4).run(3, 4000)
    [verdict] = judged(tmp_path, text, OF_SIMULATED).verdicts
    assert verdict.verdict is Verdict.CONFORMS
