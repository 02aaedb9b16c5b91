import attrs
import pytest
from immutables import Map

from judge.invariants import broken_names
from judge.share_broker_invariants import BROKER_INVARIANTS
from model.errors import ErrorCode, InvalidValueError
from model.operations import CompleteWrite, MemberLeaves, Produce
from model.outcome import Answer
from model.ranges import OffsetRange
from model.share_messages import Conduct, PartitionConduct, TopicPartition
from model.snapshot import DurableState
from spec.coordinator import Durable, initialize_durable
from spec.log import Log
from spec.share_broker import (
    ShareBroker,
    advance,
    append,
    complete_write,
    disconnect,
    end_session,
    lead,
    resign,
)
from spec.share_request import handle
from spec.window import Window
from tests.spec.share_worlds import (
    P0,
    P1,
    PENDING,
    acked,
    asked,
    broker_of,
    errors,
    fetching,
    given,
    held,
    lost,
    opened,
    sent,
)
from tests.spec.worlds import SMALL

WAITS = Conduct(((P0, PartitionConduct(acknowledge_answer=PENDING)),))
RELEASE_WAITS = Conduct(((P0, PartitionConduct(release_answer=PENDING)),))


def in_memory(broker: ShareBroker) -> list[TopicPartition]:
    return sorted(at for (_group, at), there in broker.partitions.items() if there.ready)


def test_time_does_not_go_back() -> None:
    with pytest.raises(InvalidValueError, match="now is 4; allowed: at least 5"):
        advance(advance(broker_of(), 5), 4)


def test_a_response_waits_for_the_write_of_its_acknowledgement() -> None:
    handled = handle(opened(broker_of()), acked("m", 1, asked(P0, (0, 1, 1))), 0, WAITS)
    assert handled.response is None
    assert broken_names(BROKER_INVARIANTS, handled.broker) == []
    (write,) = handled.broker.partitions["g", P0].outstanding
    done = complete_write(handled.broker, ("g", P0), CompleteWrite(write, ErrorCode.NONE))
    assert errors(done.responses[handled.seq]) == {P0: ("NONE", "NONE")}
    assert not done.broker.waiting
    assert not done.broker.finished


def test_a_broker_that_resigned_twice_leads_neither_and_ends_the_session() -> None:
    one = resign(opened(broker_of()), P0).broker
    assert in_memory(one) == [P1]
    assert not end_session(one, ("g", "m"), Conduct()).sessions
    two = resign(one, P1).broker
    assert two.elsewhere == {P0, P1}
    _, response = sent(two, fetching("m", 1))
    assert {found for found, _ in errors(response).values()} == {"NOT_LEADER_OR_FOLLOWER"}


