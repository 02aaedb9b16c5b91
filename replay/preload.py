"""What the children of a replay find ready: the process whose forks they are imports it.

Nothing else may import it: what it hides stays hidden.
"""

import gc

from replay.processes import hide_unused

hide_unused()

from impl.cache import is_compiled, is_interpreted  # noqa: E402 - what is hidden is hidden before
from impl.partition import FastSharePartition  # noqa: E402 - as above
from model.config import SharePartitionConfig  # noqa: E402 - as above
from model.operations import (  # noqa: E402 - as above
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceTime,
    Initialize,
    MemberLeaves,
    Produce,
)
from model.profile import KAFKA  # noqa: E402 - as above
from model.ranges import OffsetRange  # noqa: E402 - as above
from model.snapshot import DurableState  # noqa: E402 - as above
from model.states import AcknowledgeType, AcquireMode  # noqa: E402 - as above
from replay import check_sorted, gather  # noqa: E402, F401 - as above; children use them
from replay.check import compile_ahead  # noqa: E402 - as above
from replay.plan import Plan  # noqa: E402 - as above

_READ = (OffsetRange(0, 9),)
_OFTEN = (
    Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0)),
    Produce(_READ, 10),
    Acquire("member", AcquireMode.BATCH_OPTIMIZED, 10, 10, 0, _READ),
    Acknowledge("member", (AcknowledgementBatch(0, 4, (AcknowledgeType.ACCEPT,)),)),
    AdvanceTime(1),
    MemberLeaves("member"),
)
"""What nearly every trace has."""


def _load() -> None:
    """Load what was compiled before: it takes each child as long as its first task."""
    compile_ahead(Plan())
    partition = FastSharePartition(KAFKA)
    for operation in _OFTEN:
        partition.apply(operation)
        partition.snapshot()
        partition.lag()


if is_compiled() and not is_interpreted():
    _load()
gc.freeze()  # A child that looked for garbage here would have to copy what it shares.
