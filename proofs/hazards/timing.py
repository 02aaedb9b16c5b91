"""Hazards of the sweeper, the timers and the delivery count: Z2 to Z8, Z15."""

from model.config import SharePartitionConfig
from proofs.hazards import properties as hold
from proofs.hazards.draft_readings import LimitTest
from proofs.hazards.hazard import Hazard, HazardCase
from proofs.hazards.world import Act, HazardMove, HazardWorld

QUARTER = SharePartitionConfig().in_progress_staleness_threshold_ms // 4
"""How often the sweeper runs at the defaults, in ms."""

_STALE = (
    "§3.3",
    (
        "If lastProgressTimeMs is older than threshold → release to AVAILABLE, "
        "increment deliveryCount."
    ),
)
_LIMIT = ("§2.2", "IN_PROGRESS → ARCHIVING (REJECT / max-delivery-count)")
_TIMER = ("§3.2", "4. Cancel + reschedule AcquisitionLockTimerTask.")
_EVERY = ("§3.3", "A background task per SharePartition runs every (staleness.threshold.ms / 4)")
_MAXIMUM = (
    "§3.3",
    "If inProgressStartTimeMs exceeds max.extension.ms → release regardless.",
)
_COUNT = (
    "Strike “increment deliveryCount”: the acquire has counted this delivery already. Say that a "
    "stale record goes the way of an expired lock: AVAILABLE, or if the delivery count has reached "
    "the limit, ARCHIVED (ARCHIVING with a dead-letter queue)."
)
_DEADLINE = (
    "Replace timer and sweeper by one deadline: a mark sets it to min(now + staleness threshold, "
    "progress start + max extension), it takes the place of the acquisition lock timer, and the "
    "record is released when it is reached. Require lock duration ≤ staleness threshold ≤ max "
    "extension."
)
_GUARD = (
    "Say “an IN_PROGRESS record whose …” in both rules, and that both times are cleared whenever "
    "a delivery ends."
)
_SHORT_MAXIMUM = 5 * QUARTER
_ON_ITS_WAY = frozenset({HazardMove.FETCH, HazardMove.MARK, HazardMove.WAIT})
_AGED = {"lock_timer_runs_on": False, "extension_compares_the_instant": False}
"""Otherwise Z4 and Z8 end every delivery before."""


def _limit(limit: int) -> SharePartitionConfig:
    return SharePartitionConfig(delivery_count_limit=limit)


