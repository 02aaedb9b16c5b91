"""The implementation refines the specification for whole small sizes; planted faults are found."""

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from impl import acknowledge, acquire, expiry, leadership, partition, writes
from impl import layout as at
from impl.rows import Ints
from impl.state import State
from model.guards import Guard
from model.profile import KIP
from proofs.refinement.arrays import arrays_of, concrete
from proofs.refinement.check import Tally, compare
from proofs.refinement.families import FAMILIES, FEW, QUICK, THREE, Family, tally
from proofs.refinement.states import PLAIN, state_of, states
from spec.partition import SharePartition
from tests.long import cases

SIZES = {
    ("kip", "a new leader"): (1, 982, 8),
    ("draft_resolved", "a new leader"): (1, 982, 9),
    ("lag_resolved", "a new leader"): (1, 982, 8),
    ("kip", "one record"): (27, 22_572, 11_473),
    ("kip", "one record, with a dead-letter queue"): (36, 14_652, 4_958),
    ("kip", "one record, read committed"): (27, 9_558, 7_606),
    ("kip", "one record, of a log that nobody describes"): (27, 9_558, 2_988),
    ("kip", "one record, passed over as often as may be"): (27, 8_181, 5_521),
    ("kip", "one record, and a write for which nobody waits"): (27, 10_989, 3_584),
    ("kip", "one record, and a write that is not made yet"): (27, 10_989, 3_702),
    ("kip", "one record, durable state 0"): (27, 10_989, 3_702),
    ("kip", "one record, durable state 1"): (27, 10_989, 3_702),
    ("kip", "one record, durable state 2"): (27, 10_989, 3_702),
    ("kafka", "one record"): (27, 22_572, 11_473),
    ("kafka", "one record, read committed"): (27, 9_558, 7_606),
    ("kafka", "one record, of a log that nobody describes"): (27, 9_558, 2_790),
    ("kafka", "one record, passed over as often as may be"): (27, 8_181, 5_521),
    ("kafka", "one record, by a real clock"): (27, 18_198, 7_880),
    ("draft_resolved", "one record that may be marked"): (63, 28_665, 9_174),
    ("kip", "an empty window"): (1, 475, 254),
    ("kip", "two offsets"): (56, 76_552, 36_192),
    ("kafka", "two offsets, worn arrays"): (56, 33_880, 15_822),
    ("kip", "three offsets"): (57, 56_658, 8_828),
    ("kip", "three members"): (22, 2_332, 1_586),
    ("kip", "four offsets"): (249, 69_720, 47_632),
    ("kip", "four offsets that are asked for"): (16, 27_232, 11_408),
    ("kip", "four offsets that are fetched"): (249, 204_180, 122_290),
    ("kip", "four offsets that are acknowledged"): (249, 219_618, 46_983),
    ("kip", "four batches"): (249, 121_014, 0),
    ("kafka", "two batches of any ranges"): (13, 26_000, 5_268),
    ("kafka", "three offsets, full arrays"): (57, 70_851, 28_423),
    ("kip", "three members that fetch"): (22, 39_072, 23_610),
    ("kip", "three members that ask"): (22, 35_640, 10_230),
    ("kip", "writes in flight"): (82, 15_334, 12_530),
    ("kip", "six offsets, full arrays"): (64, 17_344, 11_026),
    ("kip", "five offsets, room before"): (32, 7_200, 4_366),
}
"""Of each family by profile and name: states, steps, and how many of them both sides refuse."""

LONG = {
    ("kip", "one record, durable state 1"),
    ("kip", "one record, durable state 2"),
    ("kafka", "one record"),
    ("kafka", "one record, read committed"),
    ("kafka", "one record, passed over as often as may be"),
    ("kip", "three offsets"),
    ("kafka", "three offsets, full arrays"),
    ("kip", "three members that fetch"),
    ("kip", "four offsets"),
    ("kip", "four offsets that are fetched"),
    ("kip", "four offsets that are acknowledged"),
    ("kip", "four batches"),
    ("kip", "two offsets"),
    ("kip", "three members that ask"),
    ("kip", "four offsets that are asked for"),
}
"""The largest, and those that differ from another in the profile or the durable state alone."""

