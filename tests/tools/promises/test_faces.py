"""The judge finds every faulty implementation, by a rule of the promise that it breaks."""

import pytest

import spec.acquire
from conformance.campaign import Limits, campaign
from conformance.cores.kit import CORES
from judge.engine import engines_for
from judge.follower import follow
from model.errors import IllegalChoiceError
from model.operations import AdvanceLogStart
from model.outcome import Answer, Choice
from model.profile import KAFKA, KIP, Profile
from spec.partition import new_partition, require
from spec.step import apply
from tests.long import cases
from tools.promises.behaviour import HONEST, Behaviour, Face
from tools.promises.catalogue import BEHAVIOURS
from tools.promises.faces import core, recorded, searched, traced
from tools.promises.seldom import SELDOM

LONG = {
    "delivers acknowledged records again after many operations",
    "restores the deadline of before a renewal when a write fails",
    "does nothing in a third renewal",
    "takes every delivery limit above 5 for 5",
    "ignores a limit of the window above 20",
    "drops the fifth batch of an acknowledgement",
    "takes durable available records for archived",
    "takes the fourth member for the first",
    "moves the start offset only while nothing is written",
    "delivers acknowledged records again beyond offset 1,000",
    "delivers acknowledged records again beyond 31 bits",
    "delivers acknowledged records again beyond 40 bits",
    "delivers acknowledged records again beyond 62 bits",
}
"""Those that a search finds after some seconds, or that differ from another in a number."""

PROFILES = pytest.mark.parametrize("profile", [KIP, KAFKA], ids=lambda profile: profile.name)


def of(face: Face) -> list[Behaviour]:
    return [behaviour for behaviour in BEHAVIOURS if face in behaviour.faces]


@PROFILES
@pytest.mark.parametrize("seed", range(4))
def test_a_right_implementation_conforms(seed: int, profile: Profile) -> None:
    assert follow(recorded(HONEST, seed, profile), engines_for(("spec",), profile), 1) is None


def test_the_specification_keeps_its_guards_while_a_faulty_implementation_works() -> None:
    guarded: list[bool] = []

    class Watching(tuple[Answer, ...]):
        __slots__ = ()

        def __bool__(self) -> bool:
            guarded.append(vars(spec.acquire)["require"] is require)
            return False

    given = new_partition(KIP), AdvanceLogStart(4), Choice(), Watching()
    assert HONEST.step(*given).partition.log.start_offset == 4
    with pytest.raises(IllegalChoiceError, match="came first"):
        apply(*given)
    assert guarded == [True]


def test_a_right_core_conforms() -> None:
    assert campaign(core(HONEST), Limits(sequences=20), CORES).faults == ()


@pytest.mark.parametrize("behaviour", of(Face.TRACE), ids=lambda behaviour: behaviour.name)
def test_replay_finds_it(behaviour: Behaviour) -> None:
    assert traced(behaviour)


@pytest.mark.slow
@pytest.mark.parametrize(
    "behaviour",
    cases(of(Face.CORE), lambda behaviour: behaviour.name in LONG),
    ids=lambda behaviour: behaviour.name,
)
def test_a_search_finds_it_in_few_commands(behaviour: Behaviour) -> None:
    seldom = behaviour in SELDOM
    sequences = CORES.sequences // 100 if seldom else 8
    length = searched(behaviour, searches=100 if seldom else 40, sequences=sequences)
    assert length is not None
    assert length <= (80 if "many operations" in behaviour.name else 25)
