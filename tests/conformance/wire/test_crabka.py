"""crabka as a target, its core and its broker: what is known of them shows where it is built."""

from pathlib import Path

import pytest

import conformance
from conformance.campaign import replayed
from conformance.subjects import TargetChoice, opened
from conformance.wire.kit import BROKERS
from tools.documents.findings import known_of

BUILT = Path(conformance.__file__).parent / "targets" / "crabka" / "target" / "built"
QUICK = 6


@pytest.mark.broker
@pytest.mark.parametrize("name", ["crabka", "crabka-core"])
def test_known_deviations_show(name: str) -> None:
    if not BUILT.exists():
        pytest.skip("crabka is not built here; `make crabka` builds it, in minutes")
    subject = TargetChoice(name)
    known = sorted(known_of(name), key=lambda one: len(one.sequence))
    known = known[:QUICK] if subject.kit is BROKERS else known
    with opened(subject) as target:
        hello = target.hello()
        assert name == "crabka-core" or not hello.capabilities.config
        shown = replayed(target, hello, known, subject.kit)
        assert [one.known.name for one in shown if one.fault is None] == []
