"""What may be durable: writes in any legal form, besides, and without a certain answer."""

from typing import Any

import attrs
import pytest

from impl.kernel import replay_partition
from judge.engine import SpecEngine, engines_for
from judge.follower import follow
from model import operations as ops
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.guards import Difference
from model.outcome import Answer, Choice, Outcome, Write
from model.profile import KAFKA, KIP, Profile
from model.ranges import OffsetRange, StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import AcquireMode, RecordState
from model.trace import TraceEvent
from model.trace_arrow import table_from_rows
from model.trace_codec import row_from_event
from spec.coordinator import Durable, durable_state, merge
from tests.spec.test_golden import CONFIG as TABLE
from tests.spec.test_golden import EXAMPLE, LOG_END, batches, expected_write
from tests.spec.worlds import acknowledgement, fetch, spans

BOTH = pytest.mark.parametrize("profile", [KIP, KAFKA], ids=lambda profile: profile.name)
CONFIG = SharePartitionConfig(
    delivery_count_limit=5,
    record_lock_duration_ms=100,
    auto_offset_reset=AutoOffsetReset.EARLIEST,
)
_FREE = Choice()
FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE
ACCEPT, RELEASE, RENEW = 1, 2, 4
LIMITED = AcquireMode.RECORD_LIMIT


class Story:
    """A share-partition whose leader writes as a test says, and the trace of it."""

    def __init__(self, profile: Profile = KIP, log_end: int = 20, *, begins: bool = True) -> None:
        self._engine = SpecEngine(profile)
        self._profile, self.now = profile, 0
        self.events: list[TraceEvent] = []
        if begins:
            self.lead(DurableState(0, 0), log_end)

    def do(
        self, operation: ops.Operation, *written: Write, choice: Choice = _FREE
    ) -> SharePartitionSnapshot:
        """Let an operation happen, its writes in this form; without one, in the project's."""
        answers = tuple(Answer(w.status, w.id, written=w) for w in written)
        outcome = self._engine.apply(operation, choice, answers, len(self.events))
        self.now += operation.ms if isinstance(operation, ops.AdvanceTime) else 0
        outcome = attrs.evolve(outcome, writes=written or outcome.writes)
        return self._note(operation, outcome)

    def plays(self, profile: Profile) -> None:
        """Let the leader go on by the rules of another profile."""
        self._engine.partition = attrs.evolve(self._engine.partition, profile=profile)

    def lead(self, read: DurableState, log_end: int = 20, log_start: int = 0) -> None:
        """Let a new leader read a state, and begin at the log start offset if that is later."""
        leader = ops.Initialize(CONFIG, log_start, log_end, read, self.now)
        start = Choice(start_offset=log_start) if log_start > read.start_offset else _FREE
        self.do(leader, choice=attrs.evolve(start, refusal=ErrorCode.NONE))

    def fetch(self, first: int, last: int, member: str = "m") -> None:
        self.do(fetch(member, (first, last), mode=LIMITED))

    def acknowledge(self, first: int, last: int, type_: int, *written: Write) -> None:
        self.do(acknowledgement("m", (first, last, type_)), *written)

    def rows(self) -> list[dict[str, Any]]:
        """The events as rows of a trace."""
        return [row_from_event(event) for event in self.events]

    def _note(self, operation: ops.Operation, outcome: Outcome) -> SharePartitionSnapshot:
        after = self._engine.snapshot()
        seq = len(self.events)
        self.events.append(TraceEvent("p", seq, self.now, operation, outcome, after))
        return after

    def verdict(self) -> str | None:
        """Return what specification, implementation and kernel all say is wrong."""
        finding = follow(self.events, engines_for(("spec", "impl"), self._profile), 1)
        table = table_from_rows(self.rows())
        kernel = replay_partition(table, self._profile).divergence
        assert (kernel and kernel.kind.name) == (finding and finding.name)
        assert finding is None or finding.engine == "spec, impl"
        return finding.name if finding else None


