"""Whether the square commutes, for every state of a size and every step in it.

One way: the specification's step, of the value. The other: the implementation's step, of arrays
that stand for the value, and what the arrays then stand for: the whole state. Answers are compared
too: the outcome with its writes, or the guard that refuses and the offset that it names; and what
each side shows.
"""

import copy
from collections import Counter
from collections.abc import Iterable

import attrs

from impl.partition import FastSharePartition
from judge.engine import SpecEngine
from judge.pair import Refused, answers_differ, attempt, states_differ
from model.guards import Guard
from model.operations import AdvanceTime
from model.whole_state import first_difference
from proofs.refinement.arrays import ArrayForm, arrays_of, concrete, malformed, put_back, told
from proofs.refinement.states import CALL, is_sound
from proofs.refinement.steps import SmallStep, steps
from spec.partition import SharePartition

_NOTHING = AdvanceTime(0)


@attrs.frozen
class Broken:
    """A step after which the two differ, in words."""

    before: SharePartition
    step: SmallStep
    wrong: str


@attrs.define
class Tally:
    """What was compared: states; steps by operation; what refused how many; what differed."""

    states: int = 0
    steps: Counter[str] = attrs.Factory(Counter)
    refused: Counter[str] = attrs.Factory(Counter)
    broken: list[Broken] = attrs.Factory(list)


def compare(
    tally: Tally, partitions: Iterable[SharePartition], *names: str, form: ArrayForm = "new"
) -> None:
    """Compare every step from every sound state; ``names`` are those of offers."""
    for partition in partitions:
        if not is_sound(partition):
            continue
        tally.states += 1
        impl, spec = concrete(partition, form), SpecEngine(partition.profile, partition)
        wrong = differ(spec, copy.copy(impl))
        if wrong is not None:
            tally.broken.append(Broken(partition, SmallStep(_NOTHING), wrong))
            continue
        loaded = arrays_of(impl)
        rows, alike = [array.tobytes() for array in loaded], set[object]()
        for step in steps(partition, *names):
            tally.steps[type(step.operation).__name__] += 1
            wrong = _square(tally, copy.copy(spec), impl, step, alike)
            put_back(impl, loaded)
            if [array.tobytes() for array in loaded] != rows:
                wrong = wrong or "a step changes the arrays that it began with"
            if wrong is not None:
                tally.broken.append(Broken(partition, step, wrong))


def _square(
    tally: Tally, spec: SpecEngine, impl: FastSharePartition, step: SmallStep, alike: set[object]
) -> str | None:
    """Return what differs after a step. Most end where others did: what is ``alike`` was told."""
    loaded = arrays_of(impl)
    call = step.operation, step.choice, step.answers, CALL
    expected = attempt(spec.apply, *call)
    wrong = answers_differ(expected, attempt(impl.apply, *call))
    if wrong is not None:
        return wrong
    if isinstance(expected, Refused):
        reason = expected.reason
        tally.refused[reason.name if isinstance(reason, Guard) else reason] += 1
        return None if arrays_of(impl) is loaded else "a refused step changes the arrays"
    both = spec.partition, told(impl)
    if both in alike:
        return None
    alike.add(both)
    return differ(spec, impl)


def differ(spec: SpecEngine, impl: FastSharePartition) -> str | None:
    """Return how the state differs from the value, in words; None if it stands for it."""
    if wrong := states_differ(spec, impl):
        return wrong
    if not spec.partition.ready:
        return None
    return malformed(impl) or first_difference(impl.whole(), spec.whole())
