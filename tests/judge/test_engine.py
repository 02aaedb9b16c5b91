import pytest

from impl.partition import FastSharePartition
from judge.engine import SpecEngine, engines_for
from model.errors import IllegalChoiceError
from model.guards import Guard
from model.operations import MemberLeaves
from model.outcome import Choice
from model.profile import KAFKA


def test_an_engine_for_each_name() -> None:
    engines = engines_for(("spec", "impl"), KAFKA)
    assert isinstance(engines["spec"], SpecEngine)
    assert isinstance(engines["impl"], FastSharePartition)


@pytest.mark.parametrize("name", ["spec", "impl"])
def test_a_choice_that_no_rule_allows_changes_nothing(name: str) -> None:
    engine = engines_for((name,), KAFKA)[name]
    before = engine.snapshot()
    with pytest.raises(IllegalChoiceError) as caught:
        engine.apply(MemberLeaves("m"), Choice(), (), 0)
    assert caught.value.guard is Guard.PARTITION_IS_INITIALIZED
    assert engine.snapshot() == before
