"""Clusters of Apache Kafka's own classes: the same each time, and judged."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cluster.history import KINDS, ClusterEvent, StateBegun
from conformance.cluster.simulated import SimulatedRun, Simulator, fewest, simulated, trusted
from judge.finding import Finding, FindingKind, FindingPlace
from model.rules import RULES, RuleKind
from sharespec.cli import cli
from sharespec.known_faults import known_in_cluster

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("simulated")]

SEEDS = (910_127, *range(12), 207, 910_183)
"""The first and the last differ by what ran before them where objects have hashes of their own.

One has a coordinator of its group.
"""
CHANGES = {"compacted": 1, "member": 4, " is altered": 4, "leader": 3, "offsets are altered": 1}
"""How many kinds of faults there are of each sort."""


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """A process for all: what it ran before makes no difference, as the first test shows."""
    with closing(Simulator(tmp_path_factory.mktemp("runs"))) as running:
        yield running


def runs_of(folder: Path, seeds: Sequence[int], workers: int) -> list[SimulatedRun]:
    folder.mkdir()
    runs: list[SimulatedRun] = []
    simulated(folder, seeds, (), workers, runs.append)
    return runs


def test_a_seed_gives_one_history_whatever_its_process_ran_before(tmp_path: Path) -> None:
    alone = runs_of(tmp_path / "one", SEEDS, 1)
    together = runs_of(tmp_path / "two", SEEDS[::-1], 2)
    assert [run.digest for run in alone] == [run.digest for run in together[::-1]]
    assert len({run.digest for run in alone}) == len(SEEDS)
    kinds = set().union(*(run.happenings for run in alone))
    assert kinds == KINDS
    faults = Counter(fault.kind for run in alone for fault in run.injected)
    assert all(sum(word in kind for kind in faults) == count for word, count in CHANGES.items())


def test_two_holders_after_a_fenced_write_need_one_fault(simulator: Simulator) -> None:
    run = simulator.run(1)
    (finding,) = [each for each in run.findings if each.name == "ONE_HOLDER"]
    left, same = fewest(simulator, run, finding, 0)
    assert same.probable_cause == ("ONE_HOLDER", "a write was fenced since")
    assert len(left.injected) == 1
    assert left.events is None
    assert simulator.run(1, sorted(range(run.faults))).findings == ()


def test_what_clients_do_is_left_out_until_what_is_left_is_needed(simulator: Simulator) -> None:
    run = simulator.run(1, [0, 1, 2, 3, 4, 5, 6, 8, 9])
    (finding,) = [each for each in run.findings if each.name == "ONE_HOLDER"]
    left, same = fewest(simulator, run, finding, 160)
    assert same.probable_cause == finding.probable_cause
    assert left.without == run.without
    assert left.events is not None
    assert len(left.events) < left.scripted / 20
    assert left.history.exists()
    again = simulator.run(1, sorted(left.without), events=left.events)
    assert (again.digest, again.done) == (left.digest, left.done)
    assert again.like(finding) == same
    assert fewest(simulator, again, same, 160) == (again, same)
    late = left.events[len(left.events) // 2 :]
    assert simulator.run(1, sorted(left.without), events=late).like(finding) is None


@pytest.mark.parametrize("seed", [1, 8])
def test_a_run_repeated_with_all_that_clients_did_is_the_same(
    simulator: Simulator, seed: int
) -> None:
    run = simulator.run(seed)
    bare = simulator.run(seed, events=())
    assert len(bare.done) == bare.scripted
    whole = simulator.run(seed, events=range(bare.scripted))
    assert (whole.digest, whole.done) == (run.digest, bare.done)
    half = simulator.run(seed, events=range(0, bare.scripted, 2))
    assert half.digest != run.digest
    assert 0 < len(half.done) < bare.scripted


def test_where_nobody_takes_part_nothing_is_found(simulator: Simulator) -> None:
    drawn = simulator.run(79, events=())
    records = [n for n, (_ms, text) in enumerate(drawn.done) if text.startswith("a record")]
    run = simulator.run(79, events=records)
    assert [each.name for each in run.findings] == ["REPORTED_LAG_COMES_TO_REST"] * 2
    assert all(run.like(each) is None for each in run.findings)


@pytest.mark.parametrize(
    ("seed", "plant", "known"),
    [
        (710010, "empty-drops", "last-session-forgets-a-delivery"),
        (710365, "empty-drops", "last-session-forgets-a-delivery"),
        (82, "begins-anew", "begins-anew-at-latest"),
        (102, "begins-anew", "begins-anew-at-latest"),
    ],
)
def test_a_fault_that_is_masked_is_known_where_it_is_not(
    simulator: Simulator, seed: int, plant: str, known: str
) -> None:
    assert simulator.run(seed, masked=True).findings == ()
    (finding, *_) = simulator.run(seed, plant=plant, masked=True).findings
    assert known_in_cluster(finding).startswith(known)


@pytest.mark.parametrize(
    ("seed", "without", "known"),
    [
        (7_800_840, [0, *range(2, 8)], "write-of-before-a-deletion-is-taken"),
        (7_800_840, [0, *range(2, 8)], "write-of-before-a-deletion-loses-records"),
        (7_802_680, [0, 1, *range(3, 8)], "late-deletion-stops"),
        (7_812_292, [*range(6), 8], "state-that-is-left-stops-a-new-group"),
    ],
)
def test_a_fault_where_a_group_is_deleted_is_known(
    simulator: Simulator, seed: int, without: list[int], known: str
) -> None:
    found = simulator.run(seed, without).findings
    assert known in {known_in_cluster(each).partition(":")[0] for each in found}


@pytest.mark.parametrize("partition", ["s207:t:0", "s207:t:1"])
def test_a_trace_is_not_judged_by_a_state_that_was_deleted(partition: str) -> None:
    ends = StateBegun(partition=0, state_epoch=-1, start_offset=-1)
    finding = Finding(
        seq=0,
        engine="",
        kind=FindingKind.DIFFERENCE,
        name="PERSISTED",
        sentence="",
        recorded="",
        expected="",
        before="",
        after="",
        operation="initialize",
        place=FindingPlace(partition=partition),
    )
    kept = list(trusted([ClusterEvent("s207", 0, ends, "")], [finding]))
    assert kept == ([] if partition.endswith("0") else [finding])


@pytest.mark.parametrize(
    ("seed", "plant", "rule"),
    [
        (207, "epoch-ahead", "FORMER_STATE_IS_OVER"),
        (321, "deletes-nothing", "ADMINISTERED_AS_ANSWERED"),
    ],
)
def test_another_fault_of_a_group_is_not_known(
    simulator: Simulator, seed: int, plant: str, rule: str
) -> None:
    found = simulator.run(seed, plant=plant, masked=True).findings
    assert not any(known_in_cluster(each) for each in found if each.name == rule)


def test_an_attempt_that_a_failed_fetch_takes_is_known(simulator: Simulator) -> None:
    (finding,) = simulator.run(64, masked=True).findings
    assert known_in_cluster(finding).startswith("failed-fetch-takes-an-attempt")


def test_a_share_partition_that_stops_is_reported_with_the_command_that_shows_it() -> None:
    arguments = ["simulate", "kafka", "--runs", "1", "--seed", "79", "--without", "0,3,4"]
    done = CliRunner().invoke(cli, [*arguments, "--shrink", "20"])
    assert done.exit_code == 1, done.output
    assert "compared" not in done.output  # Nor recorded.
    assert "known: LAG_COMES_TO_REST: all of the window is done" in done.output
    assert "sharespec simulate kafka --runs 1 --seed 79 --without 0,1,3,4" in done.output
    (again,) = [line for line in done.output.splitlines() if line.startswith("  again")]
    assert " --events " in again
    repeated = CliRunner().invoke(cli, again.split()[2:])
    assert repeated.exit_code == 1, repeated.output
    assert "known: LAG_COMES_TO_REST: all of the window is done" in repeated.output
    assert again in repeated.output
    assert "✗ LAG_COMES_TO_REST" in repeated.output


PLANTS = {
    "load-forgets": "DONE_STAYS_DONE",
    "prunes-more": "DONE_STAYS_DONE",
    "read-forgets": "DONE_STAYS_DONE",
    "release-uncounted": "RELEASE_IS_COUNTED",
    "read-uncounted": "RELEASE_IS_COUNTED",
    "release-over-limit": "ATTEMPTS_ARE_LIMITED",
    "read-over-limit": "ATTEMPTS_ARE_LIMITED",
    "locks-short": "ONE_HOLDER",
    "object-again": "ONE_HOLDER",
    "resigns-in-name": "RESIGNED_LEADER_STOPS",
    "old-epoch": "RESIGNED_LEADER_STOPS",
    "letters-lost": "DEAD_LETTERS_ARRIVE",
    "letters-skipped": "DEAD_LETTERS_ARRIVE",
    "letters-shifted": "DEAD_LETTERS_FAILED",
    "accepted-buried": "DEAD_LETTERS_FAILED",
    "leaving-uncounted": "RELEASE_IS_COUNTED",
    "leaving-frees": "ONE_HOLDER",
    "gone-fetches": "NOTHING_AFTER_LEAVING",
    "closed-fetches": "NOTHING_AFTER_LEAVING",
    "last-leaving-drops": "DELIVERIES_ARE_COUNTED",
    "lost-uncounted": "DELIVERIES_ARE_COUNTED",
    "limit-not-lowered": "ATTEMPTS_ARE_LIMITED",
    "altering-frees": "ONE_HOLDER",
    "isolation-kept": "COMMITTED_ONLY",
    "window-shut": "LAG_COMES_TO_REST",
    "aborted-untold": "COMMITTED_ONLY",
    "stable-ignored": "COMMITTED_ONLY",
    "answers-early": "CONFIRMED_IS_WRITTEN",
    "fenced-is-none": "CONFIRMED_IS_WRITTEN",
    "writes-lost": "CONFIRMED_IS_WRITTEN",
    "answers-stop": "LAG_COMES_TO_REST",
    "timers-stop": "LAG_COMES_TO_REST",
    "complete-too-high": "REPORTED_LAG_COMES_TO_REST",
    "writes-stop": "REPORTED_LAG_COMES_TO_REST",
    "release-archives": "EVERY_RECORD_IS_FINISHED",
    "read-skips": "EVERY_RECORD_IS_FINISHED",
    "deleted-too-far": "EVERY_RECORD_IS_FINISHED",
}
CONSUMER_PLANTS = {
    "received-dropped": "POLLS_GO_ON",
    "polled-lost": "POLLS_GO_ON",
    "answers-unasked": "TOLD_AS_ANSWERED",
    "told-nothing": "TOLD_AS_ANSWERED",
    "renewal-uncounted": "RELEASE_IS_COUNTED",
}
"""Those in Kafka's consumer, in what it is answered, or in what it renews."""
GROUP_PLANTS = {
    "epoch-stays": "FORMER_STATE_IS_OVER",
    "epoch-ahead": "FORMER_STATE_IS_OVER",
    "altered-too-low": "ADMINISTERED_AS_ANSWERED",
    "deletes-nothing": "ADMINISTERED_AS_ANSWERED",
}
"""Those in what group coordinators ask share coordinators, or in the state epochs of writes."""
PLANTED_SEEDS = (4, 1, 0, 5, 2, 3, 7, 16)
CONSUMERS = (2, 8, 10)
"""Seeds whose members are Kafka's consumer."""
GROUPS = (429, 207, 321, 66)
"""Seeds of which the group has a coordinator."""


