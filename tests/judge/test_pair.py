import attrs
import pytest

from judge import engine as engine_module
from judge.engine import SpecEngine, engines_for
from judge.invariants import PARTITION_INVARIANTS
from judge.pair import Refused, answers_differ, attempt, broken_rule, states_differ
from model.errors import ErrorCode
from model.guards import Guard
from model.operations import FinishDeadLetter, Initialize, MemberLeaves, Produce
from model.outcome import Choice, Outcome, Write
from model.profile import DRAFT_RESOLVED, KAFKA
from model.ranges import OffsetRange, StateBatch
from model.states import RecordState
from tests.replay.samples import events, kafka_rows, present

(START,) = events(kafka_rows(count=1))
UNINITIALIZED = Refused(Guard.PARTITION_IS_INITIALIZED, "")
AT_3 = Refused(Guard.DEAD_LETTER_IS_ARCHIVING, "3")


@pytest.mark.parametrize("name", ["spec", "impl"])
def test_a_refusal_names_the_guard_with_its_offset_or_the_value(name: str) -> None:
    engine = engines_for((name,), DRAFT_RESOLVED)[name]
    assert (
        attempt(engine.apply, MemberLeaves("m"), Choice(), (), 0) == UNINITIALIZED or name == "impl"
    )
    assert isinstance(START.operation, Initialize)
    start = attrs.evolve(START.operation, log_end_offset=9)
    assert isinstance(attempt(engine.apply, start, Choice(), (), 0), Outcome)
    finish = FinishDeadLetter((OffsetRange(3, 3),))
    assert attempt(engine.apply, finish, Choice(), (), 1) == AT_3
    value = attempt(engine.apply, Produce((), 0), Choice(), (), 1)
    assert value == Refused("log_end_offset", "log_end_offset is 0")
    assert isinstance(value, Refused)
    assert "; allowed: at least the log end offset" in value.text


@pytest.mark.parametrize(
    ("spec", "impl", "agree"),
    [
        (Outcome(), Outcome(), True),
        (Outcome(), Outcome(acquisition=1), False),
        (Outcome(), AT_3, False),
        (AT_3, Outcome(), False),
        (AT_3, AT_3, True),
        (AT_3, attrs.evolve(AT_3, detail="4"), False),
        (AT_3, attrs.evolve(AT_3, detail=""), False),
        (attrs.evolve(AT_3, detail=""), AT_3, True),
        (AT_3, UNINITIALIZED, False),
        (Refused("first", "first is 1"), Refused("first", "first is 2"), False),
    ],
)
def test_answers_agree_if_equal_and_guards_at_the_offset_that_the_specification_names(
    spec: Outcome | Refused, impl: Outcome | Refused, *, agree: bool
) -> None:
    assert (answers_differ(spec, impl) is None) == agree


@pytest.mark.parametrize(
    ("view", "name"), [("snapshot", "window"), ("durable", "durable state"), ("lag", "lag")]
)
def test_a_difference_in_any_view_is_named(
    monkeypatch: pytest.MonkeyPatch, view: str, name: str
) -> None:
    def differ_at_start() -> str | None:
        engines = engines_for(("spec", "impl"), KAFKA)
        for engine in engines.values():
            engine.apply(START.operation, Choice(), (), 0)
        return states_differ(*engines.values())

    assert differ_at_start() is None
    monkeypatch.setattr(engine_module, view, lambda _partition: None)
    differ = present(differ_at_start())
    assert differ.startswith(f"the implementation's {name} is ")
    assert differ.endswith(", the specification's None")


def test_a_broken_invariant_and_a_write_of_a_held_record_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = SpecEngine(KAFKA)
    batch = StateBatch(0, 0, RecordState.IN_PROGRESS, 1)
    held = Outcome(writes=(Write(1, 0, 0, (batch,), ErrorCode.NONE),))
    assert broken_rule(spec, UNINITIALIZED) is None
    assert "are written, not " in (broken_rule(spec, held) or "")
    monkeypatch.setattr(engine_module, "violated", lambda _partition: [PARTITION_INVARIANTS[0]])
    assert broken_rule(spec, Outcome()) == f"not true: {PARTITION_INVARIANTS[0].sentence}"
