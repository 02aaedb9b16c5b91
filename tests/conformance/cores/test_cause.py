"""Each classic mistake has one probable cause, whichever rule and operation shows it."""

import pytest

from conformance.cores import cause
from conformance.vectors.play import play_vectors
from conformance.vectors.source import cases
from tests.doubles.miniature import FaultKind, Miniature

CAUSES = {
    FaultKind.RELEASE_GIVES_ATTEMPT_BACK: (cause.FAILS, "the delivery count is less"),
    FaultKind.RELEASE_IGNORES_LIMIT: (cause.AT_LIMIT, "AVAILABLE instead of ARCHIVED"),
    FaultKind.EXPIRY_IGNORES_LIMIT: (cause.AT_LIMIT, "AVAILABLE instead of ARCHIVED"),
    FaultKind.REJECT_ACKNOWLEDGES: ("a record is rejected", "ACKNOWLEDGED instead of ARCHIVED"),
    FaultKind.GAP_IS_RELEASED: ("a gap is acknowledged", "AVAILABLE instead of ARCHIVED"),
    FaultKind.LOCK_ENDS_EARLY: ("LOCK_LASTS_ITS_DURATION", "offset N holds no lock that is over"),
    FaultKind.LOCK_NEVER_ENDS: ("LOCK_ENDS_ON_TIME", "the lock of offset N is due"),
    FaultKind.START_PASSES_HELD: ("START_STOPS_AT_UNFINISHED", "ACQUIRED"),
    FaultKind.WRITE_AFTER_MOVE: ("WRITTEN_DELIVERY_COMPLETE_COUNT", "more"),
    FaultKind.FAILED_WRITE_STAYS: (cause.WRITE_FAILS, "the change stays"),
    FaultKind.HALF_IS_APPLIED: (cause.REFUSED, "ACKNOWLEDGED instead of no change"),
    FaultKind.COUNT_STAYS: (cause.ACQUIRED, "the delivery count is less"),
    FaultKind.LEAVING_KEEPS: (cause.FAILS, "nothing changes"),
}
"""The only cause of each; ``ANYBODY_ACKNOWLEDGES`` has two: it also gives another error."""

PLAYED = tuple(
    case
    for topic in ("limits", "lag", "acknowledging", "locks", "writes")
    for case in cases()[topic]
)


@pytest.mark.parametrize("kind", CAUSES)
def test_a_mistake_has_one_cause(kind: FaultKind) -> None:
    target = Miniature(kind)
    faults = play_vectors(target, target.hello(), PLAYED).faults
    assert {fault.deviation.probable_cause for fault in faults} == {CAUSES[kind]}


def test_two_mistakes_in_one_rule_that_differ_in_their_difference_are_two_causes() -> None:
    target = Miniature(FaultKind.GAP_IS_RELEASED, FaultKind.RELEASE_GIVES_ATTEMPT_BACK)
    faults = play_vectors(target, target.hello(), PLAYED).faults
    assert {fault.deviation.broken for fault in faults} == {"WRITTEN_STATE"}
    assert {fault.deviation.probable_cause for fault in faults} == {
        CAUSES[FaultKind.GAP_IS_RELEASED],
        CAUSES[FaultKind.RELEASE_GIVES_ATTEMPT_BACK],
    }


def test_a_write_that_is_not_made_is_a_cause_of_its_own() -> None:
    class Silent(Miniature):
        def _write(self, offsets: list[int]) -> str:
            status = super()._write(offsets)
            self._written.clear()
            return status

    faults = play_vectors(Silent(), Silent().hello(), cases()["limits"]).faults
    assert {fault.deviation.probable_cause for fault in faults} == {
        (cause.WRITTEN, "it is not"),
        CAUSES[FaultKind.LOCK_NEVER_ENDS],
    }
