"""Requests and responses in a line."""

from conformance.wire.words import acquired_text, request_text, response_text
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.ranges import AcquiredRange
from model.share_messages import (
    PartitionRequest,
    PartitionResponse,
    ShareAcknowledge,
    ShareFetch,
    ShareResponse,
)
from model.states import AcquireMode
from tests.conformance.wire.worlds import P0, P1


def test_a_request_names_its_member_and_its_contents() -> None:
    batches = AcknowledgementBatch(0, 3, (1, 2, 0, 7)), AcknowledgementBatch(5, 5, ())
    parts = PartitionRequest(P0, batches), PartitionRequest(P1)
    fetch = ShareFetch("g", "id", 2, parts, (P1,), 7, acquire_mode=AcquireMode.RECORD_LIMIT)
    assert request_text(fetch, {"id": "m1"}) == (
        "fetch by m1, epoch 2; record_limit, at most 7; "
        "partition 0: 0–3 accept/release/gap/7, 5 nothing; partition 1; forgets 1"
    )
    renewing = ShareAcknowledge("g", "id", 1, is_renew_ack=True)
    assert request_text(renewing, {}) == "acknowledge by id, epoch 1; renews"


def test_a_response_names_its_records_and_its_errors() -> None:
    refused = ErrorCode.INVALID_RECORD_STATE
    said = PartitionResponse(P0, ErrorCode.NONE, refused, (AcquiredRange(0, 1, 2),))
    wrong = PartitionResponse(P1, ErrorCode.UNKNOWN_TOPIC_ID)
    assert response_text(ShareResponse(partitions=(said, wrong))) == (
        "partition 0 acknowledgement INVALID_RECORD_STATE acquired 0–1 (2); "
        "partition 1 UNKNOWN_TOPIC_ID"
    )
    assert response_text(ShareResponse(refused)) == "INVALID_RECORD_STATE"
    assert response_text(ShareResponse()) == "nothing"
    assert acquired_text(()) == "nothing"