Situation = Callable[..., bool]
"""Of the arrays and of what a function is given besides."""


def _used(state: State) -> Ints:
    return state.runs[state.header[at.HEAD] : state.header[at.TAIL]]


def _is_third(state: State, *_: object) -> bool:
    return bool((_used(state)[:, at.OWNER] == 2).any())


def _waits(state: State, *_: object) -> bool:
    """Whether records of a window of four offsets wait for a write."""
    is_wide = state.header[at.END] - state.header[at.START] > 3
    return bool(is_wide and (_used(state)[:, at.WRITE] != at.NO_WRITE).any())


def _is_in_batches(state: State, *_: object) -> bool:
    """Whether several writes are outstanding, and one of them has several batches."""
    return bool(state.header[at.PENDING_TAIL] > state.header[at.OUTSTANDING_TAIL] > 1)


def _is_full(state: State) -> bool:
    return bool(len(state.runs) == state.header[at.TAIL] > 0)


SITUATIONS: dict[str, tuple[Any, str, Situation]] = {
    "four offsets that are asked for": (
        acknowledge,
        "acknowledge",
        lambda s, *_: len(_used(s)) > 3 and s.header[at.NEXT_DEADLINE] < s.header[at.NOW],
    ),
    "four offsets that are fetched": (acquire, "acquire", _waits),
    "four offsets that are acknowledged": (
        acknowledge,
        "acknowledge",
        lambda s, sent, *_: _waits(s) and len(sent.types) == 1,
    ),
    "four batches": (acknowledge, "acknowledge", lambda _, sent, *__: len(sent.batches) > 3),
    "two batches of any ranges": (
        acknowledge,
        "acknowledge",
        lambda _, sent, *__: len(sent.batches) > 1 and sent.batches[1, 0] <= sent.batches[0, 1],
    ),
    "three offsets, full arrays": (
        acquire,
        "acquire",
        lambda s, *_: len(_used(s)) > 2 and s.header[at.MAY_EXCEED],
    ),
    "three members": (acknowledge, "release", lambda _, member, *__: member == 2),
    "three members that fetch": (acquire, "acquire", _is_third),
    "three members that ask": (
        acknowledge,
        "acknowledge",
        lambda s, sent, *_: _is_third(s) and sent.member == 2,
    ),
    "writes in flight": (writes, "complete_write", _is_in_batches),
    "six offsets, full arrays": (
        partition,
        "with_room",
        lambda s, *_: _is_full(s) and len(_used(s)) > 5 and s.header[at.HEAD] == 0,
    ),
    "five offsets, room before": (
        partition,
        "with_room",
        lambda s, *_: _is_full(s) and s.header[at.HEAD] > 0,
    ),
}
"""By the one family that has it: when which function of the implementation begins in what state."""


def _watch(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[str, State], None]) -> None:
    """Let something be done to the arrays after a function that begins in a situation."""
    module, function, is_so = SITUATIONS[name]
    right = getattr(module, function)

    def watched(state: State, *arguments: object) -> object:
        begins = is_so(state, *arguments)
        answer = right(state, *arguments)
        if begins:
            act(name, answer if isinstance(answer, State) else state)
        return answer

    monkeypatch.setattr(module, function, watched)


@cache
def tallied(family: Family) -> Tally:
    return tally(family)


