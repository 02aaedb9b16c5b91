"""Which deliveries of a record its leader must know."""

import pytest

from conformance.cluster.rules import judge_history
from sharespec.known_faults import known_in_cluster
from tests.conformance.cluster.written import (
    ACCEPT,
    ACKNOWLEDGED,
    AVAILABLE,
    LOCK_MS,
    RELEASE,
    RENEW,
    Written,
    begun,
    broken,
    caused,
)


@pytest.mark.parametrize("is_dropped", [True, False])
def test_an_object_that_is_dropped_as_it_reads_need_not_count(*, is_dropped: bool) -> None:
    history = Written().add("reads")
    if is_dropped:
        history.left("is disconnected", sessions=0)
    history.add("read").acquired([4, 4, 1], member="m2").after(LOCK_MS)
    expected = [] if is_dropped else [("DELIVERIES_ARE_COUNTED", 4)]
    assert broken(history.acquired([4, 4, 1], member="m3")) == expected


def test_what_is_being_written_is_known_without_sessions() -> None:
    history = begun()
    del history.lines[1]
    history.write(1, [4, 4, AVAILABLE, 1]).after(LOCK_MS)
    assert broken(history.acquired([4, 4, 1], member="m2")) == [("DELIVERIES_ARE_COUNTED", 4)]


@pytest.mark.parametrize("has_left", [True, False])
def test_what_a_member_is_given_that_has_left_has_a_rule_of_its_own(*, has_left: bool) -> None:
    history = Written().left("closes", node=0 if has_left else 1)
    history.acquired([4, 4, 1]).after(LOCK_MS).acquired([4, 4, 1], member="m2")
    expected = ("NOTHING_AFTER_LEAVING" if has_left else "DELIVERIES_ARE_COUNTED", 4)
    assert broken(history) == [expected]


@pytest.mark.parametrize(
    ("is_late", "cause"), [(True, "its read was answered since"), (False, "nothing was fenced")]
)
def test_what_a_removed_object_gives_of_a_renewed_lock_is_known(
    *, is_late: bool, cause: str
) -> None:
    history = Written().add("reads", id=2).add("reads").add("read").acquired([4, 4, 1])
    history.add("acknowledges", batches=[[4, 4, RENEW]])
    if is_late:
        history.add("read", id=2)
    (finding,) = judge_history(history.acquired([4, 4, 1], member="m2").events())
    assert finding.probable_cause == ("DELIVERIES_ARE_COUNTED", cause)
    assert bool(known_in_cluster(finding)) == is_late


@pytest.mark.parametrize(
    ("is_late", "cause"), [(True, "its read was answered since"), (False, "nothing was fenced")]
)
def test_objects_that_begin_at_one_time_are_told_apart(*, is_late: bool, cause: str) -> None:
    history = Written().add("reads").after(-10).add("reads", id=2)
    history.add("read").acquired([4, 4, 1]).after(-20)
    if is_late:
        history.add("read", id=2)
    assert caused(history.acquired([4, 4, 1], member="m2")) == [("ONE_HOLDER", cause)]


@pytest.mark.parametrize(
    ("who", "sessions", "is_found"), [("m1", 0, False), ("m1", 1, True), ("m3", 0, True)]
)
def test_a_node_that_all_have_left_may_forget_a_lock(
    who: str, sessions: int, *, is_found: bool
) -> None:
    """Its session had forgotten the partition: as it ended, the record was not released."""
    history = (
        Written()
        .acquired([4, 4, 1])
        .add("left", member=who, how="is disconnected", sessions=sessions)
    )
    history.add("joined", member="m2").acquired([4, 4, 1], member="m2")
    assert (("ONE_HOLDER", 4) in broken(history)) == is_found


WRITE = "the last session had ended while a write waited"
GONE = "the last session had ended while a member that had left held records"


