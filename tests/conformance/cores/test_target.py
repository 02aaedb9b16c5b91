"""What an implementation can do is little until it says more."""

from conformance.cores.target import Capabilities


def test_nothing_that_needs_a_persister_is_assumed() -> None:
    can = Capabilities()
    assert not can.pending_writes
    assert can.write_errors == ()
    assert not can.validates_requests
