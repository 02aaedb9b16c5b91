"""The moves of a leader, as edges."""

from collections import Counter

import attrs
import pytest

from model import operations as ops
from model.errors import ErrorCode
from model.outcome import Answer
from model.ranges import OffsetRange
from model.states import AcquireMode
from proofs.exploration.leader_graph import ARRIVAL, Expander, Expansion
from proofs.exploration.moves import Move, MoveKind, moves
from proofs.exploration.network import NetworkAct
from proofs.exploration.normal import view
from proofs.exploration.side_by_side import Pair, first_pair, make, pack
from proofs.exploration.world import NEVER_WRITTEN, SmallWorld
from spec.log import Log

WORLD = SmallWorld(offsets=1, log_start=0)
LOG = Log(0, 1)
FETCH = ops.Acquire("m1", AcquireMode.RECORD_LIMIT, 1, 1, 0, (OffsetRange(0, 0),))
ACCEPT = ops.Acknowledge("m1", (ops.AcknowledgementBatch(0, 0, (1,)),))


def _pair(*steps: tuple[ops.Operation, tuple[Answer, ...]]) -> Pair:
    pair = first_pair(WORLD, LOG, NEVER_WRITTEN).after
    for operation, answers in steps:
        assert pair is not None
        pair = make(pair, Move(MoveKind.OTHER, operation, LOG, answers=answers)).after
    assert pair is not None
    return pair


def _expanded(*steps: tuple[ops.Operation, tuple[Answer, ...]]) -> Expansion:
    return Expander(WORLD).expand(pack(_pair(*steps)))


def test_a_fetch_says_what_it_acquired() -> None:
    expansion = _expanded()
    fetches = [edge for edge in expansion.edges if edge.kind is MoveKind.FETCH]
    assert [(edge.acquired, edge.actions) for edge in fetches] == [(1, ())]
    assert expansion.compared == 4
    assert len(expansion.discovered) == 1


def test_a_write_that_failed_is_lost_or_late() -> None:
    edges = _expanded((FETCH, ())).edges
    acts = Counter(act for edge in edges for act, _ in edge.actions)
    lost = [edge for edge in edges if edge.failed and not edge.actions]
    assert acts[NetworkAct.DELAY] == 4
    assert lost
    assert {edge.confirmed for edge in edges} == {0, 1}
    assert all(edge.confirmed == 0 for edge in edges if edge.failed)


def test_an_awaited_write_may_arrive_unanswered() -> None:
    edges = _expanded((FETCH, ()), (ACCEPT, (Answer(ErrorCode.PENDING),))).edges
    arrivals = [edge for edge in edges if edge.move == ARRIVAL]
    assert [edge.actions for edge in arrivals] == [((NetworkAct.MERGE, (0, 1, ((0, 0, 2, 1),))),)]
    answered = [edge for edge in edges if edge.kind is MoveKind.ANSWER]
    assert [(edge.confirmed, edge.failed) for edge in answered] == [
        (1, False),
        (0, True),
        (0, True),
    ]


def test_what_may_change_nothing_is_a_fault_if_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = moves(WORLD, _pair().leader, view(_pair().leader, WORLD.names))
    void = [attrs.evolve(move, is_void=True) for move in everything]
    monkeypatch.setattr("proofs.exploration.leader_graph.moves", lambda *_: void)
    fault = _expanded().fault
    assert fault is not None
    assert (fault.move, fault.sentence[:20]) == (0, "it changes something")


def test_a_state_is_told_of_once() -> None:
    expander, packed = Expander(WORLD), pack(_pair())
    assert expander.expand(packed).discovered
    assert expander.expand(packed).discovered == []