def test_the_end_of_a_groups_last_session_leaves_other_groups_in_memory() -> None:
    broker = opened(broker_of())
    there = broker.partitions["g", P0]
    broker = lead(broker, ("h", P0), there.config, there.log, there.durable)
    broker, _ = sent(broker, fetching("n", 0, asked(P0), group="h"))
    after = end_session(broker, ("g", "m"), Conduct())
    assert [key for key, found in after.partitions.items() if found.ready] == [("h", P0)]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (ErrorCode.FENCED_STATE_EPOCH, "NOT_LEADER_OR_FOLLOWER"),
        (ErrorCode.FENCED_LEADER_EPOCH, "NOT_LEADER_OR_FOLLOWER"),
        (ErrorCode.GROUP_ID_NOT_FOUND, "GROUP_ID_NOT_FOUND"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_a_fenced_leader_forgets_the_share_partition_and_tells_whoever_waits(
    code: ErrorCode, told: str
) -> None:
    first = handle(opened(broker_of()), acked("m", 1, asked(P0, (0, 0, 1))), 0, WAITS)
    second = handle(first.broker, acked("m", 2, asked(P0, (1, 1, 1))), 0, lost(P0, code))
    assert in_memory(second.broker) == [P1]
    told_to = {seq: errors(one) for seq, one in second.responses.items()}
    assert told_to == {
        first.seq: {P0: ("NONE", told)},
        second.seq: {P0: ("NONE", told)},
    }
    assert broken_names(BROKER_INVARIANTS, second.broker) == []
    gone = second.broker.partitions["g", P0]
    assert (gone.window, dict(gone.outstanding)) == (Window(0, 0), {})
    again = code is not ErrorCode.FENCED_LEADER_EPOCH
    assert second.broker.fenced == (frozenset() if again else {("g", P0)})
    broker, response = sent(second.broker, fetching("m", 3, most=9))
    assert given(response) == {P1: [(0, 5, 1)], P0: [(0, 2, 1)] if again else []}
    if not again:
        assert errors(response)[P0] == ("NOT_LEADER_OR_FOLLOWER", "NONE")
        broker = lead(broker, ("g", P0), SMALL, Log(0, 6), Durable(0, 0))
        _, response = sent(broker, fetching("m", 4, most=9))
        assert given(response)[P0] == [(0, 5, 1)]


def test_a_partition_that_moves_away_is_not_leader_or_follower() -> None:
    waits = handle(opened(broker_of()), acked("m", 1, asked(P0, (0, 1, 1))), 0, WAITS)
    moved = resign(waits.broker, P0)
    assert errors(moved.responses[waits.seq]) == {P0: ("NONE", "NOT_LEADER_OR_FOLLOWER")}
    assert broken_names(BROKER_INVARIANTS, moved.broker) == []
    _, response = sent(moved.broker, fetching("m", 2, asked(P0, (0, 1, 1))))
    assert errors(response)[P0] == ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION")


def test_a_partition_that_comes_back_is_read_again() -> None:
    broker = resign(opened(broker_of()), P0).broker
    there = broker.partitions["g", P0]
    broker = lead(broker, ("g", P0), there.config, there.log, there.durable)
    _, response = sent(broker, fetching("m", 1, most=9))
    assert given(response)[P0] == [(0, 2, 1)]


def test_batches_are_appended_for_every_group_in_memory_or_not() -> None:
    broker = opened(broker_of(records=1))
    other = broker.partitions["g", P1]
    broker = lead(broker, ("h", P0), other.config, Log(0, 1), other.durable)
    broker = append(broker, P0, Produce((OffsetRange(1, 2),), 3))
    ends = {key: there.log.end_offset for key, there in broker.partitions.items()}
    assert ends == {("g", P0): 3, ("h", P0): 3, ("g", P1): 1}
    _, response = sent(broker, fetching("n", 0, asked(P0), group="h"))
    assert given(response) == {P0: [(0, 1, 1)]}


def test_a_connection_that_was_replaced_does_not_end_the_new_session() -> None:
    broker = opened(broker_of())
    again = handle(broker, fetching("m", 0, asked(P0)), 0, connection="second").broker
    assert disconnect(again, "m", 0).broker == again
    assert not disconnect(again, "second", 0).broker.sessions


def test_a_closed_session_releases_what_its_partitions_hold_only() -> None:
    broker, _ = sent(opened(broker_of(records=2)), fetching("m", 1))
    assert (held(broker, P0), held(broker, P1)) == ("0-1:Q1@m", "0-1:Q1@m")
    broker = opened(broker, "n")
    forgets = attrs.evolve(fetching("m", 2), forgotten=(P0,))
    broker, _ = sent(broker, forgets)
    after = end_session(broker, ("g", "m"), Conduct())
    assert (held(after, P0), held(after, P1)) == ("0-1:Q1@m", "0-1:A1")
    assert held(advance(after, 100), P0) == "0-1:A1"


def test_a_member_without_a_session_holds_again_what_its_failed_write_acknowledged() -> None:
    first = handle(opened(opened(broker_of()), "n"), acked("m", 1, asked(P0, (0, 0, 1))), 0, WAITS)
    gone = end_session(first.broker, ("g", "m"), Conduct())
    assert held(gone, P0) == "0:K1* 1:A1 2-3:Q1@n"
    failed = CompleteWrite(0, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    again = complete_write(gone, ("g", P0), failed).broker
    assert held(again, P0) == "0:Q1@m 1:A1 2-3:Q1@n"
    assert held(advance(again, 100), P0) == "0-3:A1"


def test_a_release_whose_write_fails_leaves_the_lock_to_expire() -> None:
    fails = Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    conduct = Conduct(((P0, PartitionConduct(release_answer=fails)),))
    broker = end_session(opened(opened(broker_of()), "n"), ("g", "m"), conduct)
    assert held(broker, P0) == "0-1:Q1@m 2-3:Q1@n"
    assert held(advance(broker, 100), P0) == "0-3:A1"


def test_a_session_ends_that_names_what_the_broker_does_not_lead() -> None:
    broker, _ = sent(opened(broker_of()), fetching("m", 1, asked(TopicPartition("t", 7))))
    after = end_session(broker, ("g", "m"), Conduct())
    assert (in_memory(after), after.sessions) == ([], Map())


def test_an_outstanding_write_keeps_it_in_memory() -> None:
    broker = end_session(opened(broker_of()), ("g", "m"), RELEASE_WAITS)
    assert in_memory(broker) == [P0]
    assert broken_names(BROKER_INVARIANTS, broker) == []
    after = complete_write(broker, ("g", P0), CompleteWrite(0, ErrorCode.NONE))
    assert not after.responses
    assert in_memory(after.broker) == []


def test_the_next_session_finds_an_altered_start_offset() -> None:
    broker = end_session(opened(broker_of()), ("g", "m"), Conduct())
    before = broker.partitions["g", P0]
    altered = initialize_durable(before.durable, 4, 1)
    there = attrs.evolve(before, durable=altered)
    broker = attrs.evolve(broker, partitions=broker.partitions.set(("g", P0), there))
    _, response = sent(broker, fetching("n", 0, asked(P0)))
    assert given(response) == {P0: [(4, 5, 1)]}


def reading(read: DurableState | ErrorCode) -> Conduct:
    return Conduct(((P0, PartitionConduct(read=read)),))


@pytest.mark.parametrize(
    ("read", "given_now", "told"),
    [
        (DurableState(6, 0, state_epoch=1), {P0: []}, "NOT_LEADER_OR_FOLLOWER"),
        (DurableState(4, 0, state_epoch=1), {P0: [(4, 5, 1)]}, "NOT_LEADER_OR_FOLLOWER"),
        (ErrorCode.FENCED_LEADER_EPOCH, {P0: []}, "NOT_LEADER_OR_FOLLOWER"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, {P0: []}, "UNKNOWN_TOPIC_OR_PARTITION"),
        (ErrorCode.INVALID_REQUEST, {P0: []}, "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_the_first_session_validates_what_an_outstanding_write_kept_in_memory(
    read: DurableState | ErrorCode, given_now: object, told: str
) -> None:
    first = handle(opened(broker_of(), most=1), acked("m", 1, asked(P0, (0, 0, 1))), 0, WAITS)
    broker = end_session(first.broker, ("g", "m"), Conduct())
    assert in_memory(broker) == [P0]
    second = handle(broker, fetching("n", 0, asked(P0)), 0, reading(read))
    assert second.response is not None
    assert given(second.response) == given_now
    assert errors(second.responses[first.seq]) == {P0: ("NONE", told)}
    assert broken_names(BROKER_INVARIANTS, second.broker) == []
    assert not second.broker.unvalidated


def test_in_the_state_epoch_that_it_had_a_share_partition_goes_on_and_is_validated_once() -> None:
    broker = end_session(opened(broker_of()), ("g", "m"), RELEASE_WAITS)
    busy = reading(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    handled = handle(broker, fetching("n", 0, asked(P0)), 0, busy)
    assert handled.response is not None
    assert errors(handled.response)[P0] == ("COORDINATOR_NOT_AVAILABLE", "NONE")
    handled = handle(handled.broker, fetching("n", 1), 0, reading(DurableState(0, 0)))
    assert held(handled.broker, P0) == "0-1:A1* 2-3:Q1@n"
    broker = complete_write(handled.broker, ("g", P0), CompleteWrite(0, ErrorCode.NONE)).broker
    broker, response = sent(broker, fetching("n", 2), reading(DurableState(6, 0, state_epoch=1)))
    assert given(response) == {P0: [(0, 1, 2)]}
    broker = end_session(broker, ("g", "n"), RELEASE_WAITS)
    assert broker.unvalidated == {("g", P0)}, "until the next session, whatever is outstanding"


def test_a_journal_has_what_was_applied_in_order() -> None:
    plain = broker_of()
    kept = attrs.evolve(plain, journal=())
    after = append(opened(kept), P0, Produce((OffsetRange(6, 6),), 7))
    after = handle(after, acked("m", -1, asked(P0, (0, 3, 1))), 5).broker
    named = [type(one.operation).__name__ for one in after.journal or () if one.key[1] == P0]
    assert named == [
        "Initialize",
        "Acquire",
        "Produce",
        "AdvanceTime",
        "Acknowledge",
        "MemberLeaves",
    ]
    last = [one for one in after.journal or () if one.key[1] == P0][-1]
    assert isinstance(last.operation, MemberLeaves)
    assert last.partition.now == 5
    without = append(opened(plain), P0, Produce((OffsetRange(6, 6),), 7))
    without = handle(without, acked("m", -1, asked(P0, (0, 3, 1))), 5).broker
    assert without == attrs.evolve(after, journal=None)
