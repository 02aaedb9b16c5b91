"""A legal broker never diverges, and a faulty one does, by the rule that it breaks."""

from collections.abc import Callable
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
from tests.replay.samples import present
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
SEEDS, SEEDS_UNSEEN = 6, 2
FAILING = 101, 118, 135, 314


def verdict_of(
    folder: Path, seed: int, fault: BrokerFault, known: Assumed, ms: float = 10_000
) -> ObservedVerdict | None:
    crashes = 0.01 if seed % 2 else 0
    lines = Simulated(seed, fault, crashes=crashes).run(3, ms)
    verdicts = judged(folder, lines, known).verdicts
    return verdicts[0] if verdicts else None


def failing(folder: Path, seed: int, known: Assumed, ms: float) -> ObservedVerdict | None:
    """Judge a legal broker's log, many of whose writes fail."""
    lines = Simulated(seed, crashes=0.01 * (seed % 2), failures=0.3).run(4, ms)
    return next(iter(judged(folder, lines, known).verdicts), None)


def with_dump(folder: Path, seed: int, known: Assumed, ms: float) -> ObservedVerdict | None:
    """Judge a legal broker's log, of which a part may be missing, with its dump, or part of that.

    Members that crash, and snapshots every few writes.
    """
    made = Simulated(seed, crashes=0.01 if seed % 2 else 0, updates_per_snapshot=2 + seed % 9)
    text = made.run(3, ms)
    text = text[seed % 5 * len(text) // 6 :]
    records = made.dump[: max(1, len(made.dump) * (1 + seed % 7) // 7)]
    return next(iter(judged(folder, text, known, records=records).verdicts), None)


def legal(folder: Path, seed: int, known: Assumed, ms: float) -> ObservedVerdict | None:
    return verdict_of(folder, seed, HONEST, known, ms)


def rule_of(folder: Path, fault: BrokerFault) -> str | None:
    """Return the rule by which the first of some logs of a broker diverges."""
    known = HASTY if fault.name == "passes over records that were released" else KNOWN
    for seed in range(SEEDS if fault.name in SEEN else SEEDS_UNSEEN):
        verdict = verdict_of(folder, seed, fault, known)
        if verdict and verdict.divergences:
            return verdict.divergences[0].name
    return None


def test_of_every_faulty_broker_a_request_log_shows_rules_or_says_why_not() -> None:
    assert {name for name, shown in (SEEN | UNSEEN).items() if not shown} == set()
    assert set().union(*SEEN.values()) <= VERDICT_RULES.keys()


Judging = Callable[[Path, int, Assumed, float], ObservedVerdict | None]
DRAWN = given(seed=st.integers(0, 10**6), known=st.sampled_from([KNOWN, LITTLE_KNOWN]))


@pytest.mark.parametrize("judging", [legal, with_dump])
@DRAWN
@settings(max_examples=4)
def test_a_legal_broker_does_not_diverge(
    tmp_path_factory: pytest.TempPathFactory, judging: Judging, seed: int, known: Assumed
) -> None:
    verdict = judging(tmp_path_factory.mktemp("log"), seed, known, 4000)
    assert verdict is None or verdict.verdict is not Verdict.DIVERGES, verdict


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("judging", "ms"), [(legal, 20_000), (failing, 8000), (with_dump, 15_000)])
@DRAWN
@settings(max_examples=60)
def test_a_legal_broker_does_not_diverge_for_long(
    tmp_path_factory: pytest.TempPathFactory, judging: Judging, ms: float, seed: int, known: Assumed
) -> None:
    verdict = judging(tmp_path_factory.mktemp("log"), seed, known, ms)
    assert verdict is None or verdict.verdict is not Verdict.DIVERGES, verdict


@pytest.mark.parametrize(
    ("seed", "members", "ms", "known", "failures", "lost"),
    [
        *((seed, 3, 6000, KNOWN, 0, lost) for seed, lost in ((4, 4 / 6), (7, 2 / 6), (12, 2 / 6))),
        *((seed, 4, 8000, KNOWN if seed % 3 else LITTLE_KNOWN, 0.4, 0) for seed in FAILING),
        *((seed, 3, 10_000, HASTY, 0, 0) for seed in (1, 3)),
    ],
)
def test_a_legal_broker_does_not_diverge_where_once_it_did(  # noqa: PLR0913, PLR0917 - a case
    tmp_path: Path, seed: int, members: int, ms: int, known: Assumed, failures: float, lost: float
) -> None:
    """The beginning of its log is lost, its writes fail, or its records are offered soon."""
    text = Simulated(seed, crashes=0.01 * (seed % 2), failures=failures).run(members, ms)
    [verdict] = judged(tmp_path, text[int(lost * len(text)) :], known).verdicts
    assert verdict.divergences == ()
    assert lost or verdict.requests > 50


def test_a_legal_broker_conforms_where_no_member_crashes(tmp_path: Path) -> None:
    verdict = present(verdict_of(tmp_path, 2, HONEST, KNOWN))
    assert verdict.verdict is Verdict.CONFORMS
    assert verdict.requests > 50
    assert verdict.checked == verdict.events


@pytest.mark.parametrize(
    "name",
    [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in SEEN | UNSEEN if n not in QUICK)],
)
def test_a_faulty_broker_is_found_unless_it_is_listed_as_unseen(tmp_path: Path, name: str) -> None:
    assert rule_of(tmp_path, fault_named(name)) in SEEN.get(name, {None})
