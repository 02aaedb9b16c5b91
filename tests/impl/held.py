"""A share-partition that is compared with the specification after every step."""

from itertools import pairwise
from typing import Any

import attrs

from impl.layout import (
    FIRST,
    HEAD,
    HOLES_HEAD,
    HOLES_TAIL,
    LAST,
    LOG_HEAD,
    LOG_TAIL,
    STATE,
    TAIL,
)
from impl.partition import FastSharePartition
from judge.engine import SpecEngine
from judge.pair import Refusal, answers_differ, attempt, broken_rule, states_differ
from model.config import SharePartitionConfig
from model.guards import Guard
from model.operations import Initialize, Operation, Produce
from model.outcome import Answer, Choice, Outcome
from model.profile import KAFKA, Profile
from model.snapshot import DurableState
from spec.partition import new_partition
from tests.impl.scenario import ANY, ranges


class Held(FastSharePartition):
    """The implementation, compared with the specification also in what it knows of the log.

    Runs of equal records must be as long as possible.
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
        step = operation, choice, answers, seq
        spec = SpecEngine(self.profile, self.spec)
        expected = attempt(spec.apply, *step)
        if isinstance(expected, Refusal):
            refusal = attempt(super().apply, *step)
            check(answers_differ(expected, refusal), step)
            assert isinstance(refusal, Refusal)
            same = refusal.text.split(";")[0] == expected.text.split(";")[0]
            assert isinstance(expected.reason, Guard) or same, step
            return super().apply(*step)  # Refused again: the test expects the exception.
        outcome = super().apply(*step)
        check(answers_differ(expected, outcome), step)
        check(states_differ(spec, self) or broken_rule(spec, expected), step)
        self.spec = spec.partition
        self._check_holes(step)
        self._check_runs(step)
        return outcome

    def _check_holes(self, step: object) -> None:
        header, known = self._state.header, self.spec.log.holes
        holes = self._state.holes[header[HOLES_HEAD] : header[HOLES_TAIL]].tolist()
        assert [tuple(hole) for hole in holes] == list(known), step
        assert self.whole().waiting == self.spec.waiting, step
        batches = self._state.log[header[LOG_HEAD] : header[LOG_TAIL]].tolist()
        assert [tuple(batch) for batch in batches] == list(self.spec.log.batches), step

    def _check_runs(self, step: object) -> None:
        """Check that adjacent runs are of different records, or wait for different writes."""
        header, records = self._state.header, self.spec.window.records
        for one, two in pairwise(self._state.runs[header[HEAD] : header[TAIL]].tolist()):
            if one[LAST] + 1 == two[FIRST]:
                after = records[two[FIRST]]
                assert after.pending or records[one[LAST]] != after, step
                assert one[STATE:] != two[STATE:], step


def check(wrong: str | None, step: object) -> None:
    """Fail, with the step, if something is wrong with it."""
    assert wrong is None, f"{wrong}\n{step}"


def held(
    *batches: tuple[int, int],
    profile: Profile = KAFKA,
    durable: DurableState | None = None,
    told: bool = True,
    **config: Any,  # noqa: ANN401 - whatever a configuration holds
) -> Held:
    """Return such a share-partition with these batches in its log.

    Unless they are ``told``, nothing is known of the log but its end: it is what fetches read.
    """
    partition = Held(profile)
    settings = attrs.evolve(SharePartitionConfig(), **config)
    told = told and bool(batches)
    end = 0 if told or not batches else batches[-1][1] + 1
    partition.apply(Initialize(settings, 0, end, durable or DurableState(0, 0), log_known=told))
    if told:
        partition.apply(Produce(ranges(*batches), batches[-1][1] + 1))
    return partition
