"""What nodes recorded and members saw becomes a history that the rules from end to end judge."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import attrs
import pytest

from clients.cluster_history import MadeHistory, NodeRow, made_history, starved_members
from clients.events import ACCEPT, RELEASE, Delivered
from clients.work import MemberAcknowledged, MemberPolled, MemberTold, WorkEvent
from conformance.cluster.history import (
    GroupSettings,
    Happening,
    LeaderAcquired,
    LeaderAnswered,
    LeaderAsked,
    LeaderAtRest,
    read_history,
)
from conformance.cluster.rules import judge_history
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord
from model.states import RecordState

KEY = SharePartitionKey("g", UUID(int=7), 0)
SETTINGS = GroupSettings(3, 100, 2000, 5)
ALL = {(0, offset) for offset in range(10)}


class Leader:
    """The rows of a leader of partition 0, as its recorder writes them."""

    def __init__(self, epoch: int = 0, ms: int = 1000) -> None:
        self.rows: list[NodeRow] = []
        self.epoch, self.ms, self.start = epoch, ms, 0

    def add(self, op: str, status: str = "NONE", **values: Any) -> "Leader":  # noqa: ANN401 - JSON
        self.ms += 100
        result = {"status": status} | values.pop("result", {})
        row = {
            "partition": "g:t:0",
            "leader_epoch": self.epoch,
            "instance": 0,
            "seq": len(self.rows),
            "time_ms": self.ms,
            "op": op,
            "writes": [],
            "after": {"start_offset": self.start},
        }
        self.rows.append(NodeRow(1, row | {"result": result} | values))
        return self

    def acquire(self, *ranges: list[int], member: str = "M") -> "Leader":
        return self.add("acquire", member=member, result={"acquired": list(ranges)})

    def acknowledge(self, *batches: list[Any], member: str = "M") -> "Leader":
        (first, last, _types), *_ = batches
        write = {"id": len(self.rows), "start_offset": 0, "status": "PENDING"}
        write |= {"state_batches": [[first, last, 2, 1]]}
        return self.add(
            "acknowledge", "PENDING", member=member, batches=list(batches), writes=[write]
        )

    def complete(self, id_: int, status: str = "NONE") -> "Leader":
        return self.add("complete_write", status, id=id_)


def durable(
    ms: int, first: int, last: int, epoch: int = 0, state: RecordState = RecordState.ACKNOWLEDGED
) -> tuple[int, StateRecord]:
    batch = StateBatch(first, last, state, 1)
    return ms, StateRecord(KEY, ShareUpdate(1, epoch, 0, 0, (batch,)))


def snapshot(ms: int, first: int, last: int) -> tuple[int, StateRecord]:
    batch = StateBatch(first, last, RecordState.ACKNOWLEDGED, 1)
    return ms, StateRecord(KEY, ShareSnapshot(2, DurableState(0, 0, (batch,))))


def accepts(ms: int, *offsets: int, count: int = 1, type_: int = ACCEPT) -> list[WorkEvent]:
    return [MemberAcknowledged(ms, "client", 0, offset, count, type_) for offset in offsets]


def told(ms: int, *offsets: int, error: str | None = None) -> WorkEvent:
    return MemberTold(ms, "client", 0, offsets, error)


def made(
    leaders: Sequence[Leader],
    work: Sequence[WorkEvent],
    committed: Sequence[tuple[int, StateRecord]] = (),
    rest: LeaderAtRest | None = None,
    killed: Collection[int] = (),
) -> MadeHistory:
    rows = [row for leader in leaders for row in reversed(leader.rows)]
    others: list[tuple[int, Happening]] = [(0, SETTINGS)]
    others += [(9000, rest)] if rest else []
    return made_history("r", rows, work, committed, others, killed)


def broken(history: MadeHistory) -> list[tuple[str, ...]]:
    return [finding.cause for finding in judge_history(read_history(history.lines))]


def answered(history: MadeHistory) -> list[str]:
    events = (event.what for event in read_history(history.lines))
    return [what.error for what in events if isinstance(what, LeaderAnswered)]


def well() -> Leader:
    """A leader that gives two records to a member, which accepts them."""
    return Leader().acquire([0, 1, 1]).acknowledge([0, 1, [1]]).complete(1)


SAID = [*accepts(1150, 0, 1), told(1400, 0, 1)]


def test_what_goes_well_breaks_no_rule_and_is_matched() -> None:
    history = made([well()], SAID, [durable(1250, 0, 1)])
    assert (history.told, history.unmatched) == (2, 0)
    assert answered(history) == ["NONE", "NONE"]
    assert broken(history) == []


def test_a_write_that_is_confirmed_and_not_in_the_state_topic_is_found() -> None:
    assert broken(made([well()], SAID)) == [("CONFIRMED_IS_WRITTEN", "nothing was committed")]
    of_another = made([well()], SAID, [durable(1250, 0, 1, epoch=5)])
    assert broken(of_another) == [("CONFIRMED_IS_WRITTEN", "a write of an older leader epoch")]


@pytest.mark.parametrize(
    ("killed", "ends", "found"),
    [
        ((), 5, [("EVERY_RECORD_IS_FINISHED", "no member ever had it")]),
        ((2,), 5, [("EVERY_RECORD_IS_FINISHED", "no member ever had it")]),
        ((1,), 5, []),
        ((1,), 6, [("EVERY_RECORD_IS_FINISHED", "no member ever had it")]),
    ],
)
def test_what_a_killed_node_finished_last_may_be_told_by_the_state_topic_alone(
    killed: Collection[int], ends: int, found: list[tuple[str, str]]
) -> None:
    rest = LeaderAtRest(0, ends, 0, ends, ends, 0)
    for last in (durable(1300, 2, 4), snapshot(1300, 2, 4)):
        committed = [durable(1250, 0, 1), last]
        assert broken(made([well()], SAID, committed, rest, killed)) == found


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (RecordState.ACKNOWLEDGED, []),
        (RecordState.ARCHIVED, [("DEAD_LETTERS_ARRIVE",)]),
    ],
)
def test_what_a_killed_node_was_told_is_accepted_is_no_dead_letter(
    state: RecordState, found: list[tuple[str]]
) -> None:
    committed = [durable(1250, 0, 1), durable(1300, 2, 4, state=state)]
    settings = attrs.evolve(SETTINGS, dead_letter_queue=True)
    others = [(0, settings), (9000, LeaderAtRest(0, 5, 0, 5, 5, 0))]
    assert broken(made_history("r", well().rows, SAID, committed, others, {1})) == found


def test_clocks_may_differ_by_a_few_ms() -> None:
    assert broken(made([well()], SAID, [durable(1305, 0, 1)])) == []
    assert broken(made([well()], SAID, [durable(1160, 0, 1)])) == []
    assert broken(made([well()], SAID, [durable(1400, 0, 1)]))


def test_what_a_member_was_told_is_done_may_not_come_again() -> None:
    again = Leader(epoch=1, ms=5000).acquire([1, 1, 1], member="N")
    committed = [durable(1250, 0, 1)]
    assert broken(made([well(), again], SAID, committed)) == [("DONE_STAYS_DONE",)]
    refused = [*SAID[:2], told(1400, 0, 1, error="NOT_LEADER_OR_FOLLOWER")]
    assert broken(made([well(), again], refused, committed)) == []
    assert broken(made([well(), again], SAID[:2], committed)) == []


def test_a_release_raises_the_count() -> None:
    leader = Leader().acquire([0, 0, 1]).acknowledge([0, 0, [2]]).complete(1)
    work = [*accepts(1150, 0, type_=RELEASE), told(1400, 0)]
    committed = [durable(1250, 0, 0)]
    for count, expected in ((1, [("RELEASE_IS_COUNTED",)]), (2, [])):
        again = Leader(epoch=1, ms=5000).acquire([0, 0, count])
        assert broken(made([leader, again], work, committed)) == expected


def test_a_second_holder_is_found_unless_the_first_left() -> None:
    def two(*, leaves: bool) -> MadeHistory:
        leader = Leader().acquire([0, 0, 1])
        if leaves:
            leader.add("release", member="M")
        return made([leader.acquire([0, 0, 2], member="N")], [])

    assert broken(two(leaves=False)) == [("ONE_HOLDER", "nothing was fenced")]
    assert broken(two(leaves=True)) == []


def test_a_late_failure_before_a_second_holder_is_its_cause() -> None:
    before = Leader().acquire([5, 5, 1]).acknowledge([5, 5, [1]])
    first = Leader(epoch=2, ms=2000).acquire([0, 0, 1])
    before.ms = first.ms - 90
    before.complete(1, "NOT_LEADER_OR_FOLLOWER")
    second = Leader(epoch=2, ms=before.ms - 95).acquire([0, 0, 1], member="N")
    second.rows = [NodeRow(r.node, {**r.row, "instance": 1}) for r in second.rows]
    history = made([before, first, second], [])
    assert broken(history) == [("ONE_HOLDER", "a write was fenced since")]


def test_what_no_trace_has_is_counted_and_not_judged() -> None:
    history = made([well()], [*accepts(1150, 0, 9), told(1400, 0, 9)], [durable(1250, 0, 1)])
    assert (history.told, history.unmatched) == (2, 1)
    assert made([well()], [told(1400, 0)], [durable(1250, 0, 1)]).unmatched == 1
    refused = made([well()], [*accepts(1150, 9), told(1400, 9, error="INVALID_RECORD_STATE")])
    assert (refused.told, refused.unmatched) == (0, 0)


def test_an_answer_is_that_of_the_acknowledgement_before_it() -> None:
    leader = Leader().acquire([0, 0, 1]).acknowledge([0, 0, [4]]).acknowledge([0, 0, [1]])
    work = [*accepts(1150, 0, type_=4), told(1220, 0), *accepts(1250, 0), told(1400, 0)]
    history = made([leader], work)
    ids = [e.what.id for e in read_history(history.lines) if isinstance(e.what, LeaderAnswered)]
    assert len(set(ids)) == len(ids) == 2


def test_refused_acknowledgements_ask_nothing_and_gaps_end_records() -> None:
    leader = (
        Leader()
        .acquire([0, 2, 1])
        .add("acknowledge", "INVALID_RECORD_STATE", member="M", batches=[[0, 0, [1]]])
    )
    leader.acknowledge([1, 2, [0, 1]])
    asked = [e.what for e in read_history(made([leader], []).lines) if type(e.what) is LeaderAsked]
    assert [batch for each in asked for batch in each.batches] == [(1, 1, 0), (2, 2, 1)]


def test_what_a_client_acknowledges_as_a_gap_its_application_is_told_in_vain() -> None:
    leader = well().acquire([2, 3, 1]).acknowledge([2, 3, [0, 1]])
    history = made([leader], [*SAID, *accepts(1550, 3), told(1700, 2, 3), told(1800, 9)])
    assert (history.told, history.unmatched) == (4, 1)


def test_aborted_records_that_a_leader_withholds_are_not_given() -> None:
    leader = Leader().acquire([0, 1, 1]).add("archive_aborted", ranges=[[0, 0]])
    leader.acquire([2, 3, 1]).add("archive_aborted", ranges=[[1, 1], [3, 3]])
    given = [
        e.what.ranges
        for e in read_history(made([leader], []).lines)
        if isinstance(e.what, LeaderAcquired)
    ]
    assert given == [((1, 1, 1),), ((2, 2, 1),)]


def test_a_history_is_in_the_order_of_the_clock() -> None:
    history = made([well()], SAID, [durable(1250, 0, 1)])
    times = [event.ms for event in read_history(history.lines)]
    assert times == sorted(times)
    assert attrs.asdict(next(read_history(history.lines)).what) == attrs.asdict(SETTINGS)


def polls(*firsts: int | None) -> list[MemberPolled]:
    """Polls 500 ms apart, each with the record of this offset, or with none."""
    return [
        MemberPolled(
            1150 + 500 * n,
            "client",
            () if first is None else (Delivered(("t", 0), first, 1, "v"),),
        )
        for n, first in enumerate(firsts)
    ]


def test_a_member_to_which_records_go_in_vain_is_told() -> None:
    leader = Leader()
    for first in range(0, 10, 2):
        leader.acquire([first, first + 1, 1])
    (starved,) = starved_members(leader.rows, polls(0, *[None] * 12), ALL)
    assert str(starved) == (
        "client: its last 12 polls returned nothing; it was given 8 records in 4 fetches"
    )
    assert not starved.renewed
    renewal = accepts(1160, 0, type_=4)
    (renewed,) = starved_members(leader.rows, [*polls(0, *[None] * 12), *renewal], ALL)
    assert renewed.renewed
    # What ends a transaction is given and is none of the application's.
    assert not starved_members(leader.rows, polls(0, *[None] * 12), ALL - {(0, 4), (0, 5)})
    assert not starved_members(leader.rows, polls(0, *[None] * 9), ALL)
    assert not starved_members(leader.rows, polls(*[None] * 12), ALL)
    assert not starved_members(leader.rows, polls(*[None] * 12, 8), ALL)
    assert not starved_members(leader.rows[:4], polls(0, *[None] * 12), ALL)
    leader.rows = [NodeRow(r.node, {**r.row, "member": "N"}) for r in leader.rows[1:]]
    assert not starved_members(
        [*Leader().acquire([0, 1, 1]).rows, *leader.rows], polls(0, *[None] * 12), ALL
    )
