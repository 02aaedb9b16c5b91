"""crabka's broker as a target: what is known of it shows where it is built."""

from pathlib import Path

import pytest

import conformance
from conformance.campaign import replayed
from conformance.known import read_known
from conformance.wire.crabka import crabka_target
from conformance.wire.kit import BROKERS
from conformance.wire.named import known_of

TARGET = Path(conformance.__file__).parent / "targets" / "crabka"
QUICK = 6


@pytest.mark.broker
def test_known_deviations_show() -> None:
    path = known_of("crabka")
    assert path is not None
    known = read_known(path, BROKERS.read)
    if not (TARGET / "target" / "built").exists():
        pytest.skip("crabka is not built here; `make crabka` builds it, in minutes")
    quick = sorted(known, key=lambda one: len(one.sequence))[:QUICK]
    with crabka_target(10) as target:
        hello = target.hello()
        assert not hello.capabilities.config
        shown = replayed(target, hello, quick, BROKERS)
    assert [one.known.name for one in shown if one.fault is None] == []
