"""Theorems about invariants of a share-partition: whatever happens to it, each of them holds on.

Each is the function of ``judge.invariants`` itself, proved with what makes it inductive.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, get_args

import attrs

from judge.invariants import PARTITION_INVARIANTS, Invariant
from model.guards import Guard
from model.operations import Initialize, Operation
from model.outcome import Write
from model.ranges import StateBatch
from model.states import RecordState
from proofs.theorems.any_partition import names_no_others
from proofs.theorems.attempts import refused_by, standing_in
from proofs.theorems.controls import allows_everything, becomes, returns, wrong
from proofs.theorems.partition_operations import (
    TRANSITIONS,
    OnePartition,
    PartitionTransition,
    can_be,
    partition_of,
)
from proofs.theorems.situation import ends_in_the_log
from proofs.theorems.symbolic import conjunction, either_of
from proofs.theorems.theorem import Control, Property, Subject, Theorem, about
from spec import step, window
from spec.logic import Term, either, negate
from spec.partition import Outstanding, SharePartition, Step, require
from spec.record import ARCHIVED, Record, is_held, roll_back

UNREAD = Guard.PARTITION_IS_INITIALIZED


@attrs.frozen
class Inductive:
    """How an invariant is proved: ``numbers`` are those of the properties that need it.

    ``besides`` is what is proved with it, ``resting_on`` names others that are assumed. ``seen``
    are the functions of ``spec.writes`` and the checks of a fetch that run for it: what writes
    report and what becomes durable is left out elsewhere. ``breaks`` is the change of a control.
    ``of_two``: both offsets may have a record before; otherwise the first, and one may come at the
    second.
    """

    numbers: tuple[int, ...]
    how: str
    breaks: Callable[[SharePartition], SharePartition]
    besides: Callable[[Invariant, SharePartition], Term] = lambda _known, _partition: True
    resting_on: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    of_two: bool = False
    source: str = "KIP-932, Managing durable share-partition state"


def _with(record: Record, **rules: Any) -> Callable[[SharePartition], SharePartition]:  # noqa: ANN401 - any field
    def change(partition: SharePartition) -> SharePartition:
        now, profile = partition.window, attrs.evolve(partition.profile, **rules)
        changed = window.replace(now, {now.start_offset: record})
        return attrs.evolve(partition, profile=profile, window=changed)

    return change


def _is_awaited_once(_known: Invariant, partition: SharePartition) -> Term:
    """Whether no record waits for two writes, and what left the window lies below it."""
    now, sent = partition.window, partition.outstanding.values()
    named = [offset for each in sent for offset in each.offsets]
    return conjunction(
        *(one != other for one, other in combinations(named, 2)),
        *(either_of(at < now.start_offset, *(at == o for o in now.records)) for at in named),
    )


def _if_undone(known: Invariant, partition: SharePartition) -> Term:
    """Whether it would hold if every write that is outstanding failed at once."""
    now = partition.window
    undone = {o: either(r.pending, roll_back(r, -1), r) for o, r in now.records.items()}
    held = (o for o, r in undone.items() if is_held(r))
    after: Any = {"records": undone, "held": held}
    return known.holds(attrs.evolve(partition, window=attrs.evolve(now, **after)))


def _are_behind(_known: Invariant, partition: SharePartition) -> Term:
    """Whether no start offset that is durable, or may come to be, is ahead of the leader's."""
    durable, sent = partition.durable, partition.outstanding.values()
    starts = (durable.start_offset, *(each.write.start_offset for each in sent))
    return conjunction(*(start <= partition.window.start_offset for start in starts))


def _ends_in_the_log(_known: Invariant, partition: SharePartition) -> Term:
    now = partition.window
    return ends_in_the_log(now.start_offset, now.end_offset, partition.log.end_offset)


def _beginning_late(partition: SharePartition) -> SharePartition:
    now = partition.window
    return attrs.evolve(partition, window=attrs.evolve(now, start_offset=now.end_offset + 1))


def _writing_a_held_record(partition: SharePartition) -> SharePartition:
    id_ = partition.next_write
    sent = Outstanding(Write(id_, -1, 0, (StateBatch(0, 0, RecordState.IN_PROGRESS, 1),)))
    return attrs.evolve(partition, outstanding=partition.outstanding.set(id_, sent))


def _durable_ahead(partition: SharePartition) -> SharePartition:
    now, end = partition.durable, partition.window.end_offset
    entries = now.entries.set(end, (RecordState.ACQUIRED, 1))
    ahead = attrs.evolve(now, start_offset=end + 1, entries=entries)
    return attrs.evolve(partition, durable=ahead)


