"""Each rule finds what breaks it, and lets pass what the rule excepts."""

import pytest

from conformance.cluster.history import read_history
from conformance.cluster.rules import judge_history
from model.errors import InvalidValueError
from model.rules import RULES, RuleKind
from sharespec.known_faults import known_in_cluster
from tests.conformance.cluster.test_consumers import FAULTS as CONSUMER_FAULTS
from tests.conformance.cluster.test_lives import LIFE_FAULTS
from tests.conformance.cluster.written import (
    ACCEPT,
    ACKNOWLEDGED,
    AVAILABLE,
    GAP,
    LIMIT,
    LOCK_MS,
    REJECT,
    RELEASE,
    RENEW,
    Written,
    begun,
    broken,
    caused,
)


def begun_anew(reset: str) -> Written:
    """A member gets records 3 and 4, and what is durable first begins after them."""
    history = Written(reset=reset).acquired([3, 4, 1])
    return history.add("durable", kind="update", start_offset=5, batches=[[5, 5, AVAILABLE, 1]])


def finished(end: int, error: str = "NONE") -> Written:
    """A member accepts the first records; nothing moves for a while."""
    return begun().acknowledged(1, [0, end - 1, ACCEPT], error=error).after(15_000)


def answered_late(how: str, node: int = 0) -> Written:
    """A member accepts record 0, and leaves a node before it is answered."""
    asked = begun().add("acknowledges", batches=[[0, 0, ACCEPT]])
    return asked.left(how, node).add("acknowledged")


def reads(history: Written, id_: int, epoch: int = 0) -> Written:
    return history.add("reads", id=id_, leader_epoch=epoch)


def read(history: Written, id_: int) -> Written:
    return history.add("read", id=id_)


def untold(history: Written) -> Written:
    """Without the session of its member."""
    del history.lines[1]
    return history


def released_last(*, written: bool = True) -> Written:
    """The last session of a node ends, which releases record 4, and writes this if it does."""
    history = begun().left("is disconnected", sessions=0)
    history.add("acknowledges", batches=[[4, 4, RELEASE]])
    return history.write(1, [4, 4, AVAILABLE, 1]) if written else history


