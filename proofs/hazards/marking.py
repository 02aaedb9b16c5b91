"""Hazards of what a mark means, to whom and for how long: Z13, Z14, Z16 to Z21, Z23."""

import attrs

from model.config import SharePartitionConfig
from proofs.hazards import properties as hold
from proofs.hazards.draft_readings import Siblings
from proofs.hazards.hazard import Hazard, HazardCase
from proofs.hazards.timing import QUARTER
from proofs.hazards.world import Act, HazardMove, HazardWorld

_FIELDS = (
    "§2.4",
    (
        "Schema mirrors ShareAcknowledgeRequest with ProgressBatches carrying "
        "(firstOffset, lastOffset)."
    ),
)
_TIMER = ("§3.2", "4. Cancel + reschedule AcquisitionLockTimerTask.")
_GRACE = (
    "§3, Rebalance flow",
    (
        "IN_PROGRESS records with fresh progress → hold for "
        "group.share.in.progress.rebalance.grace.ms (default 5000) before releasing."
    ),
)
_POLL = (
    "§3, Client side",
    (
        "enqueues a pending progress batch; flushed in a separate MarkInProgress RPC on the next "
        "poll() boundary or when the pending count exceeds max.in-flight.progress.batches "
        "(default 100)"
    ),
)
_SENT = (
    "Send a mark when it is made, or from a background thread well before the lock ends; do not "
    "tie it to poll()."
)
_ON_ITS_WAY = frozenset({HazardMove.FETCH, HazardMove.MARK, HazardMove.WAIT})
_NARROW = HazardWorld(
    _ON_ITS_WAY,
    30_000,
    150_000,
    records=2,
    fetches=3,
    config=SharePartitionConfig(
        partition_max_record_locks=1, in_progress_max_lock_extension_ms=4 * QUARTER
    ),
)

