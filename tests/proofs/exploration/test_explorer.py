"""Worlds are visited whole, as if nothing were left out of a state, and what is wrong is found."""

import marshal
from collections.abc import Callable
from math import perm
from typing import Any

import attrs
import pytest
from _pytest.mark import ParameterSet

from impl.partition import FastSharePartition
from model.operations import AlterConfig, MemberLeaves
from model.profile import DRAFT_RESOLVED
from proofs.exploration.coordinator import Coordinator
from proofs.exploration.explorer import WorldState
from proofs.exploration.search import S, Search, search
from proofs.exploration.world import SmallWorld
from spec import aborted, acknowledge, acquire, dead_letters, expire, mark_in_progress, read, writes
from spec import coordinator as durable_rules
from spec import step as rules
from spec.alter_config import alter_config
from spec.coordinator import Durable
from spec.partition import SharePartition, Step
from spec.record import commit
from tests.proofs.exploration.direct import Parts, abstract, first, known_of, successors
from tests.proofs.explored import DOCUMENT, TINY, VisitedWorld, explored, visited_worlds

SLOW = 5_000
"""A world of more states than that takes seconds."""

LONG = {
    *("altered limits and durations", "two records of one member"),
    *("records that compaction removes", "three records"),
}
"""Others have the same with fewer states, or with more members."""


def _visited(one: VisitedWorld) -> ParameterSet:
    marks = [pytest.mark.slow] * (one.sizes[0] > SLOW) + [pytest.mark.long] * (one.covers in LONG)
    return pytest.param(one, marks=marks, id=one.covers)


@pytest.mark.parametrize("visited", [*map(_visited, visited_worlds())])
def test_a_world_is_visited_whole_and_only_what_is_expected_fails(visited: VisitedWorld) -> None:
    explorer, watch, found = explored(visited.world)
    assert (found.violation, found.unfinished, found.waiting) == (None, None, 0)
    assert (found.states, found.transitions, found.depth) == visited.sizes
    depths = _depths(found)
    assert {name: depths[state] for name, state in watch.expected.items()} == visited.expected
    if visited.world == SmallWorld():
        leaders, durable = explorer.leaders, explorer.coordinator
        told = (
            f"{len(leaders.found):,} states of a leader, in which specification and implementation "
            f"made {leaders.compared:,} moves; {len(durable.states):,} durable states,\n"
            f"    {len(durable.merges):,} merges"
        )
        assert told in DOCUMENT


def test_the_document_says_the_same_of_a_world_everywhere() -> None:
    sizes = {one.covers: one.sizes for one in visited_worlds()}
    states, transitions, depth = sizes["the default"]
    assert f"{states:,} states, {transitions:,} transitions, depth {depth}, …" in DOCUMENT
    assert f"in each of the {sizes['a coordinator that counts'][0]:,} states of" in DOCUMENT


def _depths(found: Search[S, Any]) -> dict[S, int]:
    depths: dict[S, int] = {}
    for state, step in found.came_from.items():
        depths[state] = 0 if step is None else depths[step[1]] + 1
    return depths


def _parts(state: WorldState) -> Parts:
    """Return the leader's normal form, the durable state and the late writes of a state."""
    return state.leader.key, known_of(state.network.durable.durable), state.network.late


WHOLE_VALUES = [
    (SmallWorld(offsets=1, lock=2, outstanding=2), 6),
    (SmallWorld(offsets=2, window=1), 5),
    (SmallWorld(offsets=2, members=1, limit=1, resets=True), 5),
    (SmallWorld(profile=DRAFT_RESOLVED, offsets=1, dead_letters=True), 6),
    (SmallWorld(offsets=1, lock=2, altered=True, compaction=True), 6),
    (SmallWorld(offsets=2, members=1, aborted=1), 7),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "depth"),
    WHOLE_VALUES,
    ids=["one record", "two records of one member", "resets", "in progress", "altered", "aborted"],
)
def test_what_a_state_leaves_out_makes_no_difference(world: SmallWorld, depth: int) -> None:
    """Level by level, so that shortest runs are as long, and no state is too many or missing."""
    whole = search(
        [first(world)],
        lambda state: ((None, after) for after in successors(world, state)),
        lambda _: None,
        most_depth=depth,
    )
    least, seen = dict[Parts, int](), dict[Parts, int]()
    for state, at in _depths(whole).items():
        least.setdefault(abstract(world, state), at)
    _, _, found = explored(world, depth)
    for kept, at in _depths(found).items():
        seen.setdefault(_parts(kept), at)
    assert seen == least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "members"),
    [(TINY, 2), (SmallWorld(offsets=2, members=3, late=0, gaps=False, log_start=0, limit=1), 3)],
    ids=["two members", "three members"],
)
def test_symmetry_loses_nothing(world: SmallWorld, members: int) -> None:
    """Each state without symmetry is one with it renamed, and all that renaming gives are there."""
    _, _, named = explored(attrs.evolve(world, symmetry=False))
    _, _, alike = explored(world)
    every = {_parts(state) for state in named.came_from}
    forms = {_parts(state) for state in alike.came_from}
    assert {(_renamed(leader), *rest) for leader, *rest in every} == forms
    assert len(every) == sum(perm(members, _involved(leader)) for leader, *_ in forms)


