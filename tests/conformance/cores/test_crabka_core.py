"""crabka's core: built when needed, driven where it is built already."""

import pytest

from conformance.campaign import replayed
from conformance.cores.crabka_core import KNOWN, crabka_core_target
from conformance.cores.kit import CORES
from conformance.known import read_known

BUILT = KNOWN.parent / "target" / "built"


@pytest.mark.broker
def test_known_deviations_show() -> None:
    known = read_known(KNOWN, CORES.read)
    assert known
    if not BUILT.exists():
        pytest.skip("crabka is not built here; `make crabka-core` builds it, in minutes")
    target = crabka_core_target(10)
    shown = replayed(target, target.hello(), known, CORES)
    target.close()
    assert [one.known.name for one in shown if one.fault is None] == []