FAULTS = {
    "rejected, and acquired by the next leader": (
        begun().acknowledged(1, [3, 3, REJECT]).acquired([3, 4, 2], epoch=1),
        [("DONE_STAYS_DONE", 3)],
    ),
    "done, as a member was told that closed its session meanwhile": (
        answered_late("closes").acquired([0, 0, 2], member="m2", epoch=1),
        [("DONE_STAYS_DONE", 0)],
    ),
    "released, and the count is lost with the leader": (
        begun().acknowledged(1, [2, 2, RELEASE]).acquired([2, 2, 1], epoch=1),
        [("RELEASE_IS_COUNTED", 2)],
    ),
    "released, and given out once more without being counted": (
        begun().acknowledged(1, [2, 2, RELEASE]).acquired([2, 2, 1]),
        [("RELEASE_IS_COUNTED", 2)],
    ),
    "given again with the same count, once its lock is over": (
        begun().after(LOCK_MS).acquired([3, 3, 1], member="m2"),
        [("DELIVERIES_ARE_COUNTED", 3)],
    ),
    "accepted, which nobody was told, and given again with the same count": (
        answered_late("is disconnected").acquired([0, 0, 1], member="m2"),
        [("DELIVERIES_ARE_COUNTED", 0)],
    ),
    "one attempt too many": (begun().acquired([6, 6, LIMIT + 1]), [("ATTEMPTS_ARE_LIMITED", 6)]),
    "one attempt more than the limit that was lowered before": (
        begun()
        .altered(2)
        .acquired([6, 6, 1])
        .acquired([6, 6, 2], epoch=1)
        .acquired([6, 6, 3], epoch=2),
        [("ATTEMPTS_ARE_LIMITED", 6)],
    ),
    "two holders": (begun().acquired([4, 4, 1], member="m2"), [("ONE_HOLDER", 4)]),
    "one member twice": (begun().acquired([0, 0, 1]), [("ONE_HOLDER", 0)]),
    "a leader that resigned goes on": (
        begun().resigned(0).acquired([5, 9, 1]),
        [("RESIGNED_LEADER_STOPS", 5)],
    ),
    "an object of an older leader epoch goes on": (
        begun().resigned(2).acquired([5, 9, 1], epoch=1),
        [("RESIGNED_LEADER_STOPS", 5)],
    ),
    "aborted, and acquired since only what is committed is read": (
        Written("read_uncommitted").aborted([1, 1]).altered().acquired([0, 4, 1]),
        [("COMMITTED_ONLY", 1)],
    ),
    "a member whose connection is lost is given records": (
        begun().left("is disconnected").acquired([5, 9, 1]),
        [("NOTHING_AFTER_LEAVING", 5)],
    ),
    "a member that closed its session is given records": (
        begun().left("closes").acquired([5, 9, 1]).acquired([5, 9, 2], member="m2"),
        [("NOTHING_AFTER_LEAVING", 5)],
    ),
    "acquired before its transaction was aborted": (
        begun().aborted([7, 7], [4, 4]),
        [("COMMITTED_ONLY", 4)],
    ),
    "rejected, and not in the topic of dead letters": (
        begun(letters=True)
        .acknowledged(1, [0, 1, ACCEPT], [2, 4, REJECT])
        .letter(2, 4)
        .rest(5, 15, 20),
        [("DEAD_LETTERS_ARRIVE", 3)],
    ),
    "out of attempts, and not in the topic of dead letters": (
        Written(letters=True).acquired([0, 2, LIMIT]).buried(0, 2, "NONE").rest(3, 17, 20),
        [("DEAD_LETTERS_ARRIVE", 0)],
    ),
    "accepted, and then a dead letter": (
        begun(letters=True).acknowledged(1, [0, 2, ACCEPT]).letter(1),
        [("DEAD_LETTERS_FAILED", 1)],
    ),
    "a dead letter that is accepted": (
        begun(letters=True).letter(2).acknowledged(1, [0, 4, ACCEPT]),
        [("DEAD_LETTERS_FAILED", 2)],
    ),
    "another is told that the write of the old leader is done": (
        begun()
        .write(1, [0, 4, ACKNOWLEDGED, 1])
        .committed([5, 9, ACKNOWLEDGED, 1], epoch=1)
        .written(),
        [("CONFIRMED_IS_WRITTEN", 0)],
    ),
    "a write is answered before it is committed": (
        begun().write(1, [0, 4, ACKNOWLEDGED, 1]).written(),
        [("CONFIRMED_IS_WRITTEN", 0)],
    ),
    "half of a write is committed": (
        begun().write(1, [0, 4, ACKNOWLEDGED, 1]).committed([0, 2, ACKNOWLEDGED, 1]).written(),
        [("CONFIRMED_IS_WRITTEN", 3)],
    ),
    "another state is committed": (
        begun().write(1, [0, 4, ACKNOWLEDGED, 1]).committed([0, 4, AVAILABLE, 1]).written(),
        [("CONFIRMED_IS_WRITTEN", 0)],
    ),
    "records that nobody gets": (finished(3).rest(3, 2, 20), [("LAG_COMES_TO_REST", 5)]),
    "a count that is too high": (finished(20).rest(20, 1, 20), [("LAG_COMES_TO_REST", 21)]),
    "a reported lag above 0": (begun().reported(3, 2), [("REPORTED_LAG_COMES_TO_REST", 5)]),
    "a reported lag of more than compaction took": (
        begun().compacted([3, 4], [20, 29]).reported(3, 14),
        [("REPORTED_LAG_COMES_TO_REST", 17)],
    ),
    "a record that compaction did not take": (
        finished(3).compacted([3, 3]).rest(5, 15, 20),
        [("EVERY_RECORD_IS_FINISHED", 4)],
    ),
    "a record before a group's start that a new leader set anew": (
        begun_anew("latest").rest(20, 0, 20),
        [("EVERY_RECORD_IS_FINISHED", 3)],
    ),
    "a record that was released and passed": (
        begun().acknowledged(1, [0, 0, ACCEPT], [1, 1, RELEASE]).rest(2, 18, 20),
        [("EVERY_RECORD_IS_FINISHED", 1)],
    ),
}

