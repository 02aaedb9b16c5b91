"""Beside the replay in segments and pieces, which notices whatever else is not handed on."""

from judge.engine import engines_for
from judge.follower import follow
from model.profile import KAFKA
from replay.tables import events_of
from tests.impl.helpers import interpreted, table_of
from tests.replay.samples import events, recorded


def test_numbers_that_a_write_takes_later_are_carried_along() -> None:
    """Wherever a share-partition is cut, the recorded numbers are compared where they are taken."""
    (rows,) = recorded("kafka-4.4.0").values()
    # The only write that takes its numbers later is among the first events.
    table = table_of(events(rows[:10]))
    kernel = interpreted("kernel").replay_partition(table, KAFKA, None, 1)
    for (row, before), (end, state) in zip(kernel.states, kernel.states[1:], strict=False):
        engines = engines_for(("spec", "impl"), KAFKA, before.state)
        part = events_of(table.slice(row, end - row))
        assert follow(part, engines, 1, before=before, after=state) is None
    assert any(before.numbers for _, before in kernel.states)