HAZARDS = (
    Hazard(
        "Z2",
        "The delivery count exceeds its limit",
        "A stale delivery counts twice, once when it was acquired and once when it is released, "
        "so the next acquire can bring the count above the limit.",
        (_STALE, _LIMIT),
        _COUNT,
        (
            HazardCase(
                HazardWorld(_ON_ITS_WAY, 2 * QUARTER, 12 * QUARTER, fetches=2, config=_limit(2)),
                hold.the_count_keeps_to_its_limit,
                steps=4,
                options={"staleness_adds_a_delivery": True},
            ),
        ),
        "This is with the limit tested before the count is raised, which §3.3 does not even ask "
        "for. So every even limit is exceeded by one; without a test the count has no bound.",
    ),
    Hazard(
        "Z3",
        "Half of the attempts are taken away",
        "Because stale deliveries count twice, a record fails for good after about half of the "
        "deliveries that its limit promises.",
        (_STALE, _LIMIT),
        _COUNT,
        (
            HazardCase(
                HazardWorld(_ON_ITS_WAY, 2 * QUARTER, 12 * QUARTER, fetches=3, config=_limit(3)),
                hold.an_archived_record_had_its_attempts,
                steps=5,
                options={"staleness_adds_a_delivery": True},
                beside={"limit_test": LimitTest.BEFORE_ADDING},
                title="the limit is tested, then the count raised",
            ),
            HazardCase(
                HazardWorld(_ON_ITS_WAY, 2 * QUARTER, 12 * QUARTER, fetches=2, config=_limit(2)),
                hold.an_archived_record_had_its_attempts,
                steps=3,
                options={
                    "staleness_adds_a_delivery": True,
                    "limit_test": LimitTest.AFTER_ADDING,
                },
                title="the count is raised, then the limit tested",
            ),
        ),
        "If every delivery goes stale, records fail after: {attempts}.",
    ),
    Hazard(
        "Z4",
        "The staleness threshold is never reached",
        "The acquisition lock timer is rescheduled and stays live, so a record whose progress is "
        "fresh by the threshold loses its lock, and the rule of the sweeper never applies.",
        (_TIMER, ("§2.3", "Release IN_PROGRESS record if no progress signal in this window")),
        _DEADLINE,
        (
            HazardCase(
                HazardWorld(_ON_ITS_WAY, 5_000, 100_000),
                hold.fresh_progress_keeps_the_lock,
                steps=3,
                options={"lock_timer_runs_on": True, "timer_has_the_lock_duration": True},
            ),
        ),
        "A search of {dead_states} states with the lock timer live finds no record that is ever "
        "stale: its progress is never older than {dead_age} ms, the threshold is {threshold} ms.",
    ),
    Hazard(
        "Z5",
        "A crash is noticed later than without a mark",
        "If a mark ends the lock timer and only the sweeper watches, a consumer that marks and "
        "then hangs keeps the record until a round of the sweeper after the threshold.",
        (_TIMER, _EVERY),
        _DEADLINE,
        (
            HazardCase(
                HazardWorld(_ON_ITS_WAY, QUARTER // 2, 6 * QUARTER),
                hold.silence_ends_at_the_threshold,
                steps=3,
                options={"swept_every_quarter": True},
                beside=_AGED,
                then=(Act(HazardMove.WAIT, number=QUARTER // 2),),
            ),
        ),
        "At the defaults the record is released up to {sweep_silence} ms after the last mark, and "
        "{lock} ms after the acquire if it was never marked. The resolved rules release it after "
        "{threshold} ms: later than without a mark, too, which is what the threshold asks for.",
    ),
    Hazard(
        "Z6",
        "The sweeper resurrects what is finished",
        "The rules of the sweeper name no state, so an acknowledged record that was marked a "
        "threshold ago is released to AVAILABLE and delivered again.",
        (_STALE,),
        _GUARD,
        (
            HazardCase(
                HazardWorld(
                    _ON_ITS_WAY | {HazardMove.ACCEPT}, 2 * QUARTER, 6 * QUARTER, records=2, take=2
                ),
                hold.a_terminal_record_stays,
                steps=4,
                options={"sweep_takes_any_state": True, "progress_time_survives": True},
                title="an acknowledged record behind an unfinished one",
            ),
            HazardCase(
                HazardWorld(_ON_ITS_WAY, QUARTER, 4 * QUARTER),
                hold.a_lock_lasts_its_duration,
                steps=2,
                options={"sweep_takes_any_state": True, "never_marked_is_ancient": True},
                title="a record that was never marked, under a live lock, if -1 is compared as a "
                "time",
            ),
        ),
        "It takes a record before it that is unfinished: what lies before the start offset is no "
        "longer in flight and out of the sweeper's reach.",
    ),
    Hazard(
        "Z7",
        "Old times end a new delivery",
        "The times of a former delivery are still there when the record is acquired again, so the "
        "sweeper takes it away from its new holder under a live lock.",
        (_STALE, ("§3.1", "inProgressStartTimeMs (when transitioned to IN_PROGRESS)")),
        _GUARD,
        (
            HazardCase(
                HazardWorld(_ON_ITS_WAY, QUARTER, 6 * QUARTER, members=("A", "B"), fetches=2),
                hold.a_lock_lasts_its_duration,
                steps=5,
                options={"sweep_takes_any_state": True, "progress_time_survives": True},
            ),
        ),
        "With the lock timer live, at the defaults: {stale_fields}.",
    ),
    Hazard(
        "Z8",
        "An instant is compared with a duration",
        "inProgressStartTimeMs is a time since 1970, and always larger than the maximum extension, "
        "so every marked record is released in the first round of the sweeper.",
        (_MAXIMUM,),
        "Say “if now - inProgressStartTimeMs ≥ max.extension.ms”.",
        (
            HazardCase(
                HazardWorld(_ON_ITS_WAY, QUARTER, 6 * QUARTER),
                hold.fresh_progress_keeps_the_lock,
                steps=3,
                options={"extension_compares_the_instant": True},
            ),
        ),
    ),
    Hazard(
        "Z15",
        "The hard upper bound is soft",
        "The bound is looked at only when the sweeper runs, so a record is IN_PROGRESS for up to a "
        "quarter of the staleness threshold longer, and that threshold has no stated maximum.",
        (("§2.3", "Hard upper bound on total IN_PROGRESS time"), _EVERY),
        _DEADLINE,
        (
            HazardCase(
                HazardWorld(
                    _ON_ITS_WAY,
                    QUARTER // 2,
                    6 * QUARTER,
                    config=SharePartitionConfig(in_progress_max_lock_extension_ms=_SHORT_MAXIMUM),
                ),
                hold.progress_ends_at_its_maximum,
                steps=5,
                options={"swept_every_quarter": True},
                beside=_AGED,
                then=(Act(HazardMove.WAIT, number=QUARTER // 2),),
            ),
        ),
        f"The run has a maximum of {_SHORT_MAXIMUM:,} ms, to be short. "
        "At the defaults the longest is "
        "{longest_age} ms of {maximum} ms.",
    ),
)