HAZARDS = (
    Hazard(
        "Z13",
        "A mark from a former delivery keeps the present one alive",
        "A mark names a record but not the delivery it is about, so a thread that lost its lock "
        "makes a later delivery to the same member look alive that nobody works on.",
        (("§3.2", "1. Validate ownership (memberId matches)"), _FIELDS),
        "Let a mark carry what names the delivery: the leader epoch and a number that the leader "
        "gives each acquisition, returned with the acquired records; refuse another delivery's "
        "with INVALID_RECORD_STATE. A leader epoch has each number once, so a leader that drops "
        "the share-partition from memory and reads it again goes on counting. The delivery count "
        "is not enough: it repeats after a failover.",
        (
            HazardCase(
                HazardWorld(
                    _ON_ITS_WAY | {HazardMove.OLD_MARK, HazardMove.READ_AGAIN},
                    30_000,
                    60_000,
                    fetches=2,
                ),
                hold.a_mark_counts_for_its_own_delivery,
                steps=4,
                options={"mark_names_no_delivery": True},
            ),
        ),
    ),
    Hazard(
        "Z14",
        "A delivery that may never be marked",
        "If the start of progress outlives a delivery (“cumulative”), a record that once used up "
        "the maximum can be acquired again but no longer marked.",
        (("§3.2", "2. Validate cumulative IN_PROGRESS time ≤ max.lock.extension.ms."),),
        "Say “the IN_PROGRESS time of this delivery”, and that inProgressStartTimeMs is cleared "
        "whenever a delivery ends.",
        (
            HazardCase(
                HazardWorld(
                    _ON_ITS_WAY,
                    30_000,
                    210_000,
                    fetches=2,
                    config=SharePartitionConfig(in_progress_max_lock_extension_ms=120_000),
                ),
                hold.a_good_mark_is_accepted,
                steps=5,
                options={"progress_start_survives": True},
            ),
        ),
        "The run has a maximum extension of 120,000 ms, to be short.",
    ),
    Hazard(
        "Z16",
        "The grace time ends the work of a member that came back",
        "Nothing cancels the grace time, so a member that lost its connection for a moment, came "
        "back and goes on marking loses the record when it ends.",
        (_GRACE,),
        "Say that a mark of the member, once it is back, cancels the grace time.",
        (
            HazardCase(
                HazardWorld(_ON_ITS_WAY | {HazardMove.LEAVE, HazardMove.RETURN}, 2_500, 15_000),
                hold.fresh_progress_keeps_the_lock,
                steps=6,
                options={"grace_outlasts_a_mark": True},
            ),
        ),
    ),
    Hazard(
        "Z17",
        "The grace time keeps a record from everybody",
        "A member that closes has given up its session, so it can neither acknowledge nor mark "
        "during the grace time: the record is only delivered later.",
        (_GRACE,),
        "Keep the grace time to members that may come back (a lost connection), and release at "
        "once when a consumer closes; or set it to 0 by default.",
        (
            HazardCase(
                HazardWorld(_ON_ITS_WAY | {HazardMove.LEAVE}, 2_500, 15_000),
                hold.a_departure_makes_records_available,
                steps=4,
                control=(
                    "With a grace time of 0",
                    HazardWorld(
                        _ON_ITS_WAY | {HazardMove.LEAVE},
                        2_500,
                        15_000,
                        config=SharePartitionConfig(in_progress_rebalance_grace_ms=0),
                    ),
                ),
                bound=hold.a_grace_ends,
            ),
        ),
        "The resolved rules keep this: they cannot tell the two kinds of leaving apart either. "
        "They bound it by the grace time, {grace} ms, and 0 turns it off.",
    ),
    Hazard(
        "Z18",
        "The signal leaves too late",
        "A mark waits in the consumer for the next poll(), which comes after the work, so the lock "
        "ends while the mark of the record is still in the client.",
        (_POLL,),
        _SENT,
        (
            HazardCase(
                HazardWorld(
                    frozenset(
                        {
                            HazardMove.FETCH,
                            HazardMove.CALL_MARK,
                            HazardMove.POLL,
                            HazardMove.ACCEPT,
                            HazardMove.WAIT,
                        }
                    ),
                    15_000,
                    60_000,
                ),
                hold.a_mark_is_sent_in_time,
                steps=3,
                options={"marks_wait_for_poll": True},
                title="explicit acknowledgement: poll() throws while a record is unacknowledged",
            ),
            HazardCase(
                HazardWorld(
                    frozenset({HazardMove.FETCH, HazardMove.CALL_MARK, HazardMove.POLL}),
                    explicit=False,
                ),
                hold.a_mark_is_sent_in_time,
                steps=3,
                options={"marks_wait_for_poll": True},
                title="implicit acknowledgement: poll() accepts the record first",
            ),
        ),
        "No rule of the broker mends this: the workloads that §1.1 names are the ones whose marks "
        "come too late. The resolved rules were tried with a client that sends at once.",
        provided="if the client sends at once",
    ),
    Hazard(
        "Z19",
        "One record spoils the marks of others",
        "A request is accepted or refused as a whole, as an acknowledgement is, so a record that "
        "was acknowledged meanwhile makes the marks of its neighbours fail, and their locks end.",
        (_FIELDS, _POLL),
        "Say that each batch is judged and answered for itself, and that the client puts records "
        "into one batch only if it still holds them all.",
        (
            HazardCase(
                HazardWorld(
                    frozenset(
                        {HazardMove.FETCH, HazardMove.CALL_MARK, HazardMove.POLL, HazardMove.ACCEPT}
                    ),
                    records=2,
                    take=2,
                    most_marks=1,
                ),
                hold.a_good_mark_is_accepted,
                steps=4,
                options={"request_is_atomic": True, "marks_wait_for_poll": True},
                queueing=True,
            ),
        ),
        "Here a queue of one mark stands for the default of 100: the marks are sent because the "
        "queue is full, since with poll() Z18 comes first. {sibling_start} {sibling_range}",
        provided="with a batch for each record",
    ),
    Hazard(
        "Z20",
        "A mark touches the locks of other records",
        "The records of one fetch share a lock timer; to cancel and reschedule it for one of them "
        "extends the locks of all, or leaves the others without.",
        (_TIMER,),
        "Say that a mark gives its record a deadline of its own, and leaves the timer of the "
        "others as it is.",
        (
            HazardCase(
                HazardWorld(_ON_ITS_WAY, 10_000, 30_000, records=2, take=2),
                hold.a_mark_leaves_other_records,
                steps=3,
                options={"siblings": Siblings.RESCHEDULED},
                title="the timer of the fetch is rescheduled",
            ),
            HazardCase(
                HazardWorld(_ON_ITS_WAY, 10_000, 30_000, records=2, take=2),
                hold.a_mark_leaves_other_records,
                steps=2,
                options={"siblings": Siblings.CANCELLED},
                title="the timer of the fetch is cancelled",
            ),
        ),
    ),
    Hazard(
        "Z21",
        "One record holds the window",
        "A record that is marked for as long as it may be keeps the start offset where it is, and "
        "when the window is full nothing behind it can be fetched.",
        (("§2.3", "group.share.in.progress.max.lock.extension.ms 1800000 (30 min)"),),
        "State the consequence beside the setting, and report the age of the oldest IN_PROGRESS "
        "record as a metric, so that an operator sees what holds the window.",
        (
            HazardCase(
                _NARROW,
                hold.a_waiting_record_is_not_blocked,
                steps=3,
                control=(
                    "Without marks",
                    attrs.evolve(_NARROW, moves=_ON_ITS_WAY - {HazardMove.MARK}),
                ),
                beside={"lock_timer_runs_on": False, "extension_compares_the_instant": False},
                bound=hold.a_block_ends,
            ),
        ),
        "The run has a window of one offset, to be short. At the defaults one such record lets "
        "{window} records through in {maximum} ms, {rate} a second. The resolved rules keep this "
        "and bound it: a delivery holds the window for at most the lock duration and the maximum "
        "extension. RENEW (KIP-1222) has no such bound.",
    ),
    Hazard(
        "Z23",
        "A rejected record holds the start offset",
        "Reject leads to ARCHIVING, a state that only a dead-letter queue ends; where there is "
        "none, the start offset never passes the record.",
        (("§2.2", "IN_PROGRESS → ARCHIVING (REJECT / max-delivery-count)"),),
        "Write “→ ARCHIVED, or ARCHIVING if the group has a dead-letter queue (KIP-1191)”.",
        (
            HazardCase(
                HazardWorld(_ON_ITS_WAY | {HazardMove.REJECT}, 30_000, 60_000),
                hold.a_rejected_record_is_finished,
                steps=3,
                options={"archiving_without_a_queue": True},
                then=(Act(HazardMove.WAIT, number=3_600_000),),
            ),
        ),
        "A record that fails at its limit has the same fate. From ACQUIRED, both lead to ARCHIVED "
        "where there is no queue.",
    ),
)