@pytest.mark.parametrize("family", QUICK, ids=lambda family: family.name)
def test_a_small_family_differs_nowhere(family: Family) -> None:
    found = tallied(family)
    assert [broken.wrong for broken in found.broken] == []
    assert found.states > 0
    assert min(found.steps.values()) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "family",
    cases(FAMILIES, lambda family: (family.profile.name, family.name) in LONG),
    ids=lambda family: f"{family.profile.name} {family.name}",
)
def test_a_family_differs_nowhere(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    met: Counter[str] = Counter()
    for name in SITUATIONS:
        _watch(monkeypatch, name, lambda situation, _: met.update((situation,)))
    found = tally(family)
    assert {*met} == {family.name} & {*SITUATIONS}
    assert [broken.wrong for broken in found.broken] == []
    sizes = (found.states, found.steps.total(), found.refused.total())
    assert sizes == SIZES[family.profile.name, family.name]


def test_the_document_tells_the_sizes() -> None:
    text = (Path(__file__).parents[3] / "docs" / "exploration.md").read_text()
    states, steps, refused = (sum(column) for column in zip(*SIZES.values(), strict=True))
    assert f"{states:,} states, {steps:,} steps, of which {refused:,} are refused" in text
    for key in (("kip", "one record"), ("kip", "two offsets")):
        states, steps, _ = SIZES[key]
        assert re.search(rf"{' +'.join(key)} +{states} states +{steps:,} steps", text)


def _as_rows(partition: SharePartition) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for array in arrays_of(concrete(partition)))


def test_names_of_members_make_no_state() -> None:
    """Any of three members may hold the first record: arrays number them as they come."""
    every = {_as_rows(state_of(KIP, each, PLAIN)) for each in product(THREE, repeat=3)}
    assert every == {_as_rows(state) for state in states(KIP, THREE, 3)}
    assert len(every) < len({*states(KIP, THREE, 3)})


def test_steps_are_refused_for_many_reasons_and_others_are_not() -> None:
    total = Tally()
    for family in QUICK:
        found = tallied(family)
        total.steps += found.steps
        total.refused += found.refused
    assert total.refused.total() < total.steps.total() / 2
    assert len({guard for guard in Guard if guard.name in total.refused}) >= 15


def _late(state: State) -> None:
    """Let a hidden lock last a ms longer: nobody sees it before the write fails."""
    header, runs = state.header, state.runs
    for row in range(header[at.HEAD], header[at.TAIL]):
        if runs[row, at.WRITE] != at.NO_WRITE:
            runs[row, at.DEADLINE] += 1


def _cut(state: State) -> None:
    """Count a record of another state."""
    state.header[at.COUNTS + at.ARCHIVING] += 1


def _elsewhere(state: State) -> None:
    """Name another offset in a refusal."""
    if state.header[at.WHERE] != at.NOWHERE:
        state.header[at.WHERE] += 1


def _durable(state: State) -> None:
    state.header[at.DURABLE_COMPLETE] += 1


def _forgets(state: State) -> None:
    state.header[at.WAITING_TAIL] = 0


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_fault_in_a_situation_is_found_in_its_family(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """In no other, as no other has the situation."""
    family = next(family for family in FAMILIES if family.name == name)
    _watch(monkeypatch, name, lambda _, state: _cut(state))
    every = states(family.profile, family.contents, family.width, family.around)
    for state in reversed([*every]):  # The last have most members and records that wait.
        found = Tally()
        compare(found, [state], *family.offers, form=family.form)
        if found.broken:
            return
    pytest.fail("not found")


@pytest.mark.parametrize(
    ("module", "name", "fault", "offer"),
    [
        (acknowledge, "acknowledge", _late, "acknowledge all"),
        (acknowledge, "release", _cut, "member leaves"),
        (writes, "complete_write", _durable, "complete write"),
        (expiry, "advance_time", _elsewhere, "time"),
        (acquire, "acquire", _forgets, "acquire"),
        (leadership, "compact", _cut, "log"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_planted_fault_is_found(
    monkeypatch: pytest.MonkeyPatch,
    module: Any,  # noqa: ANN401 - a module of compiled functions
    name: str,
    fault: Callable[[State], None],
    offer: str,
) -> None:
    right = getattr(module, name)

    def wrong(state: State, *arguments: object) -> int:
        verdict: int = right(state, *arguments)
        fault(state)
        return verdict

    monkeypatch.setattr(module, name, wrong)
    assert tally(Family("a few", KIP, FEW, offers=(offer,))).broken != []