def refusing(keeps: tuple[bool, bool]) -> list[dict[str, Any]]:
    """The events of a leader that refuses two requests, each of which first renews records.

    Each says whether those renewals hold.
    """
    story = Story(KAFKA)
    duration = CONFIG.record_lock_duration_ms
    for first, kept in zip((0, 2), keeps, strict=True):
        story.fetch(first, first + 1)
        story.do(ops.AdvanceTime(duration // 2))
        story.plays(attrs.evolve(KAFKA, renewal_survives_refusal=kept))
        story.do(acknowledgement("m", (first, first + 1, RENEW), (9, 9, ACCEPT)))
        story.do(ops.AdvanceTime(duration - duration // 2))
        story.do(ops.AdvanceTime(duration))
    return story.rows()


def wrote(start: int, count: int, *rows: list[int], **more: object) -> Write:
    """Return a write; its rows are first and last offset, state and delivery count."""
    return attrs.evolve(Write(7, start, count, batches(list(rows))), **more)  # type: ignore[arg-type] # fields by name


@BOTH
def test_the_writes_of_the_table_of_kip_932_conform(profile: Profile) -> None:
    story, durable = Story(profile, begins=False), Durable()
    for row in EXAMPLE["rows"]:
        shape = row["kip_write"]
        writes = (expected_write(row["row"], shape),) if shape else ()
        for write in writes:
            durable = merge(durable, write, KIP)
        if not row["operations"]:
            story.do(ops.Initialize(TABLE, 0, 100, DurableState(-1, -1)), *writes)
            story.do(ops.Produce((OffsetRange(100, 120),), LOG_END))
        for told in row["operations"]:
            passed = ops.AdvanceTime(told["at_ms"] - story.now)
            if told["op"] == "expire":
                story.do(passed, *writes)
                continue
            story.do(passed)
            if told["op"] == "acknowledge":
                story.do(acknowledgement(told["member"], *told["batches"]), *writes)
                continue
            read = told["from"], LOG_END - 1
            story.do(fetch(told["member"], read, most=told["most"], mode=LIMITED))
    story.do(ops.Initialize(TABLE, 0, LOG_END, durable_state(durable), story.now))
    assert story.verdict() is None
    story.do(ops.Initialize(TABLE, 0, LOG_END, DurableState(111, 0), story.now))
    assert story.verdict() == Difference.PERSISTED.name


ACKNOWLEDGED_TEN = [0, 9, 2, 1]
LEGAL = {
    "before the advance": wrote(0, 10, ACKNOWLEDGED_TEN),
    "after the advance": wrote(10, 0),
    "the start offset kept": wrote(-1, 10, ACKNOWLEDGED_TEN),
    "the batches in parts": wrote(0, 10, [0, 3, 2, 1], [4, 9, 2, 1]),
    "no count told": wrote(0, 0, ACKNOWLEDGED_TEN, counted=False),
    "after the advance, not answered": wrote(10, 0, status=ErrorCode.PENDING),
    "after the advance, failed": wrote(10, 0, status=FAILED),
}
WRONG = {
    "past what is finished": (wrote(11, 0), Difference.WRITTEN_START_OFFSET),
    "past it, not answered": (
        wrote(11, 0, status=ErrorCode.PENDING),
        Difference.WRITTEN_START_OFFSET,
    ),
    "more complete than there is": (
        wrote(-1, 40, ACKNOWLEDGED_TEN),
        Difference.WRITTEN_DELIVERY_COMPLETE_COUNT,
    ),
    "the count of before with the start offset of after": (
        wrote(10, 10),
        Difference.WRITTEN_DELIVERY_COMPLETE_COUNT,
    ),
    "no count": (wrote(0, -1, ACKNOWLEDGED_TEN), Difference.WRITTEN_DELIVERY_COMPLETE_COUNT),
    "too little": (wrote(0, 10, [0, 8, 2, 1]), Difference.WRITTEN_STATE),
    "another state": (wrote(0, 10, [0, 8, 2, 1], [9, 9, 4, 1]), Difference.WRITTEN_STATE),
    "what others hold": (wrote(0, 10, [0, 9, 2, 1], [12, 12, 2, 1]), Difference.WRITTEN_STATE),
}  # fmt: skip


def accepts(write: Write) -> Story:
    story = Story()
    story.do(ops.Produce((OffsetRange(20, 29),), 30))
    story.fetch(0, 9)
    story.fetch(10, 14, "other")
    story.acknowledge(0, 9, ACCEPT, write)
    return story


@pytest.mark.parametrize("form", LEGAL)
def test_each_form_of_a_write_conforms(form: str) -> None:
    assert accepts(LEGAL[form]).verdict() is None


@pytest.mark.parametrize("form", WRONG)
def test_a_write_that_is_not_true_diverges(form: str) -> None:
    write, difference = WRONG[form]
    assert accepts(write).verdict() == difference.name


@pytest.mark.parametrize("state", [2, 4])
@pytest.mark.parametrize("first", [False, True])
def test_a_write_may_repeat_another_of_its_event(state: int, *, first: bool) -> None:
    writes = [wrote(0, 10, ACKNOWLEDGED_TEN), attrs.evolve(wrote(0, 10, [5, 9, state, 1]), id=8)]
    story = Story()
    story.fetch(0, 9)
    story.acknowledge(0, 9, ACCEPT, *writes[:: -1 if first else 1])
    assert story.verdict() == (None if state == 2 else Difference.WRITTEN_STATE.name)


def test_over_a_gap_the_form_of_the_kip_has_another_lag_and_is_the_same_state() -> None:
    story = Story(log_end=0)
    story.do(ops.Produce(spans((0, 4), (9, 13)), 14))
    story.do(fetch("m", (0, 4), (9, 13), most=6, mode=LIMITED))
    story.do(acknowledgement("m", (0, 4, ACCEPT), (9, 9, ACCEPT)), wrote(10, 0))
    assert story.verdict() is None
    story.lead(DurableState(10, 0), 14)
    assert story.verdict() is None


@pytest.mark.parametrize("operation", ["renew", "produce", "fetch", "lead"])
@pytest.mark.parametrize("lie", [False, True])
def test_a_write_that_nothing_asks_for_is_judged(operation: str, *, lie: bool) -> None:
    story = Story()
    story.fetch(0, 4)
    told = wrote(120, 0) if lie else wrote(0, 0)
    if operation == "renew":
        story.acknowledge(0, 4, 4, told)
    elif operation == "produce":
        story.do(ops.Produce((), 20), told)
    elif operation == "lead":
        story.do(ops.Initialize(CONFIG, 0, 20, DurableState(0, 0), 0), told)
    else:
        story.do(fetch("m", (5, 9), mode=LIMITED), told)
    assert story.verdict() == (Difference.WRITTEN_START_OFFSET.name if lie else None)


@pytest.mark.parametrize("status", [FAILED, ErrorCode.PENDING])
@pytest.mark.parametrize("durable", [False, True])
def test_without_a_certain_answer_a_write_may_be_durable(
    status: ErrorCode, *, durable: bool
) -> None:
    story = Story()
    story.fetch(0, 9)
    story.acknowledge(0, 1, RELEASE, wrote(0, 0, [0, 1, 0, 1], status=status))
    held = batches([[0, 1, 0, 1]]) if durable else ()
    story.lead(DurableState(0, 0, held))
    assert story.verdict() is None
    story.lead(DurableState(0, 0, batches([[0, 0, 0, 1]])))  # Half of it is no state of the set.
    assert story.verdict() == Difference.PERSISTED.name


@pytest.mark.parametrize("is_read", [False, True])
def test_a_write_whose_answer_a_read_has_overtaken_may_be_durable(*, is_read: bool) -> None:
    written = StateBatch(0, 1, RecordState.AVAILABLE, 1)
    for overtaken in (True, False):
        story = Story()
        story.fetch(0, 9)
        story.acknowledge(0, 1, RELEASE, wrote(0, 0, [0, 1, 0, 1], status=ErrorCode.PENDING))
        story.do(ops.CompleteWrite(7, ErrorCode.NONE, overtaken=overtaken))
        story.lead(DurableState(0, 0, (written,) * is_read))
        assert (story.verdict() is None) is (overtaken or is_read)
        if overtaken:  # Within the leader epoch it may come later still, and then it stays.
            story.lead(DurableState(0, 0, (written,)))
            assert story.verdict() is None
            story.lead(DurableState(0, 0))
            assert story.verdict() == Difference.PERSISTED.name


def test_what_succeeded_is_durable_whatever_failed_besides() -> None:
    story = Story()
    story.fetch(0, 9)
    story.acknowledge(0, 1, RELEASE, wrote(0, 0, [0, 1, 0, 1]))
    story.acknowledge(2, 3, RELEASE, wrote(0, 0, [2, 3, 0, 1], status=FAILED))
    story.lead(DurableState(0, 0, batches([[2, 3, 0, 1]])))
    assert story.verdict() == Difference.PERSISTED.name


def test_a_leader_that_loses_its_whole_durable_state_diverges() -> None:
    story = accepts(LEGAL["before the advance"])
    story.lead(DurableState(-1, -1))
    assert story.verdict() == Difference.PERSISTED.name


@pytest.mark.parametrize(
    "read", [DurableState(10, 0), DurableState(0, 10, batches([[0, 9, 2, 1]]))]
)
def test_a_leader_may_read_any_form_of_the_same_state(read: DurableState) -> None:
    for form in ("before the advance", "after the advance", "the start offset kept"):
        story = accepts(LEGAL[form])
        story.lead(read, 30)
        assert story.verdict() is None


def test_a_leader_may_begin_at_the_log_start_offset() -> None:
    story = Story()
    story.fetch(0, 9)
    story.acknowledge(0, 1, RELEASE, wrote(0, 0, [0, 1, 0, 1]))
    story.do(ops.AdvanceLogStart(5))
    story.lead(DurableState(0, 0, batches([[0, 1, 0, 1]])), log_start=5)
    assert story.events[-1].after.start_offset == 5
    assert story.verdict() is None


def test_a_leader_may_pass_over_durable_batches_below_the_start_offset() -> None:
    story = Story(begins=False)
    held = StateBatch(3, 12, RecordState.AVAILABLE, 1)
    read = DurableState(10, 0, (StateBatch(0, 2, RecordState.ARCHIVED, 1), held))
    story.lead(read)
    assert [(r.first, r.last) for r in story.events[-1].after.records or ()] == [(10, 12)]
    assert story.verdict() is None
