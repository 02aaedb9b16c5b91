"""What a broker can do is little until it says more."""

from conformance.wire.target import Exchange, WireCapabilities
from model.share_messages import ShareResponse


def test_nothing_that_needs_more_than_two_requests_is_assumed() -> None:
    can = WireCapabilities()
    assert can.fetch_versions == can.acknowledge_versions == (1, 1)
    assert can.acquire_modes == ("batch_optimized",)
    unsure = (can.renew, can.offsets, can.lag, can.delete_records, can.gaps, can.aborted)
    assert not any(unsure)
    assert not can.config


def test_a_response_without_records_has_read_none() -> None:
    assert Exchange(ShareResponse(), 0, 1).read == ()
