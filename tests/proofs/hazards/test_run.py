from model.errors import ErrorCode
from proofs.hazards.run import begin, steps
from proofs.hazards.world import BEGAN, HazardMove
from tests.proofs.hazards.stage import accept, fetch, play, setting, world


def test_a_world_begins_with_an_untouched_durable_state() -> None:
    state = begin(setting(world(records=2)))
    assert state.view.now == BEGAN
    assert (state.view.lag, state.view.durable_lag, state.view.durable.leader_epoch) == (2, 2, 1)
    assert state.past.consumers == ()
    consumer = begin(setting(world(HazardMove.POLL, most_marks=7, explicit=False))).past.consumers[
        0
    ]
    assert (consumer.most_waiting, consumer.explicit) == (7, False)


def test_a_step_tells_its_answer_and_what_it_breaks() -> None:
    given = setting(
        world(), lambda moment: "accepted" if moment.act.move is HazardMove.ACCEPT else None
    )
    state = play(given, fetch(), accept())
    assert state.answers == (ErrorCode.NONE,)
    assert state.broken == "accepted"


def test_the_next_states_come_with_their_acts() -> None:
    given = setting(world(HazardMove.FETCH, HazardMove.WAIT, quantum=5, until=10))
    found = list(steps(given, leaps=True)(begin(given)))
    assert [(act.move.name, state.view.now - BEGAN) for act, state in found] == [
        ("FETCH", 0),
        ("WAIT", 5),
        ("WAIT", 10),
    ]
