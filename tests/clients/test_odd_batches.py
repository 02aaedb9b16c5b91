import pytest
from crc32c import crc32c
from kio.records.readers import read_batch

from clients.broker import SECOND, running
from clients.odd_batches import control_batch, transaction_batch
from conformance.wire.records import CONTROL, CRC_FROM, TRANSACTIONAL, Producer, value_of
from tests.clients.test_broker import holding
from tests.serve.served import acquired, offsets_of, part

WHO = Producer(7, 0, 0)


@pytest.mark.parametrize("commits", [True, False])
def test_a_control_record_says_how_its_transaction_ends(*, commits: bool) -> None:
    batch = control_batch(5, WHO, commits=commits)
    theirs, _ = read_batch(batch.data, 0)
    assert theirs.attributes == CONTROL | TRANSACTIONAL
    assert crc32c(batch.data[CRC_FROM:]) == int.from_bytes(batch.data[17:21], "big")
    (record,) = theirs.records
    assert record.key == bytes((0, 0, 0, int(commits)))


def test_records_of_a_transaction_have_values_that_tell_their_offsets() -> None:
    batch = transaction_batch(3, 5, WHO)
    theirs, _ = read_batch(batch.data, 0)
    assert theirs.attributes == TRANSACTIONAL
    values = [record.value for record in theirs.records]
    assert values == [value_of(offset) for offset in (5, 6, 7)]


def test_what_was_aborted_is_given_unless_only_committed_records_are_asked_for() -> None:
    with holding() as (broker, client, _topic):
        broker.transact(("t", 0), 2, commits=False)
        assert acquired(client.fetch(1)) == [(3, 5, 1)]
        broker.set_group("share.isolation.level", "read_committed")
        broker.transact(("t", 0), 2, commits=False)
        broker.transact(("t", 0), 1, commits=True)
        # The marker of each transaction, and what was committed.
        assert offsets_of(client.fetch(2)) == [8, 9, 10]


def test_a_second_member_takes_a_partition_and_gives_it_back() -> None:
    with running() as broker:
        assert (broker.second_member("t"), broker.second_leaves()) == (None, None)
    with holding() as (broker, client, topic):
        client.acknowledge(1, part(topic, (0, 2, 1)))
        assert broker.second_leaves() is None
        assert broker.second_member("t") == 1
        members = broker.do(lambda cluster: set(cluster.groups["g"].members))
        assert members == {"m", SECOND}
        broker.produce(("t", 0), 1)
        assert broker.available(("t",))  # One partition is fetched by both.
        assert broker.second_leaves() == 1
