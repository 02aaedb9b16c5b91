"""A share-partition that is held to the specification at every step."""

import re
from itertools import pairwise
from typing import Any

import attrs
import pytest

from impl.layout import FIRST, HEAD, HOLES_HEAD, HOLES_TAIL, LAST, STATE, TAIL
from impl.partition import FastSharePartition
from model.config import SharePartitionConfig
from model.errors import IllegalChoiceError, InvalidValueError
from model.operations import Initialize, Operation, Produce
from model.outcome import Answer, Choice, Outcome
from model.profile import KAFKA, Profile
from model.snapshot import DurableState
from spec.lag import lag
from spec.step import apply, new_partition
from spec.view import durable as durable_of
from spec.view import snapshot
from tests.impl.scenario import ANY, ranges


class Held(FastSharePartition):
    """Held to the specification at every step, also in what it knows of the log.

    Runs of equal records must be as long as can be. Where the specification says which offset it
    refuses, the same one is named here.
    """

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self.spec = new_partition(profile)

    def apply(
        self,
        operation: Operation,
        choice: Choice = ANY,
        answers: tuple[Answer, ...] = (),
        seq: int = 0,
    ) -> Outcome:
        told = operation, choice, answers
        try:
            step = apply(self.spec, operation, choice, answers, seq)
        except (IllegalChoiceError, InvalidValueError) as error:
            with pytest.raises(type(error)) as raised:
                super().apply(operation, choice, answers, seq)
            check_refusal(raised.value, error, told)
            raise
        try:
            found = super().apply(operation, choice, answers, seq)
        except IllegalChoiceError as error:
            pytest.fail(f"{error} {told}")
        assert found == step.outcome, told
        self.spec = step.partition
        assert self.snapshot() == snapshot(self.spec), told
        assert self.durable() == durable_of(self.spec), told
        assert self.lag() == lag(self.spec), told
        self._check_holes(told)
        self._check_runs(told)
        return found

    def _check_holes(self, told: object) -> None:
        header, known = self._state.header, self.spec.log.holes
        holes = self._state.holes[header[HOLES_HEAD] : header[HOLES_TAIL]].tolist()
        assert [tuple(hole) for hole in holes] == list(known), told

    def _check_runs(self, told: object) -> None:
        """Check that adjacent runs are of different records, or wait for different writes."""
        header, records = self._state.header, self.spec.window.records
        for one, two in pairwise(self._state.runs[header[HEAD] : header[TAIL]].tolist()):
            if one[LAST] + 1 == two[FIRST]:
                after = records[two[FIRST]]
                assert after.pending or records[one[LAST]] != after, told
                assert one[STATE:] != two[STATE:], told


def check_refusal(found: Exception, expected: Exception, told: object) -> None:
    """Check that both refuse for the same reason, at the same offset if one is named."""
    if not (isinstance(expected, IllegalChoiceError) and isinstance(found, IllegalChoiceError)):
        assert str(found) == str(expected), told
        return
    assert found.guard is expected.guard, told
    for offset in re.findall(r"^offset (\d+)", expected.detail):
        assert found.detail == f"at {offset}", told


def held(
    *batches: tuple[int, int],
    profile: Profile = KAFKA,
    durable: DurableState | None = None,
    **config: Any,  # noqa: ANN401 - whatever a configuration holds
) -> Held:
    """Return a share-partition with these batches in its log, held to the specification."""
    made = Held(profile)
    settings = attrs.evolve(SharePartitionConfig(), **config)
    made.apply(Initialize(settings, 0, 0, durable or DurableState(0, 0)))
    if batches:
        made.apply(Produce(ranges(*batches), batches[-1][1] + 1))
    return made
