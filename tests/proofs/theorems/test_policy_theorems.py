"""Faults of this project's choices, which the theorems notice."""

from collections.abc import Callable, Iterator

import pytest

from model.operations import Acquire
from model.ranges import OffsetRange
from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from spec import policies
from spec.partition import SharePartition

MAY = "own_choice_takes_what_it_may"
MAXIMUM = "own_choice_keeps_to_the_maximum"


def whole_batches(partition: SharePartition, operation: Acquire) -> list[int]:
    return [at for batch in operation.log_batches for at in ACQUIRABLE(partition, batch)]


def twice(partition: SharePartition, batch: OffsetRange) -> Iterator[int]:
    for at in ACQUIRABLE(partition, batch):
        yield from (at, at)


ACQUIRABLE = policies._acquirable  # noqa: SLF001 - the rule itself


@pytest.mark.parametrize(
    ("rule", "wrong", "theorem"),
    [
        ("_acquirable", twice, f"choose by record_limit (kip) {MAY}"),
        ("is_acquirable", lambda _record: True, f"choose by batch_optimized (kip) {MAY}"),
        ("record_limit", whole_batches, f"choose by record_limit (kip) {MAXIMUM}"),
        ("batch_optimized", whole_batches, f"choose by batch_optimized (kafka) {MAXIMUM}"),
    ],
)
def test_choice_that_is_not_allowed_is_noticed(
    monkeypatch: pytest.MonkeyPatch, rule: str, wrong: Callable[..., object], theorem: str
) -> None:
    monkeypatch.setattr(policies, rule, wrong)
    assert prove(theorem_named(theorem)).verdict is ProofVerdict.REFUTED