RECORDS = 8
"""Where a leader's form has its records."""


def _renamed(key: bytes) -> bytes:
    """Return a leader's form with members numbered in the order of the offsets."""
    whole = list(marshal.loads(key))  # noqa: S302 - of our own making
    numbers = {-1: -1}
    records = []
    for offset, state, count, owner, left, pending, former, *rest in whole[RECORDS]:
        who, was = (numbers.setdefault(m, len(numbers) - 1) for m in (owner, former))
        records.append((offset, state, count, who, left, pending, was, *rest))
    whole[RECORDS] = tuple(records)
    return marshal.dumps(tuple(whole), 2)


def _involved(key: bytes) -> int:
    records = marshal.loads(key)[RECORDS]  # noqa: S302 - of our own making
    return len({member for record in records for member in (record[3], record[6])} - {-1})


Apply = Callable[..., object]
_APPLY: Apply = FastSharePartition.apply


def _forgets_releases(self: FastSharePartition, operation: object, *rest: object) -> object:
    outcome = _APPLY(self, operation, *rest)
    if isinstance(operation, MemberLeaves):
        self._members.names[0] = "nobody"
    return outcome


def _forgets_state(durable: Durable, _start: int, epoch: int) -> Durable:
    return attrs.evolve(durable, state_epoch=epoch)


def _confuses_limits(partition: SharePartition, operation: AlterConfig) -> Step:
    limit = operation.config.delivery_count_limit
    return alter_config(
        partition, AlterConfig(attrs.evolve(operation.config, partition_max_record_locks=limit))
    )


DIFFERS = "the implementation"
FAULTS: list[tuple[str, object, str, Callable[..., object], str, int]] = [
    ("three records", acquire, "is_acquirable", lambda record: record.state == 0, DIFFERS, 5),
    (
        "the default",
        Coordinator,
        "merged",
        lambda _self, state, _: (state, None),
        "What a write answered",
        3,
    ),
    ("one record", durable_rules, "merge_start", lambda _current, w, _p: w, "takes back", 5),
    (
        "one record of one member",
        durable_rules,
        "durable_maximum",
        lambda *e: e[:2],
        "takes back",
        5,
    ),
    (
        "answers at once, and no write is applied that fails",
        expire,
        "expire",
        lambda r, *_: attrs.evolve(r, owner=None),
        DIFFERS,
        3,
    ),
    ("three members", FastSharePartition, "apply", _forgets_releases, DIFFERS, 3),
    ("locks that are renewed", acknowledge, "can_renew", lambda *_: False, DIFFERS, 3),
    ("marks and a dead-letter queue", mark_in_progress, "can_mark", lambda *_: True, DIFFERS, 3),
    (
        "marks, a dead-letter queue and late writes",
        dead_letters,
        "finish_dead_letter",
        lambda record: record,
        DIFFERS,
        4,
    ),
    (
        "two records of one member",
        expire,
        "is_lock_over",
        lambda r, now: (r.deadline or now) < now,
        DIFFERS,
        3,
    ),
    ("no late writes", writes, "roll_back", lambda record, *_: commit(record), DIFFERS, 3),
    ("a window of one record", acquire, "check_width", lambda *_: None, DIFFERS, 3),
    (
        "an altered start offset",
        durable_rules,
        "initialize_durable",
        _forgets_state,
        "If every write was answered",
        2,
    ),
    ("three members", acknowledge, "is_held_by", lambda r, _: r.owner is not None, DIFFERS, 3),
    (
        "a coordinator that counts",
        durable_rules,
        "counted",
        lambda durable, _profile: durable,
        DIFFERS,
        6,
    ),
    ("records that compaction removes", read, "can_vanish", lambda *_: False, DIFFERS, 5),
    ("an aborted and a committed record", aborted, "archive_aborted", lambda r: r, DIFFERS, 4),
    (
        "aborted data, compaction and an altered configuration",
        aborted,
        "can_archive_aborted",
        lambda _: False,
        DIFFERS,
        4,
    ),
    ("altered limits and durations", rules, "alter_config", _confuses_limits, DIFFERS, 4),
]
"""A world by what it covers, a rule, a wrong one, what is said of it, and after how many steps."""


def test_each_world_has_a_fault_that_is_found_in_it() -> None:
    assert {fault[0] for fault in FAULTS} == {one.covers for one in visited_worlds()}


@pytest.mark.parametrize(
    ("covers", "where", "name", "fault", "sentence", "steps"),
    FAULTS,
    ids=[fault[2] for fault in FAULTS],
)
def test_a_planted_fault_is_found_with_a_shortest_run(  # noqa: PLR0913, PLR0917 - one for each column
    monkeypatch: pytest.MonkeyPatch,
    covers: str,
    where: object,
    name: str,
    fault: object,
    sentence: str,
    steps: int,
) -> None:
    monkeypatch.setattr(where, name, fault)
    world = next(one.world for one in visited_worlds() if one.covers == covers)
    _, _, found = explored(world)
    assert found.violation is not None
    assert sentence in found.violation.reason
    assert len(found.violation.labels) == steps
