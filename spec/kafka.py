"""What Apache Kafka does where it differs from the KIP texts and both are defensible.

Rules ask here, each in one place; under the profile ``kip`` the answer is no, or what the KIPs say,
so that its readers can pass over this module. The defects of Apache Kafka 4.4 are all of its share
coordinator: there each is one condition, whose name begins with ``defect_``.
"""

from collections.abc import Mapping, Sequence

from model.errors import ErrorCode
from model.operations import Acquire
from model.outcome import Choice
from model.profile import Profile
from model.states import AcquireMode
from spec.record import Record
from spec.window import Window


def free_gap(profile: Profile, window: Window, old_end: int, first_new: int) -> int:
    """Return how many offsets before the first new record this acquire has beyond its limit."""
    gap = first_new - max(window.start_offset, old_end)
    return gap if profile.gap_at_the_end_is_free else 0


def takes_whole_batch(profile: Profile, mode: AcquireMode) -> bool:
    """Whether the log batch that crosses the window's limit is taken as a whole."""
    return profile.window_may_overshoot and mode is not AcquireMode.RECORD_LIMIT


def may_overshoot(
    profile: Profile, window: Window, operation: Acquire, bounds: tuple[int, int], taken: list[int]
) -> bool:
    """Whether the window passes its limit within one log batch that begins before it.

    ``bounds`` are the window's end before and its limit. With record_limit no record past the limit
    is taken, though it enters the window.
    """
    if not profile.window_may_overshoot:
        return False
    (old_end, cap), last = bounds, window.end_offset - 1
    limited = operation.acquire_mode is AcquireMode.RECORD_LIMIT
    if limited and taken and taken[-1] >= max(cap, old_end):
        return False
    begun = [batch for batch in operation.log_batches if batch.first <= last <= batch.last]
    return bool(begun) and max(begun[0].first, old_end) < cap


def may_exceed_maximum(profile: Profile, window: Window, taken: Sequence[int]) -> bool:
    """Whether a fetch may take more than its maximum: records of the window, and no new one."""
    return profile.window_may_exceed_maximum and taken[-1] < window.end_offset


def kept_renewals(
    profile: Profile, at_gap: Mapping[int, Record] | None, at_fault: Mapping[int, Record] | None
) -> Mapping[int, Record]:
    """Return the renewals that hold though their request was refused: those before its fault."""
    renewed = at_gap if at_fault is None else at_fault
    return renewed or {} if profile.renewal_survives_refusal else {}


def may_write_passed(profile: Profile, choice: Choice) -> bool:
    """Whether it is written that a member leaves which holds only what the start offset passed."""
    return choice.written and profile.passed_records_are_released


def first_free_offset(profile: Profile, previous: int) -> int:
    """Return where a batch may begin after one that ends at ``previous``."""
    return previous if profile.batches_may_share_an_offset else previous + 1


def absent_state_error(profile: Profile) -> ErrorCode:
    """Return the share coordinator's answer about what was never initialized."""
    if profile.absent_state_is_an_invalid_request:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
