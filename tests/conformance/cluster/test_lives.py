"""A group that is deleted, or whose offsets are altered: what holds from then on."""

import pytest

from tests.conformance.cluster.written import ACCEPT, ACKNOWLEDGED, Written, broken, caused

FORMER, ANSWERED = "FORMER_STATE_IS_OVER", "ADMINISTERED_AS_ANSWERED"


def live() -> Written:
    """A leader that has read the state of a group, of which a member has finished two records."""
    history = Written().add("begins", state_epoch=2, start_offset=-1).add("reads").add("read")
    return history.acquired([0, 1, 1]).acknowledged(2, [0, 1, ACCEPT])


def asked(history: Written, *offsets: list[int], id_: int = 7) -> Written:
    return history.add("administers", id=id_, deletes=not offsets, offsets=offsets)


def ended(history: Written) -> Written:
    return history.add("begins", state_epoch=-1, start_offset=-1)


def anew(history: Written, start: int = -1) -> Written:
    history.add("begins", state_epoch=3, start_offset=start)
    return history.add("reads", id=3, leader_epoch=1).add("read", id=3)


def outlived(*, is_altered: bool) -> Written:
    """A write of a leader that had the state of before."""
    history = asked(live(), [0, 9]) if is_altered else ended(asked(live()))
    history.add("begins", state_epoch=2, start_offset=9 if is_altered else -1)
    history.write(4, [0, 1, ACKNOWLEDGED, 1])
    return history.committed([0, 1, ACKNOWLEDGED, 1]).written(4)


LIFE_FAULTS = {
    "a write on a state of before a deletion": (outlived(is_altered=False), [(FORMER, 0)]),
    "a write on a state of before an alteration": (outlived(is_altered=True), [(FORMER, 0)]),
    "an alteration that is not written": (
        asked(live(), [0, 9]).add("administered", id=7),
        [(ANSWERED, 9)],
    ),
    "a deletion that is not written": (asked(live()).add("administered", id=7), [(ANSWERED, 0)]),
}


@pytest.mark.parametrize("name", LIFE_FAULTS)
def test_a_fault_is_found(name: str) -> None:
    history, expected = LIFE_FAULTS[name]
    assert broken(history) == expected


@pytest.mark.parametrize("is_asked", [True, False])
def test_records_are_due_again_where_an_administrator_deletes(*, is_asked: bool) -> None:
    history = asked(live()) if is_asked else live()
    ended(history).add("administered", id=7) if is_asked else history
    expected = [] if is_asked else [("DONE_STAYS_DONE", "its state was initialized again")]
    assert caused(anew(history).acquired([0, 0, 1], epoch=1)) == expected


def test_what_leaders_of_a_new_life_passed_they_must_have_delivered() -> None:
    history = ended(asked(live())).add("administered", id=7)
    anew(history).acquired([0, 0, 1], epoch=1).acknowledged(4, [0, 0, ACCEPT], epoch=1)
    assert broken(history.rest(2, 0, 2)) == [("EVERY_RECORD_IS_FINISHED", 1)]


def test_a_leader_that_has_a_former_state_tells_nothing() -> None:
    history = ended(asked(live()))
    history.add("begins", state_epoch=1, start_offset=-1).acquired([0, 1, 1])
    history.acknowledged(5, [0, 1, ACCEPT], error="FENCED_STATE_EPOCH")
    assert broken(history.rest(2, 0, 2)) == [("EVERY_RECORD_IS_FINISHED", 0)]


@pytest.mark.parametrize("error", ["NONE", "FENCED_STATE_EPOCH"])
@pytest.mark.parametrize("is_early", [True, False])
def test_a_write_on_a_former_state_fails(error: str, *, is_early: bool) -> None:
    history = asked(live())
    if is_early:
        history.write(4, [0, 1, ACKNOWLEDGED, 1])
    ended(history).add("administered", id=7)
    history.add("begins", state_epoch=1, start_offset=-1)
    if not is_early:
        history.write(4, [0, 1, ACKNOWLEDGED, 1])
    if error == "NONE":
        history.committed([0, 1, ACKNOWLEDGED, 1])
    expected = [(FORMER, "the group was deleted meanwhile")] if error == "NONE" else []
    assert caused(history.written(4, error)) == expected


def test_a_write_that_was_committed_before_may_be_answered_later() -> None:
    history = asked(live()).write(4, [0, 1, ACKNOWLEDGED, 1]).committed([0, 1, ACKNOWLEDGED, 1])
    assert broken(ended(history).written(4)) == []


@pytest.mark.parametrize("first", [8, 9])
def test_nothing_before_an_altered_offset_is_delivered(first: int) -> None:
    history = asked(live(), [0, 9]).add("begins", state_epoch=3, start_offset=9)
    history.add("administered", id=7).add("reads", id=3, leader_epoch=1).add("read", id=3)
    expected = [(ANSWERED, "an alteration")] if first < 9 else []
    assert caused(history.acquired([first, 10, 1], epoch=1)) == expected


def test_what_was_not_answered_may_hold_or_not() -> None:
    history = asked(live(), [0, 4]).add("administered", id=7, error="REQUEST_TIMED_OUT")
    asked(history, [0, 9], id_=8).add("begins", state_epoch=3, start_offset=9)
    history.add("administered", id=8)
    assert broken(anew(history, 4).acquired([5, 5, 1], epoch=1)) == []


@pytest.mark.parametrize("is_written", [True, False])
def test_what_is_told_to_be_altered_is_written(*, is_written: bool) -> None:
    history = asked(live(), [0, 9])
    if is_written:
        history.add("begins", state_epoch=3, start_offset=9)
    expected = [] if is_written else [(ANSWERED, "an alteration")]
    assert caused(history.add("administered", id=7)) == expected


@pytest.mark.parametrize("is_deleted", [True, False])
@pytest.mark.parametrize("error", ["NONE", "NON_EMPTY_GROUP", "NOT_COORDINATOR"])
def test_what_is_told_to_be_deleted_is(error: str, *, is_deleted: bool) -> None:
    history = ended(asked(live())) if is_deleted else asked(live())
    wrong = {
        ("NONE", False): "a deletion",
        ("NON_EMPTY_GROUP", True): "a deletion that was refused",
    }
    expected = [(ANSWERED, wrong[error, is_deleted])] if (error, is_deleted) in wrong else []
    assert caused(history.add("administered", id=7, error=error)) == expected


@pytest.mark.parametrize("is_deleted", [True, False])
def test_where_no_leader_has_a_state_nothing_comes_to_rest(*, is_deleted: bool) -> None:
    history = ended(asked(live())) if is_deleted else live()
    nowhere = {"leader_epoch": -1, "start_offset": -1, "end_offset": -1}
    history.after(60_000).add("rest", delivery_complete_count=0, **nowhere)
    cause = "its state is deleted" if is_deleted else "no leader has it, and a state is there"
    assert caused(history) == [("LAG_COMES_TO_REST", cause)]
