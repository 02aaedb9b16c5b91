import pytest

from judge.choices import recorded_answers, recorded_choice
from judge.engine import ImplEngine, SpecEngine, engines_for
from model.errors import IllegalChoiceError
from model.guards import Guard
from model.operations import Release
from model.outcome import Choice
from model.profile import KAFKA
from tests.replay.samples import events, kafka_rows


def test_an_engine_for_each_name() -> None:
    engines = engines_for(("spec", "impl"), KAFKA)
    assert isinstance(engines["spec"], SpecEngine)
    assert isinstance(engines["impl"], ImplEngine)


def test_both_engines_say_the_same() -> None:
    engines = engines_for(("spec", "impl"), KAFKA)
    for event in events(kafka_rows("write-faults", count=150)):
        arguments = (event.operation, recorded_choice(event), recorded_answers(event), event.seq)
        spec, impl = (engine.apply(*arguments) for engine in engines.values())
        assert spec == impl
        spec_engine, impl_engine = engines.values()
        assert spec_engine.snapshot() == impl_engine.snapshot()
        assert spec_engine.durable() == impl_engine.durable()
        assert spec_engine.lag() == impl_engine.lag()
        assert spec_engine.violated() == impl_engine.violated() == []


@pytest.mark.parametrize("name", ["spec", "impl"])
def test_a_choice_that_no_rule_allows_changes_nothing(name: str) -> None:
    engine = engines_for((name,), KAFKA)[name]
    before = engine.snapshot()
    with pytest.raises(IllegalChoiceError) as caught:
        engine.apply(Release("m"), Choice(), (), 0)
    assert caught.value.guard is Guard.PARTITION_IS_INITIALIZED
    assert engine.snapshot() == before