EXCEPTIONS = {
    "a group that begins at latest misses what was before": (
        Written(reset="latest").acquired([3, 4, 1]).acknowledged(1, [3, 4, ACCEPT]).rest(5, 0, 5)
    ),
    "and all of it until a member has one": Written(reset="latest").rest(20, 0, 20),
    "a leader that was replaced may still deliver": (
        Written()
        .acquired([0, 4, 1], epoch=2)
        .acknowledged(1, [0, 4, ACCEPT], epoch=2)
        .acquired([0, 4, 1], epoch=1)
    ),
    "an error promises nothing": (
        begun().acknowledged(1, [0, 0, ACCEPT], error="NOT_LEADER").acquired([0, 0, 1], epoch=1)
    ),
    "what lies below the start offset was done before": (
        begun().acknowledged(1, [0, 0, ACCEPT], start=2).acquired([0, 0, 1], epoch=1)
    ),
    "the next leader asks for the state before a count is durable": read(
        reads(begun(), 1, epoch=1).committed([0, 4, AVAILABLE, 1]), 1
    ).acquired([4, 4, 1], epoch=1),
    "what was available is done": read(
        reads(begun().committed([4, 4, 0, 1]).committed([4, 4, ACKNOWLEDGED, 1]), 1, epoch=1), 1
    ).acquired([4, 4, 1], epoch=1),
    "a history that tells of no sessions": (
        untold(begun()).after(LOCK_MS).acquired([4, 4, 1], member="m2")
    ),
    "the write of what the last session released fails": (
        released_last().written(error="NOT_COORDINATOR").acquired([4, 4, 1], member="m2")
    ),
    "what compaction took is no dead letter": (
        begun(letters=True).compacted([0, 4]).acknowledged(1, [0, 4, REJECT]).rest(5, 15, 20)
    ),
    "what compaction took of an aborted transaction is given to nobody": (
        Written().aborted([2, 3]).compacted([2, 3]).acquired([0, 4, 1])
    ),
    "what compaction took may be in the lag that is told": (
        begun().compacted([3, 4]).reported(3, 15)
    ),
    "a member that is back": (begun().left("closes").add("joined").acquired([5, 9, 1])),
    "a release is counted": begun().acknowledged(1, [0, 0, RELEASE]).acquired([0, 0, 2]),
    "a lock that was renewed ends when it does": (
        begun().acknowledged(1, [0, 0, RENEW]).acquired([0, 0, 2], member="m2")
    ),
    "a snapshot merges writes": (
        begun()
        .write(1, [0, 4, AVAILABLE, 1])
        .committed([0, 4, ACKNOWLEDGED, 2], kind="snapshot")
        .written()
    ),
    "what was deleted may be told of": begun().deleted(8).reported(5, 2),
    "nothing is reported but what is done": begun().reported(3, 17),
    "a leader that still gives out records is slow": (
        finished(3).acquired([3, 4, 2]).after(14_000).rest(3, 0, 5).reported(3, 0)
    ),
    "what was aborted need not be finished": Written().aborted([0, 2]).rest(3, 17, 20),
    "aborted records are given to who read uncommitted": (
        begun().altered(stable=False).aborted([7, 7]).acquired([6, 8, 1])
    ),
    "a limit that is lowered after a release": (
        begun()
        .acquired([6, 6, 1])
        .acquired([6, 6, 2], epoch=1)
        .altered(2)
        .acquired([6, 6, 3], epoch=2)
    ),
    "out of attempts as the limit is lowered": (
        Written().acquired([0, 2, 2]).altered(2).altered(5).rest(3, 17, 20)
    ),
    "a dead letter whose queue gave up": (
        begun(letters=True)
        .acknowledged(1, [0, 4, REJECT])
        .buried(0, 4, "Exception")
        .rest(5, 15, 20)
    ),
    "a marker of a transaction is no dead letter": (
        begun(letters=True).acknowledged(1, [0, 4, GAP]).rest(5, 15, 20)
    ),
    "what lies below the start offset was accepted by nobody": (
        begun(letters=True).letter(0).acknowledged(1, [0, 4, ACCEPT], start=5)
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str) -> None:
    history, expected = FAULTS[name]
    assert broken(history) == expected


def test_each_rule_has_two_faults_that_it_finds() -> None:
    cases = [*FAULTS.values(), *CONSUMER_FAULTS.values(), *LIFE_FAULTS.values()]
    found = [rule for _, expected in cases for rule, _ in expected]
    assert {rule for rule in RULES[RuleKind.CLUSTER] if found.count(rule) >= 2} == set(
        RULES[RuleKind.CLUSTER]
    )


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_is_let_pass(name: str) -> None:
    assert broken(EXCEPTIONS[name]) == []


@pytest.mark.parametrize(
    ("late", "cause"), [(True, "a write was fenced since"), (False, "nothing was fenced")]
)
def test_what_was_fenced_while_a_leader_began_is_that_cause(*, late: bool, cause: str) -> None:
    history = Written().write(1, [9, 9, 2, 1])
    if not late:
        history.written(error="FENCED_LEADER_EPOCH")
    history.add("reads")
    if late:
        history.written(error="FENCED_LEADER_EPOCH")
    history.add("read").acquired([0, 4, 1])
    assert caused(history.acquired([4, 4, 1], member="m2")) == [("ONE_HOLDER", cause)]


@pytest.mark.parametrize(
    ("after_ms", "cause"), [(4000, "a write was fenced since"), (6000, "nothing was fenced")]
)
def test_what_was_fenced_while_a_traced_leader_may_have_read(after_ms: int, cause: str) -> None:
    history = Written().write(1, [9, 9, 2, 1]).written(error="FENCED_LEADER_EPOCH")
    history.after(after_ms).add("reads").after(-10).add("read").acquired([0, 4, 1])
    history.acquired([4, 4, 1], member="m2")
    history.lines = [line for line in history.lines if '"joined"' not in line]  # As of a trace.
    assert caused(history) == [("ONE_HOLDER", cause)]


@pytest.mark.parametrize(
    ("node", "cause"), [(0, "a read was fenced since"), (2, "nothing was fenced")]
)
def test_a_fenced_read_of_the_node_itself_is_a_cause_of_its_own(node: int, cause: str) -> None:
    history = begun().add("reads", node=node).add("read", error="FENCED_LEADER_EPOCH")
    assert caused(history.acquired([4, 4, 1], member="m2")) == [("ONE_HOLDER", cause)]


def fenced(history: Written) -> Written:
    """The write of an older leader epoch fails, whose object the present leader had."""
    return history.write(9, [9, 9, 2, 1], epoch=0).written(9, "FENCED_LEADER_EPOCH")


CONSEQUENCES = {
    "a leader begins anew at latest": (
        begun_anew("latest").rest(20, 0, 20),
        ("EVERY_RECORD_IS_FINISHED", "a leader began anew at latest"),
    ),
    "a leader of a group that begins at earliest begins later": (
        begun_anew("earliest").acquired([0, 2, 3]).rest(20, 0, 20),
        ("EVERY_RECORD_IS_FINISHED", "after some attempts"),
    ),
    "a leader drops what it is writing as its last session has ended": (
        read(reads(released_last(), 2), 2).acquired([4, 4, 1], member="m2"),
        ("DELIVERIES_ARE_COUNTED", "being written as the last session had ended"),
    ),
    "a leader drops what its last session releases": (
        released_last(written=False).acquired([4, 4, 1], member="m2"),
        ("DELIVERIES_ARE_COUNTED", "released as the last session had ended"),
    ),
    "a leader reads no count that is durable": (
        read(reads(released_last().committed([4, 4, AVAILABLE, 1]), 2), 2).acquired(
            [4, 4, 1], member="m2"
        ),
        ("DELIVERIES_ARE_COUNTED", "it was durable"),
    ),
    "a fenced object whose read is answered late gives out what is held": (
        read(read(reads(fenced(reads(Written(), 1)), 2), 2).acquired([0, 4, 1]), 1).acquired(
            [4, 4, 1]
        ),
        ("ONE_HOLDER", "its read was answered since"),
    ),
    "a removed object whose read is answered late gives out what is held": (
        read(read(reads(reads(Written(), 1), 2), 1).acquired([0, 4, 1]), 2).acquired([4, 4, 1]),
        ("ONE_HOLDER", "its read was answered since"),
    ),
    "an application whose polls throw is told nothing": (
        begun().said(0, 4).after(15_000).polled(error="IllegalStateException").rest(5, 15, 20),
        ("TOLD_AS_ANSWERED", "IllegalStateException"),
    ),
    "the second object of a leader epoch forgets what is done": (
        read(reads(fenced(read(reads(Written(), 1), 1).acquired([0, 4, 1])), 2), 2)
        .acknowledged(1, [0, 1, ACCEPT])
        .acquired([1, 1, 2]),
        ("DONE_STAYS_DONE", "two objects in one leader epoch"),
    ),
    "what was confirmed and not saved is given out again": (
        begun()
        .write(1, [0, 4, ACKNOWLEDGED, 1])
        .committed([9, 9, ACKNOWLEDGED, 1])
        .committed([5, 8, ACKNOWLEDGED, 1], epoch=2)
        .written()
        .acknowledged(1, [0, 4, ACCEPT])
        .acquired([0, 0, 2], epoch=2),
        ("DONE_STAYS_DONE", "a write of an older leader epoch"),
    ),
    "a leader whose write was fenced buries what the next one delivers": (
        begun(letters=True)
        .write(1, [0, 4, 3, LIMIT])
        .acquired([0, 4, 1], epoch=1)
        .written(error="FENCED_LEADER_EPOCH")
        .letter(0)
        .acknowledged(2, [0, 4, ACCEPT], epoch=1),
        ("DEAD_LETTERS_FAILED", "a write of it was fenced"),
    ),
    "an aborted batch that the log start cuts is counted whole": (
        finished(20).aborted([20, 25]).deleted(22).rest(25, 0, 25).reported(22, 1),
        ("REPORTED_LAG_COMES_TO_REST", "the log or the window begins within an aborted batch"),
    ),
}


@pytest.mark.parametrize("name", CONSEQUENCES)
def test_what_follows_from_a_known_cause_has_its_name(name: str) -> None:
    history, cause = CONSEQUENCES[name]
    assert caused(history)[-1] == cause


BEGINS_WITH_THE_LOG = "the window begins where the log does, since records were deleted"


@pytest.mark.parametrize(
    ("log_start", "end", "cause"),
    [
        (3, 20, (BEGINS_WITH_THE_LOG,)),
        (3, 5, (f"{BEGINS_WITH_THE_LOG}, and all of it is done",)),
        (2, 5, ("all of the window is done",)),
        (2, 20, ()),
    ],
)
def test_a_share_partition_that_stops_is_told_apart_by_its_window(
    log_start: int, end: int, cause: tuple[str, ...]
) -> None:
    history = finished(3).deleted(log_start).rest(3, 2, 20, end).reported(3, 2)
    assert caused(history) == [("LAG_COMES_TO_REST", *cause)]


@pytest.mark.parametrize(
    ("late", "error", "cause"),
    [
        (True, "NONE", ("its read was answered since",)),
        (True, "FENCED_LEADER_EPOCH", ()),
        (False, "NONE", ()),
    ],
)
def test_a_leader_that_resigned_before_its_state_was_read_is_a_cause_of_its_own(
    *, late: bool, error: str, cause: tuple[str, ...]
) -> None:
    history = Written().add("reads")
    if late:
        history.resigned(0)
    history.add("read", error=error)
    if not late:
        history.resigned(0)
    assert caused(history.acquired([4, 4, 1])) == [("RESIGNED_LEADER_STOPS", *cause)]


@pytest.mark.parametrize(
    ("start", "complete", "first", "is_known"),
    [(3, 5, 4, True), (3, 4, 4, False), (3, 4, 3, True), (1, 2, 3, True), (1, 2, 4, False)],
)
def test_what_compaction_took_of_a_window_is_a_cause(
    *, start: int, complete: int, first: int, is_known: bool
) -> None:
    history = finished(3).compacted([first, first + 1]).rest(start, complete, 20, end=10)
    (finding,) = judge_history(history.events())
    assert known_in_cluster(finding).startswith("fetches-from-a-gap") is is_known


@pytest.mark.parametrize(
    ("state", "taken", "is_known"),
    [(AVAILABLE, 3, True), (AVAILABLE, 9, False), (ACKNOWLEDGED, 3, False)],
)
def test_compaction_of_a_batch_whose_release_is_being_written_is_a_cause(
    *, state: int, taken: int, is_known: bool
) -> None:
    history = begun().write(2, [0, 4, state, 1]).compacted([taken, taken]).rest(5, 15, 20)
    (finding,) = judge_history(history.events())
    assert known_in_cluster(finding).startswith("failed-fetch-takes-an-attempt") is is_known


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"run": "s1", "ms": 1, "event": "nothing"}', '{"event": "rest"}']
)
def test_a_line_that_is_no_event_is_named(line: str) -> None:
    with pytest.raises(InvalidValueError, match="line 2 of the history"):
        list(read_history([Written().lines[0], line]))


def test_a_rule_is_reported_once_for_each_share_partition() -> None:
    history = Written()
    for id_, partition in ((1, 0), (2, 1), (3, 1)):
        batches = [[id_, id_, ACKNOWLEDGED, 1]]
        history.add("writes", id=id_, partition=partition, batches=batches).written(id_)
    lost = [finding.offset for finding in judge_history(history.events())]
    assert lost == [1, 2]


def test_a_rule_is_reported_once_in_a_share_partition_unless_all_are_asked_for() -> None:
    lost = begun().write(1, [0, 2, ACKNOWLEDGED, 1]).write(2, [3, 4, ACKNOWLEDGED, 1])
    lost.written(1).written(2)
    assert [each.offset for each in judge_history(lost.events())] == [0]
    assert [each.offset for each in judge_history(lost.events(), once=False)] == [0, 3]