@pytest.mark.parametrize(
    ("how", "cause", "is_known"),
    [
        ("fenced", ("two objects in one leader epoch",), True),
        ("wrote", (WRITE,), True),
        ("held", (GONE,), True),
        ("held, and ended", (), False),
        ("nothing", (), False),
    ],
)
def test_a_second_object_is_a_cause_by_what_is_to_come_of_the_first(
    how: str, cause: tuple[str, ...], *, is_known: bool
) -> None:
    """A group without sessions drops an object rightly: what is wrong then is not known."""
    history = Written(letters=True).add("reads").add("read").left("is disconnected", sessions=0)
    if how != "nothing":
        history.write(3, [9, 9, AVAILABLE, 1]).committed([9, 9, AVAILABLE, 1])
    if how.startswith("held"):
        history.acquired([0, 4, 1])
    if how == "held, and ended":
        history.add("acknowledges", id=7, batches=[[0, 4, RELEASE]])
    if how != "wrote":
        history.written(3, "FENCED_LEADER_EPOCH" if how == "fenced" else "NONE")
    history.add("joined").add("reads").add("read").acquired([10, 10, 1])
    *_, finding = judge_history(history.letter(10).acknowledged(8, [10, 10, ACCEPT]).events())
    assert finding.probable_cause == ("DEAD_LETTERS_FAILED", *cause)
    assert bool(known_in_cluster(finding)) == is_known


def led(*later: int) -> Written:
    """A group begins at latest, a member gets records 3 and 4, and leaders of epochs follow."""
    history = Written(reset="latest").add("reads").add("read").acquired([3, 4, 1])
    for epoch in later:
        history.add("reads", id=2, leader_epoch=epoch).add("read", id=2)
    return history


@pytest.mark.parametrize(
    ("history", "cause"),
    [
        (led(), "after some attempts"),
        (led(1), "a leader began anew at latest"),
        (led(0).committed([3, 4, AVAILABLE, 1]), "a leader began anew at latest"),
    ],
    ids=["one leader", "another, and nothing is written", "the object of before writes"],
)
def test_what_was_given_is_lost_where_a_leader_begins_anew(history: Written, cause: str) -> None:
    assert caused(history.rest(20, 0, 20)) == [("EVERY_RECORD_IS_FINISHED", cause)]


@pytest.mark.parametrize("is_cut", [True, False])
def test_what_fails_at_an_aborted_batch_is_lost_for_a_known_cause(*, is_cut: bool) -> None:
    history = Written().acquired([5, 7, 1]).aborted([2, 4]).deleted(3 if is_cut else 5)
    cause = (
        "the log or the window begins within an aborted batch" if is_cut else "after some attempts"
    )
    assert caused(history.rest(20, 0, 20)) == [("EVERY_RECORD_IS_FINISHED", cause)]


@pytest.mark.parametrize(("start", "is_cut"), [(3, True), (5, False)])
def test_a_window_may_begin_within_an_aborted_batch(start: int, *, is_cut: bool) -> None:
    history = Written().acquired([5, 7, 1]).aborted([2, 4])
    history.add("durable", kind="update", start_offset=start, batches=[])
    cause = (
        "the log or the window begins within an aborted batch"
        if is_cut
        else "no member ever had it"
    )
    assert caused(history.rest(20, 0, 20)) == [("EVERY_RECORD_IS_FINISHED", cause)]


@pytest.mark.parametrize(
    ("log_start", "first", "is_cut"),
    [(3, "deleted", True), (3, "written", True), (5, "written", False), (0, "written", False)],
)
def test_a_release_that_is_cut_as_it_is_written_ends_the_next_lock(
    log_start: int, first: str, *, is_cut: bool
) -> None:
    history = begun()
    if first == "deleted":
        history.deleted(log_start)
    history.write(1, [0, 4, AVAILABLE, 1])
    if first == "written":
        history.deleted(log_start)
    history.acquired([4, 4, 2], member="m2").acquired([4, 4, 3], member="m3")
    *_, finding = judge_history(history.events())
    cause = (
        "its batch was cut while its release was being written" if is_cut else "nothing was fenced"
    )
    assert finding.probable_cause == ("ONE_HOLDER", cause)
    assert bool(known_in_cluster(finding)) == is_cut


@pytest.mark.parametrize("state", [ACKNOWLEDGED, AVAILABLE])
def test_what_is_durable_is_not_the_first_that_is_not_done(state: int) -> None:
    """Who was told of the end of record 0 is not known: its node was killed."""
    history = begun().committed([0, 0, state, 1]).compacted([1, 1]).after(60_000)
    taken = ("compaction took what is first not done, or all that is not done",)
    known = taken if state == ACKNOWLEDGED else ()
    assert caused(history.rest(0, 1, 20, 5)) == [("LAG_COMES_TO_REST", *known)]