MARKS = "KAFKA-20458, markInProgress handler"
AHEAD = "lets a record be durable as ACQUIRED, and the durable start offset lie past it"
INDUCTIVE: dict[str, Inductive] = {
    "window_is_ordered": Inductive(
        *((7,), "begins where it does not end", _beginning_late, _ends_in_the_log),
        seen=("check_read",),
        source="KIP-932, Managing the SPSO and SPEO",
    ),
    "pending_iff_write_outstanding": Inductive(
        (59,),
        "leaves a record pending without a write",
        _with(Record(ARCHIVED, 1, pending=True)),
        _is_awaited_once,
        of_two=True,
    ),
    "only_persisted_states_are_written": Inductive(
        (25,), "writes that a record is IN_PROGRESS", _writing_a_held_record, seen=("coalesce",)
    ),
    "in_progress_only_where_it_is_allowed": Inductive(
        (1,),
        "leaves a record IN_PROGRESS, and a profile without that",
        _with(Record(RecordState.IN_PROGRESS, 1), in_progress=False),
        _if_undone,
        source=MARKS,
    ),
    "held_has_an_acquisition": Inductive(
        (41,),
        "leaves a record ACQUIRED without a number",
        _with(Record(RecordState.ACQUIRED, 1, 0, 0)),
        _if_undone,
        ("pending_iff_write_outstanding",),
        source=MARKS,
    ),
    "acquired_is_never_durable": Inductive(
        *((25,), AHEAD, _durable_ahead),
        resting_on=("only_persisted_states_are_written",),
        seen=("coalesce", "merge"),
    ),
    "durable_start_never_ahead": Inductive(
        (25,), AHEAD, _durable_ahead, _are_behind, seen=("merge",)
    ),
}
KNOWN = {known.name: known for known in PARTITION_INVARIANTS}


def _holds(known: Invariant, partition: SharePartition) -> Term:
    return conjunction(known.holds(partition), INDUCTIVE[known.name].besides(known, partition))


def _held_before(s: OnePartition, known: Invariant, is_empty: bool) -> Term:  # noqa: FBT001 - of a transition
    how = INDUCTIVE[known.name]
    untracked = negate(s.tracked | s.other_tracked) if is_empty else negate(s.other_tracked)
    if not conjunction(can_be(s), untracked | (how.of_two and not is_empty)):
        return False
    before = partition_of(s)
    return conjunction(_holds(known, before), *(KNOWN[n].holds(before) for n in how.resting_on))


def _holds_on(s: OnePartition, known: Invariant, made: PartitionTransition) -> Term:
    after = made.after(s, INDUCTIVE[known.name].seen)
    return after is None or not after.ready or _holds(known, after)


def _broken(made: PartitionTransition, inductive: Inductive) -> Control:
    def breaking(right: Step | SharePartition) -> Step | SharePartition:
        if isinstance(right, SharePartition):
            return inductive.breaks(right)
        return attrs.evolve(right, partition=inductive.breaks(right.partition))

    return wrong(made.rule, inductive.how, returns(breaking))


def _theorems() -> Iterator[Theorem]:
    for name, inductive in INDUCTIVE.items():
        known = KNOWN[name]
        stated = Property(name, known.sentence, inductive.source, inductive.numbers)
        held = {is_empty: about(_held_before, known, is_empty) for is_empty in (False, True)}
        for made in TRANSITIONS:
            claim, given = about(_holds_on, known, made), held[made.is_empty]
            of = stated, made.name, OnePartition, given, claim, _broken(made, inductive)
            yield Theorem(*of, runnable=lambda s: names_no_others(s) & (s.start <= s.first))


READY = "spec.step:check_ready"
BARRED = wrong(READY, "refuses everything", becomes(lambda *_of: require(False, UNREAD, "")))  # noqa: FBT003 - refused


@Subject("KIP-932, Managing durable share-partition state", OnePartition).theorem(
    52,
    of={f"{kind.__name__} comes first": (kind,) for kind in get_args(Operation)},
    control=lambda kind: BARRED if kind is Initialize else allows_everything(READY),
)
def leader_reads_before_it_does_anything(s: OnePartition, kind: type) -> Term:
    """Before a leader has read the durable state it does nothing else."""
    before = attrs.evolve(partition_of(s), ready=False)
    operation: Any = object.__new__(kind)
    with standing_in(step, transition=Step(before)):
        refused = refused_by(lambda: step.apply(before, operation))
    return refused is (None if kind is Initialize else UNREAD)


PARTITION_THEOREMS = tuple(_theorems())
