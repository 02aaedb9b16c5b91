"""A file of known deviations keeps every command."""

import json
from pathlib import Path

from conformance.commands import plain_commands
from conformance.cores.acknowledgements import Shape
from conformance.known import read_known
from conformance.wire import asks
from conformance.wire.kit import BROKERS
from model.states import AcquireMode
from tests.conformance.wire.worlds import CONFIG

BATCH = asks.Batch("m1", 2, 3, (1, 2, 3), Shape.REVERSED)
SEQUENCE = (
    asks.Open(CONFIG, 2),
    asks.Produce(1, ((0, 2), (1, 3))),
    asks.ProduceAborted(0, ((0, 2),)),
    asks.DeleteRecords(0, 2),
    asks.Fetch(
        "m1",
        (0,),
        3,
        2,
        AcquireMode.RECORD_LIMIT,
        (asks.Acknowledged(0, (BATCH,)),),
        (1,),
        asks.Epoch.AGAIN,
        asks.Stranger.TOPIC,
        unsaid=True,
    ),
    asks.Acknowledge("m2", (asks.Acknowledged(0, (asks.Batch(),)),), asks.Epoch.CLOSE),
    asks.Disconnect("m3"),
    asks.Wait(60),
    asks.WaitPastLocks(),
    asks.Describe(0),
)


def test_every_command_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(
        '[[deviation]]\nname = "n"\ntitle = "t"\nreason = "r"\nsignature = ["X", "fetch"]\n'
        f"sequence = '''{json.dumps(plain_commands(SEQUENCE))}'''\n"
    )
    (known,) = read_known(path, BROKERS.read)
    assert known.sequence == SEQUENCE
