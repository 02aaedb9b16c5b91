"""The draft's contradictions and omissions as named options (KAFKA-20458).

Sections are those of the draft; "Rebalance flow" and "Client side" have no numbers there.
"""

from enum import StrEnum
from typing import Any

import attrs


class LimitTest(StrEnum):
    """When the release of a stale record compares the delivery count with its limit."""

    NEVER = "never"
    BEFORE_ADDING = "before adding a delivery"
    AFTER_ADDING = "after adding a delivery"


class Siblings(StrEnum):
    """What a mark does to the lock timer which other records of the same fetch share."""

    UNTOUCHED = "untouched"
    RESCHEDULED = "rescheduled"
    CANCELLED = "cancelled"


@attrs.frozen
class Readings:
    """One reading of the draft. A flag that is set reads the text as its words say.

    Where nothing is given, the questions are answered as ``draft_resolved`` answers them.

    ``staleness_adds_a_delivery``: §3.3 "release to AVAILABLE, increment deliveryCount"; otherwise
    only an acquire counts, as in KIP-932.
    ``limit_test``: §3.3 names no limit, §2.2 has "max-delivery-count" lead to ARCHIVING.
    ``extension_passes_the_limit``: §3.3 "release regardless": of the delivery limit too.
    ``lock_timer_runs_on``: §3.2 "Cancel + reschedule AcquisitionLockTimerTask": the acquisition
    lock still ends the delivery; otherwise a mark ends the timer and only progress is watched.
    ``timer_has_the_lock_duration``: it is rescheduled by the lock duration; otherwise by the
    staleness threshold. The text does not say.
    ``swept_every_quarter``: §3.3 "runs every (staleness.threshold.ms / 4)"; otherwise progress is
    judged at the instant when it becomes too old.
    ``sweep_takes_any_state``: §3.3 names no state; otherwise IN_PROGRESS only.
    ``never_marked_is_ancient``: §3.1 "-1 if never markInProgress'd" compared as a time; otherwise
    a record that was never marked is not stale.
    ``extension_compares_the_instant``: §3.3 "inProgressStartTimeMs exceeds max.extension.ms";
    otherwise the time since then.
    ``progress_time_survives``: §3.1 does not say that lastProgressTimeMs is cleared when a delivery
    ends; otherwise it is.
    ``progress_start_survives``: the same of inProgressStartTimeMs, §3.2 "cumulative".
    ``grace_outlasts_a_mark``: "Rebalance flow" ends the grace time whatever happens in it;
    otherwise a mark of the member that came back cancels it.
    ``fresh_at_the_threshold``: "Rebalance flow", where "fresh" includes the threshold itself;
    otherwise not.
    ``marks_are_written``: §3.2 "Async-write delta record to __share_group_state"; otherwise a mark
    is in memory only, as an acquisition is.
    ``mark_waits_for_its_write``: §3.2 "reuses the existing ... persistence machinery": the record
    is pending until the write is answered, and rolled back if it fails; otherwise not.
    ``failed_mark_loses_the_timer``: after that rollback the timer, cancelled by the mark, is not
    there; otherwise it is restored.
    ``recovered_as_in_progress``: a new leader takes the durable IN_PROGRESS as it stands; otherwise
    as AVAILABLE.
    ``mark_names_no_delivery``: §2.4 "(firstOffset, lastOffset)"; otherwise a mark also names the
    delivery which it is about, and counts for that one only.
    ``second_mark_is_refused``: the machinery of §3.2 refuses a transition to the same state;
    otherwise it refreshes, as §3.2 says too.
    ``request_is_atomic``: §2.4 "Schema mirrors ShareAcknowledgeRequest", which is all or nothing;
    otherwise each batch is judged for itself.
    ``siblings``: the timer of a fetch is one for all its records until they part.
    ``archiving_without_a_queue``: §2.2 "IN_PROGRESS → ARCHIVING", a state that only a dead-letter
    queue ends; otherwise ARCHIVED where there is no queue.
    ``thresholds_are_free``: §2.3 does not relate the new settings to the lock duration; otherwise
    lock duration ≤ staleness threshold ≤ max extension is required.
    ``marks_wait_for_poll``: "Client side", "flushed ... on the next poll() boundary"; otherwise a
    mark is sent when it is made.
    """

    staleness_adds_a_delivery: bool = False
    limit_test: LimitTest = LimitTest.BEFORE_ADDING
    extension_passes_the_limit: bool = False
    lock_timer_runs_on: bool = False
    timer_has_the_lock_duration: bool = False
    swept_every_quarter: bool = False
    sweep_takes_any_state: bool = False
    never_marked_is_ancient: bool = False
    extension_compares_the_instant: bool = False
    progress_time_survives: bool = False
    progress_start_survives: bool = False
    grace_outlasts_a_mark: bool = False
    fresh_at_the_threshold: bool = False
    marks_are_written: bool = False
    mark_waits_for_its_write: bool = False
    failed_mark_loses_the_timer: bool = False
    recovered_as_in_progress: bool = False
    mark_names_no_delivery: bool = False
    second_mark_is_refused: bool = False
    request_is_atomic: bool = False
    siblings: Siblings = Siblings.UNTOUCHED
    archiving_without_a_queue: bool = False
    thresholds_are_free: bool = False
    marks_wait_for_poll: bool = False


NAMES = tuple(field.name for field in attrs.fields(Readings))
"""The options, in the order of the table in docs/in-progress-review.md."""

MENDED = Readings()
"""Each question answered as ``draft_resolved`` answers it: a hazard's control starts from here."""

_OTHERWISE: dict[str, Any] = {
    "limit_test": LimitTest.NEVER,
    "second_mark_is_refused": False,
    "siblings": Siblings.RESCHEDULED,
}
"""No flags, or what the words of the draft say as ``draft_resolved`` does."""

DRAFT_LITERAL = Readings(**{name: _OTHERWISE.get(name, True) for name in NAMES})
"""Profile ``draft_literal``: every sentence as its words say."""