ENOUGH = 2
"""In how many clusters a rule must find what is planted."""


def seeds_that_break(
    simulator: Simulator, plant: str, rule: str, seeds: Sequence[int] = PLANTED_SEEDS
) -> list[int]:
    """Return the first clusters in which a rule is broken, faults that are known being masked."""
    broken = (
        seed
        for seed in seeds
        if rule in {each.name for each in simulator.run(seed, plant=plant, masked=True).findings}
    )
    return list(islice(broken, ENOUGH))


def test_each_rule_finds_faults_that_are_planted_and_nothing_without(simulator: Simulator) -> None:
    rules = [*PLANTS.values(), *CONSUMER_PLANTS.values(), *GROUP_PLANTS.values()]
    assert all(rules.count(rule) >= 2 for rule in RULES[RuleKind.CLUSTER])
    for seed in {*PLANTED_SEEDS, *CONSUMERS, *GROUPS}:
        assert simulator.run(seed, masked=True).findings == ()
    found = {plant: seeds_that_break(simulator, plant, rule) for plant, rule in PLANTS.items()}
    for plant, rule in CONSUMER_PLANTS.items():
        found[plant] = seeds_that_break(simulator, plant, rule, CONSUMERS)
    for plant, rule in GROUP_PLANTS.items():
        found[plant] = seeds_that_break(simulator, plant, rule, GROUPS)
    assert min(map(len, found.values())) == ENOUGH, found
