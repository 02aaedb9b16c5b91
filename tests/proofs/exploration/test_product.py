"""The composed search visits exactly the states of the plain one, and finds what is wrong."""

import marshal
from collections.abc import Callable
from math import perm
from typing import Any

import pytest

from impl.partition import FastSharePartition
from model.errors import ErrorCode
from model.operations import MemberLeaves
from model.profile import DRAFT_RESOLVED
from proofs.exploration import durables
from proofs.exploration.durables import Coordinator
from proofs.exploration.search import Stopped
from proofs.exploration.world import SmallWorld
from spec import acknowledge, acquire, expire, writes
from spec.coordinator import merge
from spec.record import commit
from tests.proofs.exploration.direct import abstract, states_to
from tests.proofs.explored import TINY, explored, parts_of

PLAIN = [
    (SmallWorld(offsets=1, lock=2, outstanding=2), 6),
    (SmallWorld(offsets=2, window=1), 5),
    (SmallWorld(offsets=2, members=1, limit=1, resets=True), 5),
    (SmallWorld(profile=DRAFT_RESOLVED, offsets=1, dead_letters=True), 6),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "depth"), PLAIN, ids=["one record", "two records", "resets", "in progress"]
)
def test_the_composed_search_finds_the_states_of_the_plain_one(
    world: SmallWorld, depth: int
) -> None:
    """Level by level, so that shortest runs are as long, and no state is too many or missing."""
    plain = [{abstract(world, s) for s in level} for level in states_to(world, depth)]
    product, _ = explored(world, depth)
    known: set[object] = set()
    for level, expected in zip(product.levels, plain, strict=True):
        found = {parts_of(product, packed) for packed in level[0].tolist()}
        assert found - known == expected - known
        known |= found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "members"),
    [(TINY, 2), (SmallWorld(offsets=2, members=3, late=0, gaps=False, log_start=0, limit=1), 3)],
    ids=["two members", "three members"],
)
def test_symmetry_loses_nothing(world: SmallWorld, members: int) -> None:
    """Each state without symmetry is one with it renamed, and all that renaming gives are there."""
    named, _ = explored(SmallWorld(**_sizes(world), symmetry=False))
    alike, found = explored(world)
    images = {(_renamed(leader), *rest) for leader, *rest in _all(named)}
    orbits = {parts[0]: perm(members, _involved(parts[0])) for parts in _all(alike)}
    assert images == {(leader, *rest) for leader, *rest in _all(alike)}
    assert len(set(_all(named))) == sum(orbits[parts[0]] for parts in set(_all(alike)))
    assert found.violation is None


def _sizes(world: SmallWorld) -> dict[str, Any]:
    names = ("offsets", "members", "limit", "late", "log_start", "gaps")
    return {name: getattr(world, name) for name in names}


def _all(product: Any) -> list[tuple[bytes, object, object]]:  # noqa: ANN401 - a Product
    return [parts_of(product, packed) for level in product.levels for packed in level[0].tolist()]


def _renamed(key: bytes) -> bytes:
    """Return a leader's form with members numbered in the order of the offsets."""
    whole = list(marshal.loads(key))  # noqa: S302 - of our own making
    numbers = {-1: -1}
    records = []
    for offset, state, count, owner, left, pending, former, *rest in whole[5]:
        who, was = (numbers.setdefault(m, len(numbers) - 1) for m in (owner, former))
        records.append((offset, state, count, who, left, pending, was, *rest))
    whole[5] = tuple(records)
    return marshal.dumps(tuple(whole), 2)


def _involved(key: bytes) -> int:
    records = marshal.loads(key)[5]  # noqa: S302 - of our own making
    return len({member for record in records for member in (record[3], record[6])} - {-1})


Apply = Callable[..., object]
_APPLY: Apply = FastSharePartition.apply


def _forgets_releases(self: FastSharePartition, operation: object, *rest: object) -> object:
    outcome = _APPLY(self, operation, *rest)
    if isinstance(operation, MemberLeaves):
        self._members.names[0] = "nobody"
    return outcome


def _never_merges(_self: Coordinator, _actions: object, state: int) -> int:
    return state


FAULTS = [
    (acknowledge, "is_held_by", lambda r, _m: r.owner is not None, "step", 4),
    (writes, "roll_back", lambda record, *_: commit(record), "step", 3),
    (expire, "is_lock_over", lambda r, now: r.deadline is not None and r.deadline < now, "step", 3),
    (acquire, "is_acquirable", lambda record: record.state == 0, "step", 5),
    (FastSharePartition, "apply", _forgets_releases, "step", 3),
    (durables, "write", lambda d, w, _e, p: (ErrorCode.NONE, merge(d, w, p)), "merge", 3),
    (Coordinator, "apply", _never_merges, "what_is_confirmed_is_durable", 3),
]


@pytest.mark.parametrize(
    ("where", "name", "fault", "found", "most"), FAULTS, ids=[f"{f[1]} {f[3]}" for f in FAULTS]
)
def test_a_planted_fault_is_found_with_a_short_run(  # noqa: PLR0913, PLR0917 - one for each column
    monkeypatch: pytest.MonkeyPatch,
    where: object,
    name: str,
    fault: object,
    found: str,
    most: int,
) -> None:
    monkeypatch.setattr(where, name, fault)
    _, result = explored(SmallWorld(offsets=2))
    assert result.violation is not None
    assert result.violation.name == found
    assert len(result.violation.steps) + (result.violation.move is not None) <= most


def test_without_a_fault_nothing_is_found_and_all_is_visited() -> None:
    _, result = explored(TINY)
    assert (result.violation, result.unfinished, result.waiting) == (None, None, 0)
    assert (result.states, result.transitions, result.depth) == (476, 3357, 9)


def test_a_world_that_does_not_fit_says_how_far_it_went() -> None:
    network_and_leaders, _ = explored(TINY, depth=0)
    result = network_and_leaders.explore(most_bytes=1)
    assert result.unfinished == f"more than {1 / 2**30:g} GiB of memory"
    assert result.waiting > 0


def test_an_interruption_keeps_what_was_found() -> None:
    def stop(states: int, _depth: int) -> None:
        if states > 50:
            raise Stopped

    product, _ = explored(TINY, depth=0)
    result = product.explore(progress=stop)
    assert result.unfinished == "interrupted"
    assert 0 < result.waiting <= result.states


def test_a_depth_is_not_gone_beyond() -> None:
    _, result = explored(TINY, depth=3)
    assert (result.depth, result.unfinished) == (3, "depth 3")


def test_the_way_to_a_leader_begins_at_the_first() -> None:
    product, _ = explored(TINY)
    steps, states = product.path_to(len(product.leaders.keys) - 1)
    assert len(states) == len(steps) + 1
    assert states[0].leader == 0
    with pytest.raises(KeyError):
        product.path_to(10_000)
