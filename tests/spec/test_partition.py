from immutables import Map

from model.config import SharePartitionConfig
from model.profile import KAFKA
from model.states import RecordState
from spec.coordinator import Durable
from spec.log import Log
from spec.partition import SharePartition, new_partition, state_of
from spec.window import Window
from tests.spec.worlds import acknowledgement, fetch, run, started


def test_a_new_share_partition_knows_nothing() -> None:
    assert new_partition(KAFKA) == SharePartition(
        profile=KAFKA,
        config=SharePartitionConfig(),
        now=0,
        log=Log(0, 0, (), known=False),
        window=Window(0, 0, Map(), Map(), 0, 0),
        outstanding=Map(),
        next_write=0,
        durable=Durable(-1, -1, Map(), 0, 0, 0, 0),
        ready=False,
        highest_limit=0,
    )


def test_every_offset_has_a_state() -> None:
    moved = run(started(), fetch("c1", (0, 3)), acknowledgement("c1", (0, 1, 1), (3, 3, 1)))
    names = [state_of(moved, offset) for offset in range(6)]
    assert names[:2] == [RecordState.ARCHIVED] * 2
    assert names[2:4] == [RecordState.ACQUIRED, RecordState.ACKNOWLEDGED]
    assert names[4:] == [RecordState.AVAILABLE] * 2
