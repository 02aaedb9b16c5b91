from collections.abc import Callable, Mapping

import attrs
import pytest

from impl.kernel import replay_partition
from impl.partition import FastSharePartition
from judge import engine as engine_module
from judge.engine import Engine, SpecEngine, engines_for
from judge.finding import Finding, FindingKind
from judge.follower import DISAGREEMENT, follow
from judge.invariants import PARTITION_INVARIANTS
from model.errors import InvalidValueError
from model.guards import Difference, Guard
from model.operations import Operation
from model.outcome import Answer, Choice, Outcome
from model.profile import DRAFT_RESOLVED, KAFKA, PROFILES, Profile
from model.trace_arrow import table_from_rows
from tests.impl.by_hand import acknowledged, acquired, after, fetched, produced, story, wrote
from tests.replay.samples import Row, draft_rows, events, first_of, kafka_rows, present


def found(rows: list[Row], engines: Mapping[str, Engine] | None = None, every: int = 1) -> Finding:
    return present(follow(events(rows), engines or engines_for(("spec", "impl"), KAFKA), every))


DRAFT_ENGINES = ("spec", "impl")


@pytest.mark.parametrize(
    ("seq", "change", "name"),
    [
        (1, lambda r: r["result"].update(acquisition=3), Difference.ACQUISITION.name),
        (2, lambda r: r["result"]["marked"].pop(), Difference.MARKED.name),
        (2, lambda r: r["after"]["records"][0].update(member="m2"), Difference.RECORDS.name),
        (5, lambda r: r["after"].update(start_offset=1), Guard.START_STOPS_AT_UNFINISHED.name),
        (6, lambda r: r["ranges"][0].update(last=1), Guard.DEAD_LETTER_IS_ARCHIVING.name),
        (6, lambda r: r["writes"].clear(), Difference.WRITTEN_STATE.name),
    ],
)
def test_a_fault_in_what_the_draft_has_is_found(
    seq: int, change: Callable[[Row], object], name: str
) -> None:
    rows = draft_rows()
    assert follow(events(rows), engines_for(DRAFT_ENGINES, DRAFT_RESOLVED), 1) is None
    change(rows[seq])
    finding = found(rows, engines_for(DRAFT_ENGINES, DRAFT_RESOLVED))
    assert (finding.seq, finding.name) == (seq, name)


def test_what_the_draft_has_is_no_event_of_another_profile() -> None:
    rows = draft_rows()
    assert found(rows, {"spec": SpecEngine(KAFKA)}).name == Difference.ACQUISITION.name
    del rows[1]["result"]["acquisition"]
    with pytest.raises(InvalidValueError, match="operation is 'mark_in_progress'"):
        found(rows, {"spec": SpecEngine(KAFKA)})


def _is_acquire(row: Row) -> object:
    return row["result"].get("acquired")


def test_a_clock_that_is_wrong_is_no_event() -> None:
    rows = kafka_rows()
    rows[20]["time_ms"] += 1
    clock = rows[19]["time_ms"]
    with pytest.raises(InvalidValueError, match=f"allowed: {clock}, the clock after the event"):
        found(rows)


class Lying:
    """The specification, but with one more record of lag, or one outcome that is not its own."""

    def __init__(self, *, lag: int = 0, lies_at: int = -1) -> None:
        self._engine, self.profile = SpecEngine(KAFKA), KAFKA
        self._lag, self._lies_at = lag, lies_at
        self.snapshot = self._engine.snapshot
        self.durable = self._engine.durable
        self.readable = self._engine.readable
        self.furthest = self._engine.furthest
        self.whole = self._engine.whole

    def apply(
        self, operation: Operation, choice: Choice, answers: tuple[Answer, ...], seq: int
    ) -> Outcome:
        outcome = self._engine.apply(operation, choice, answers, seq)
        if seq == self._lies_at:
            return attrs.evolve(outcome, acquired=())
        return outcome

    def lag(self) -> int:
        return self._engine.lag() + self._lag


def test_engines_that_differ_are_a_divergence_of_their_own() -> None:
    finding = found(kafka_rows(), {"spec": SpecEngine(KAFKA), "impl": Lying(lag=1)}, 0)
    assert (finding.seq, finding.kind, finding.name) == (0, FindingKind.DISAGREEMENT, DISAGREEMENT)
    row = first_of(kafka_rows(), _is_acquire)
    engines: Mapping[str, Engine] = {
        "spec": FastSharePartition(KAFKA),
        "impl": Lying(lies_at=row["seq"]),
    }
    finding = found(kafka_rows(), engines, 0)
    assert (finding.seq, finding.kind) == (row["seq"], FindingKind.DISAGREEMENT)
    assert "impl: ACQUIRED" in finding.expected
    assert finding.engine == "spec, impl"


