"""All of a small group: crashed anywhere and retried, every operation ends the same."""

from collections.abc import Callable

import pytest
from immutables import Map

from judge.invariants import broken_names
from judge.share_group_invariants import GROUP_INVARIANTS
from proofs.exploration.search import Search, search
from spec import group_lifecycle
from spec.group_lifecycle import carry_out, leave, subscribe
from spec.share_group import (
    CallDelete,
    CallInitialize,
    Coordinators,
    Effect,
    WriteMetadata,
    group_of,
)
from tests.proofs.exploration.lifecycle_world import (
    Lifecycle,
    Rules,
    beginning,
    check,
    retry_fault,
    steps,
    unreconciled,
)

CLUSTER = Coordinators(Map({"a": 2}))


def explored(rules: Rules, most: int = 100_000) -> Search[Lifecycle, str]:
    return search([beginning(rules)], lambda world: steps(world, rules), check, most)


def unannounced(kind: type[Effect]) -> Callable[[tuple[Effect, ...]], tuple[Effect, ...]]:
    """Leave out the records of the stages that stand before the first call of a kind."""

    def planned(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
        calls = [place for place, one in enumerate(effects) if isinstance(one, kind)]
        end = calls[0] if calls else 0
        kept = (one for one in effects[:end] if not isinstance(one, WriteMetadata))
        return (*kept, *effects[end:])

    return planned


def test_a_crash_anywhere_and_a_retry_end_the_same() -> None:
    found = explored(Rules())
    assert (found.violation, found.unfinished) == (None, None)
    assert (found.states, found.depth) == (3589, 23)


def test_state_that_is_initialized_before_it_is_recorded_has_no_owner() -> None:
    found = explored(Rules(planned=unannounced(CallInitialize))).violation
    assert found is not None
    assert found.reason == "state_has_an_owner"
    assert found.labels == ("a is created", "alter a:0 to 5", "WriteGroup", "CallInitialize")


def test_state_that_is_deleted_before_it_is_recorded_is_lost() -> None:
    found = explored(Rules(planned=unannounced(CallDelete))).violation
    assert found is not None
    assert found.reason == "initialized_has_state"
    assert found.labels[-1] == "CallDelete"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "call"),
    [("state_has_an_owner", "CallInitialize"), ("initialized_has_state", "CallDelete")],
)
def test_a_call_that_outlives_its_coordinator_does_harm_that_stays(broken: str, call: str) -> None:
    """Neither request tells an old call from a new one where nothing is there: a gap of the KIP."""
    rules = Rules(late_calls=True)

    def at_rest(world: Lifecycle) -> str | None:
        rests = not world.work and world.late is None
        return broken if rests and broken in broken_names(GROUP_INVARIANTS, world.durable) else None

    found = search([beginning(rules)], lambda world: steps(world, rules), at_rest).violation
    assert found is not None
    crash = found.labels.index("crash during the call")
    assert found.labels[crash + 1 :].count("late call") == 1
    late = found.states[crash + 1].late
    assert late is not None
    assert type(late).__name__ == call


def test_what_is_not_resumed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    there = carry_out(CLUSTER, subscribe(CLUSTER, "m", frozenset({"a"})).effects[:3])
    assert unreconciled(there) is None
    monkeypatch.setattr(group_lifecycle, "_initialized", lambda *_arguments: ())
    assert unreconciled(there) == "reconciled, and not done"


def test_forgetting_what_was_begun_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    there = carry_out(CLUSTER, subscribe(CLUSTER, "m", frozenset({"a"})).effects[:3])
    left = carry_out(there, leave(there, "m").effects)
    assert unreconciled(left) is None
    monkeypatch.setattr(group_lifecycle, "_resumed", lambda *_arguments: ())
    reason = "what was begun of TopicPartition(topic_id='a', partition=0) has no end"
    assert unreconciled(left) == reason


def test_what_members_want_and_is_not_initialized_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = carry_out(CLUSTER, subscribe(CLUSTER, "m", frozenset({"a"})).effects[:2])
    monkeypatch.setattr(group_lifecycle, "_new", lambda _there: {})
    assert unreconciled(there) == "TopicPartition(topic_id='a', partition=0) is not initialized"


def test_a_retry_that_ends_differently_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert retry_fault(CLUSTER) is None
    right = group_lifecycle._first_offset  # noqa: SLF001 - the rule that is made wrong
    monkeypatch.setattr(
        group_lifecycle,
        "_first_offset",
        lambda there, at: 7 if group_of(there).metadata.initializing else right(there, at),
    )
    found = retry_fault(CLUSTER)
    assert found == "subscribe to a, crashed after 3 effects and retried"
