"""What a search has met, and what it has not: each operation with the states around it, in words.

The words are those of ``universe``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import attrs

from conformance.cores.situations import LogBatches, situations
from conformance.cores.target import Capabilities
from conformance.cores.transitions import moved
from conformance.cores.universe import (
    AT_STAKE,
    Group,
    Item,
    answer_name,
    lacking,
    transition_name,
    universe,
    write_name,
)
from model import operations as ops
from model.operation_table import operation_row
from model.trace import TraceEvent
from spec.partition import SharePartition

__all__ = ["Exercised", "exercised", "met", "settled"]


@attrs.frozen
class Exercised:
    """What was met and how often, what was not, and what the implementation cannot do and why."""

    met: tuple[tuple[Item, int], ...]
    missed: tuple[Item, ...]
    skipped: tuple[tuple[Item, str], ...]

    def totals(self) -> Iterator[tuple[Group, int, int]]:
        """Yield for each group how many things were met, and of how many, where there are any."""
        for group in Group:
            found = sum(item.group is group for item, _count in self.met)
            if of := found + sum(item.group is group for item in self.missed):
                yield group, found, of


def exercised(counts: Mapping[str, int], can: Capabilities) -> Exercised:
    """Return what the counts of a search come to, for what an implementation can do."""
    return settled(counts, [(item, lacking(item, can)) for item in universe(can)], AT_STAKE)


def settled(
    counts: Mapping[str, int],
    items: Iterable[tuple[Item, str]],
    at_stake: Mapping[str, Iterable[str]],
) -> Exercised:
    """Return what counts come to, for items with the reasons why they cannot be met, if so.

    ``at_stake`` has for each rule the things of which any one puts it at stake.
    """
    rules = {rule: sum(counts.get(name, 0) for name in of) for rule, of in at_stake.items()}
    counts, items = {**counts, **rules}, tuple(items)
    return Exercised(
        tuple((item, counts[item.name]) for item, _reason in items if counts.get(item.name)),
        tuple(i for i, reason in items if not counts.get(i.name) and not reason),
        tuple((i, reason) for i, reason in items if not counts.get(i.name) and reason),
    )


def met(
    before: SharePartition, event: TraceEvent, after: SharePartition, log: LogBatches
) -> Counter[str]:
    """Return what one operation met, which was as it should be, and how often.

    ``log`` are the log batches that there are, as [first, last].
    """
    found = [_answer(event), *_written(event)]
    if before.ready:
        found += (transition_name(*one) for one in moved(before, event, after))
        found += situations(before, event, after, log)
    return Counter(found)


_FORGOTTEN_WRITES = {ops.AdvanceTime: "an expiry", ops.FinishDeadLetter: "a dead letter"}


def _answer(event: TraceEvent) -> str:
    status = event.outcome.status.name if event.outcome.can_acquire else "skipped"
    return answer_name(operation_row(event.operation).op, status)


def _written(event: TraceEvent) -> Iterator[str]:
    whose = _FORGOTTEN_WRITES.get(type(event.operation))
    if whose:
        yield from (write_name(whose, write.status.name) for write in event.outcome.writes)