def test_an_invariant_that_does_not_hold_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = PARTITION_INVARIANTS[0]
    monkeypatch.setattr(engine_module, "violated", lambda _partition: [broken])
    finding = found(kafka_rows(), {"spec": SpecEngine(KAFKA)}, 5)
    assert (finding.seq, finding.kind, finding.name) == (0, FindingKind.INVARIANT, broken.name)
    assert finding.sentence == broken.sentence
    assert follow(events(kafka_rows()), {"spec": SpecEngine(KAFKA)}, 0) is None


def leader_with_gaps(complete: int) -> list[Row]:
    """Return events of a leader that accepts 4 and 5 where the log lacks 2 and 3."""
    taken = {"result": acquired((0, 1, 1), (4, 5, 1)), "after": after(0, 6)}
    return story(
        produced((0, 1), (4, 5)),
        {**fetched((0, 1), (4, 5)), **taken},
        {
            **acknowledged("NONE", (4, 5, 1)),
            "writes": wrote("NONE", 0, complete, (4, 5, 2, 1)),
            "after": {**after(0, 6), "delivery_complete_count": complete},
        },
    )


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_a_leader_that_counts_natural_gaps_diverges(profile: Profile) -> None:
    engines = engines_for(("spec", "impl"), profile)
    assert follow(events(leader_with_gaps(complete=2)), engines, 1) is None
    finding = found(leader_with_gaps(complete=4), engines_for(("spec", "impl"), profile))
    assert (finding.seq, finding.name) == (3, Difference.WRITTEN_DELIVERY_COMPLETE_COUNT.name)


def left_behind(**release: object) -> list[Row]:
    """A member that holds 0 leaves when the log begins at 1: a leader writes, and is answered."""
    (write,) = wrote("PENDING", 1, 0, (0, 0, 4, 1))
    return story(
        produced((0, 0)),
        {**fetched((0, 0)), "result": acquired((0, 0, 1)), "after": after(0, 1)},
        {"op": "advance_log_start", "log_start_offset": 1, "after": after(1, 1)},
        {
            "op": "release",
            "member": "m",
            "result": {"status": "PENDING"},
            "writes": [{**write, **release}],
            "after": after(1, 1),
        },
        {
            "op": "complete_write",
            "id": 0,
            "completed": [{"seq": 4, "status": "NONE"}],
            "after": after(1, 1),
        },
    )


@pytest.mark.parametrize(
    ("profile", "change", "name"),
    [
        ("kafka", {}, None),
        ("kafka", {"state_batches": []}, None),
        ("kip", {}, Difference.STATUS.name),
        ("kafka", {"start_offset": 0}, Difference.WRITTEN_START_OFFSET.name),
        ("kafka", {"delivery_complete_count": 1}, Difference.WRITTEN_DELIVERY_COMPLETE_COUNT.name),
        (
            "kafka",
            {"state_batches": [{"first": 1, "last": 1, "state": 4, "delivery_count": 1}]},
            Difference.WRITTEN_STATE.name,
        ),
    ],
)
def test_what_the_start_offset_has_passed_may_be_released_with_a_write(
    profile: str, change: Row, name: str | None
) -> None:
    rows = left_behind(**change)
    finding = follow(events(rows), engines_for(("spec", "impl"), PROFILES[profile]), 1)
    divergence = replay_partition(table_from_rows(rows), PROFILES[profile]).divergence
    assert (finding and finding.name) == (divergence and divergence.kind.name) == name
    assert (divergence and divergence.row) == (name and 4)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@pytest.mark.parametrize(
    ("status", "name"), [("NONE", None), ("NOT_COORDINATOR", Difference.STATUS.name)]
)
def test_a_release_does_not_wait_for_a_write_besides(
    profile: Profile, status: str, name: str | None
) -> None:
    *rows, _answer = left_behind(status="COORDINATOR_NOT_AVAILABLE", state_batches=[])
    rows[4]["result"] = {"status": status}
    finding = follow(events(rows), engines_for(("spec", "impl"), profile), 1)
    divergence = replay_partition(table_from_rows(rows), profile).divergence
    assert (finding and finding.name) == (divergence and divergence.kind.name) == name
