"""A legal broker never diverges, and a faulty one does, by the rule that it breaks."""

import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.rules import VERDICT_RULES
from replay.observed.settings import Assumed
from replay.observed.verdict import ObservedVerdict
from replay.verdict import Verdict
from tests.doubles.broker_faults import BrokerFault, fault_named
from tests.replay.observed.real import judged
from tests.replay.observed.simulated import CONFIG, Simulated
from tools.promises.behaviour import HONEST
from tools.promises.routes import SEEN, UNSEEN

KNOWN = Assumed(
    slack_ms=10,
    sweep_ms=300,
    delivery_limit=CONFIG.delivery_count_limit,
    max_record_locks=CONFIG.partition_max_record_locks,
    compacted=False,
    offered_within=4,
)
HASTY = attrs.evolve(KNOWN, offered_within=2)
"""Of a window that its first record holds there are few fetches until it is full."""

LITTLE_KNOWN = Assumed()
QUICK = (
    "does not count redeliveries",
    "acquires what another member holds",
    "PIGGYBACKED_IS_LOST",
    "LATER_BATCH_IS_LOST",
)
SEEDS = 6


def verdict_of(
    folder: Path, seed: int, fault: BrokerFault, known: Assumed, ms: float = 10_000
) -> ObservedVerdict | None:
    crashes = 0.01 if seed % 2 else 0
    lines = Simulated(seed, fault, crashes=crashes).run(3, ms)
    verdicts = judged(folder, lines, known).verdicts
    return verdicts[0] if verdicts else None


def rule_of(folder: Path, fault: BrokerFault) -> str | None:
    """Return the rule by which the first of some logs of a broker diverges."""
    known = HASTY if fault.name == "passes over records that were released" else KNOWN
    for seed in range(SEEDS):
        verdict = verdict_of(folder, seed, fault, known)
        if verdict and verdict.divergences:
            return verdict.divergences[0].name
    return None


def test_of_every_faulty_broker_a_request_log_shows_rules_or_says_why_not() -> None:
    assert {name for name, shown in (SEEN | UNSEEN).items() if not shown} == set()
    assert set().union(*SEEN.values()) <= VERDICT_RULES.keys()


@given(seed=st.integers(0, 10**6), known=st.sampled_from([KNOWN, LITTLE_KNOWN]))
@settings(max_examples=4)
def test_a_legal_broker_does_not_diverge(
    tmp_path_factory: pytest.TempPathFactory, seed: int, known: Assumed
) -> None:
    verdict = verdict_of(tmp_path_factory.mktemp("log"), seed, HONEST, known, ms=4000)
    assert verdict is None or verdict.verdict is not Verdict.DIVERGES, verdict


@pytest.mark.long
@pytest.mark.slow
@given(seed=st.integers(0, 10**6), known=st.sampled_from([KNOWN, LITTLE_KNOWN]))
@settings(max_examples=60)
def test_a_legal_broker_does_not_diverge_for_long(
    tmp_path_factory: pytest.TempPathFactory, seed: int, known: Assumed
) -> None:
    verdict = verdict_of(tmp_path_factory.mktemp("log"), seed, HONEST, known, ms=20_000)
    assert verdict is None or verdict.verdict is not Verdict.DIVERGES, verdict


@pytest.mark.parametrize(("seed", "sixths"), [(4, 4), (7, 2), (12, 2)])
def test_a_log_of_which_the_beginning_is_missing_does_not_diverge(
    tmp_path: Path, seed: int, sixths: int
) -> None:
    lines = Simulated(seed, crashes=0.01 if seed % 2 else 0).run(3, 6000)
    [verdict] = judged(tmp_path, lines[sixths * len(lines) // 6 :], KNOWN).verdicts
    assert verdict.divergences == ()


@pytest.mark.parametrize("seed", [101, 118, 135, 314])
def test_a_legal_broker_whose_writes_fail_does_not_diverge(tmp_path: Path, seed: int) -> None:
    crashes = 0.01 if seed % 2 else 0
    lines = Simulated(seed, crashes=crashes, failures=0.4).run(4, 8000)
    [verdict] = judged(tmp_path, lines, KNOWN if seed % 3 else LITTLE_KNOWN).verdicts
    assert verdict.divergences == ()
    assert verdict.requests > 50


@pytest.mark.long
@pytest.mark.slow
@given(seed=st.integers(0, 10**6), known=st.sampled_from([KNOWN, LITTLE_KNOWN]))
@settings(max_examples=60)
def test_a_legal_broker_whose_writes_fail_does_not_diverge_for_long(
    tmp_path_factory: pytest.TempPathFactory, seed: int, known: Assumed
) -> None:
    lines = Simulated(seed, crashes=0.01 * (seed % 2), failures=0.3).run(4, 8000)
    for verdict in judged(tmp_path_factory.mktemp("log"), lines, known).verdicts:
        assert verdict.divergences == (), verdict


def test_a_legal_broker_conforms_where_no_member_crashes(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, 2, HONEST, KNOWN)
    assert verdict is not None
    assert verdict.verdict is Verdict.CONFORMS
    assert verdict.requests > 50
    assert verdict.checked == verdict.events


@pytest.mark.parametrize("seed", [1, 3])
def test_a_legal_broker_offers_its_records_soon(tmp_path: Path, seed: int) -> None:
    verdict = verdict_of(tmp_path, seed, HONEST, HASTY)
    assert verdict is not None
    assert verdict.divergences == ()


@pytest.mark.parametrize("name", QUICK)
def test_a_faulty_broker_is_found(tmp_path: Path, name: str) -> None:
    assert rule_of(tmp_path, fault_named(name)) in SEEN[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SEEN if name not in QUICK])
def test_every_other_faulty_broker_of_the_table_is_found(tmp_path: Path, name: str) -> None:
    assert rule_of(tmp_path, fault_named(name)) in SEEN[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", UNSEEN)
def test_a_faulty_broker_that_is_listed_as_unseen_is_not_found(tmp_path: Path, name: str) -> None:
    assert rule_of(tmp_path, fault_named(name)) is None


def test_a_seed_gives_one_log_whatever_the_order_of_sets() -> None:
    code = f"from {Simulated.__module__} import Simulated; print(Simulated(9).run(3, 9000))"
    logs = {
        subprocess.check_output([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed})
        for seed in ("0", "11")
    }
    assert len(logs) == 1
