from uuid import UUID

import pytest
from crc32c import crc32c
from kio.schema.errors import ErrorCode as KafkaError

from conformance.wire.messages import encoded, request
from conformance.wire.records import BATCH_HEADER, record_batch
from serve.limits import BATCH_BYTES, Maxima
from serve.node import Options
from tests.conformance.wire.serving import framed
from tests.serve.served import Client, acquired, client_of, part, raw


def altered(batch: bytes, **fields: int) -> bytes:
    """Return a batch with other fields of its header, and the checksum that belongs to it."""
    names = ("base", "length", "term", "magic", "crc", "attributes", "delta", "oldest", "newest",
             "id", "epoch", "sequence", "count")  # fmt: skip
    values = dict(zip(names, BATCH_HEADER.unpack_from(batch), strict=True)) | fields
    body = batch[BATCH_HEADER.size :]
    if "crc" not in fields:
        values["crc"] = crc32c((BATCH_HEADER.pack(*values.values()) + body)[21:])
    return BATCH_HEADER.pack(*values.values()) + body


def sequenced(sequence: int, size: int = 2, epoch: int = 0) -> bytes:
    return altered(record_batch(size), id=5, epoch=epoch, sequence=sequence)


def answers(client: Client, *batches: bytes) -> list[tuple[int, int]]:
    found = [client.produce("t", batch) for batch in batches]
    return [(answer.error_code, answer.base_offset) for answer in found]


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        (b"", KafkaError.corrupt_message),
        (altered(record_batch(1), crc=1), KafkaError.corrupt_message),
        (record_batch(1) * 2, KafkaError.invalid_record),
        (altered(record_batch(1), magic=1), KafkaError.invalid_record),
        (altered(record_batch(2), delta=5), KafkaError.invalid_record),
        (altered(record_batch(2), count=1, delta=0), KafkaError.invalid_record),
        (altered(record_batch(1), attributes=32), KafkaError.invalid_record),
        (altered(record_batch(1), attributes=16), KafkaError.invalid_txn_state),
        (altered(record_batch(1), attributes=7), KafkaError.unsupported_compression_type),
        (altered(record_batch(1), count=2**30, delta=2**30 - 1), KafkaError.invalid_record),
    ],
    ids=[
        "empty",
        "checksum",
        "two",
        "magic",
        "holes",
        "few",
        "control",
        "transaction",
        "packed",
        "many",
    ],
)
def test_a_batch_that_is_wrong_is_refused(client: Client, batch: bytes, error: KafkaError) -> None:
    client.topic("t")
    assert answers(client, batch) == [(error, -1)]


def test_batches_follow_each_other_and_stay_as_they_were(client: Client, topic: UUID) -> None:
    packed = altered(record_batch(3), attributes=4)
    assert answers(client, record_batch(2), packed) == [(0, 0), (0, 2)]
    client.beat(0, ["t"])
    answer = client.fetch(0, part(topic))
    assert acquired(answer) == [(0, 4, 1)]
    assert [(one.first, one.last) for one in answer.read[0][1]] == [(0, 1), (2, 4)]


def test_what_a_producer_sends_twice_is_kept_once(client: Client) -> None:
    client.topic("t")
    sent = (sequenced(0), sequenced(2), sequenced(0), sequenced(9), sequenced(0, epoch=1))
    hole = KafkaError.out_of_order_sequence_number
    assert answers(client, *sent) == [(0, 0), (0, 2), (0, 0), (hole, -1), (0, 4)]
    assert answers(client, sequenced(4)) == [(KafkaError.invalid_producer_epoch, -1)]
    assert answers(client, sequenced(7, epoch=2)) == [(hole, -1)]


def test_a_full_partition_says_that_it_is_full() -> None:
    size = len(record_batch(1)) + BATCH_BYTES
    with client_of(Options(limits=Maxima(partition_bytes=2 * size))) as client:
        client.topic("t")
        full = (KafkaError.policy_violation, -1)
        assert answers(client, *[record_batch(1)] * 3) == [(0, 0), (0, 1), full]
        assert "full" in client.produce("t", record_batch(1)).error_message
    with client_of(
        Options(limits=Maxima(log_bytes=size, batch_bytes=size - BATCH_BYTES))
    ) as client:
        client.topic("t")
        assert answers(client, record_batch(1), record_batch(1)) == [(0, 0), full]
        assert answers(client, record_batch(9)) == [(KafkaError.message_too_large, -1)]


def test_records_go_to_partitions_that_there_are(client: Client) -> None:
    client.topic("t")
    unknown = KafkaError.unknown_topic_or_partition
    assert client.produce("u", record_batch(1)).error_code == unknown
    assert client.produce("t", record_batch(1), partition=1).error_code == unknown
    acks = client.produce("t", record_batch(1), acks=2).error_code
    assert acks == KafkaError.invalid_required_acks


def test_a_producer_gets_an_id_and_a_transaction_does_not(client: Client) -> None:
    asked = {"transaction_timeout": 1, "producer_id": -1, "producer_epoch": -1}
    first, second = (
        client.ask("init_producer_id", transactional_id=None, **asked).producer_id for _ in range(2)
    )
    assert first != second
    refused = client.ask("init_producer_id", transactional_id="x", **asked)
    assert refused.error_code == KafkaError.invalid_request


def test_a_producer_that_wants_no_answer_gets_none(client: Client, topic: UUID) -> None:
    unanswered = request(
        "produce",
        9,
        acks=0,
        timeout=1,
        topic_data=[{"name": "t", "partition_data": [{"index": 0, "records": record_batch(1)}]}],
    )
    client.beat(0, ["t"])
    client.fetch(0, part(topic))
    with raw(str(client.wire.address)) as connection:
        connection.sendall(framed(encoded(unanswered, 1)))
    assert acquired(client.fetch(1, max_wait_ms=5000)) == [(0, 0, 1)]


def test_a_log_is_read_without_a_group(client: Client) -> None:
    client.topic("t")
    client.fill("t", 2, 3)

    def fetched(offset: int, session: int = 0, **how: int) -> tuple[int, int]:
        wanted = {
            "partition": 0,
            "fetch_offset": offset,
            "partition_max_bytes": how.get("most", 10**6),
        }
        body = client.ask(
            "fetch",
            max_wait=how.get("wait", 0),
            min_bytes=1,
            max_bytes=10**6,
            session_id=session,
            topics=[{"topic": "t", "partitions": [wanted]}],
        )
        if body.error_code:
            return body.error_code, 0
        (answer,) = body.responses[0].partitions
        return answer.error_code, len(answer.records)

    sizes = len(record_batch(2)), len(record_batch(3))
    assert fetched(0) == (0, sum(sizes))
    assert fetched(3) == (0, sizes[1])
    assert fetched(0, most=1) == (0, sizes[0])
    assert fetched(5, wait=50) == (0, 0)
    assert fetched(6) == (KafkaError.offset_out_of_range, 0)
    assert fetched(0, session=3) == (KafkaError.fetch_session_id_not_found, 0)
