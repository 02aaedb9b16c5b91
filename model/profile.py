"""Profiles: which of the defensible readings of the KIPs applies, as data."""

import attrs

from model.errors import InvalidValueError


@attrs.frozen
class Profile:
    """A set of rules. Each field is one question on which sources differ (docs/decisions.md).

    The defaults are the reading of the KIP texts.

    ``renewal_survives_refusal``: a RENEW in a request that is then refused still holds.
    ``batches_may_share_an_offset``: a batch may start at the offset where the previous one ended.
    ``window_may_overshoot``: the window may end with the log batch that crosses its limit; under
    record_limit the records beyond it are then available.
    ``gap_at_the_end_is_free``: offsets between the window's end and the first record that enters
    it do not count against the limit of that acquire (they do in the next one).
    ``absent_state_is_an_invalid_request``: reading or writing what was never initialized is
    INVALID_REQUEST instead of UNKNOWN_TOPIC_OR_PARTITION.
    ``window_may_exceed_maximum``: a fetch may take more records of the window than its maximum:
    Apache Kafka takes a batch as a whole that it keeps as one. What enters the window is limited.
    ``passed_records_are_released``: a member that leaves while it holds only what lies below the
    start offset may be released with a write, which says nothing of the window.
    ``offered_within``: how many fetches may pass over an available record before one acquires it,
    and how many may find the window full of what is finished before its start offset moves. The
    KIPs promise both without a number.
    ``sweep_ms``: how long after its deadline a timer may end a lock, where a clock is a real one.
    The KIPs have no such time: a lock ends when its duration has elapsed.
    ``answered_within``: how many events of a virtual clock a write may wait for its answer, a dead
    letter for its end, or a log start offset for the log to reach it. The KIPs have no number.
    ``answered_within_ms``: how long each may wait where a clock is a real one. Apache Kafka tries
    five times to find the coordinator and five times to write, a minute each with its pause.
    ``grant_ms``: how long before its row a lock may have been granted, where a clock is a real one:
    a recorder tells when the leader had finished. In the KIPs a lock lasts from that moment.
    ``summary_compares_the_leader_epoch``: reading a summary for an older leader is
    FENCED_LEADER_EPOCH.
    ``default_max_record_locks``: the default width of the window, in offsets.
    ``configured_as_kafka``: configurations have Kafka's defaults and ranges, not the KIPs'.
    ``in_progress``: a consumer may mark the records that it works on (KAFKA-20458, a draft).
    ``coordinator_counts_complete``: the durable delivery complete count is the number of records
    that the share coordinator holds as ACKNOWLEDGED or ARCHIVED. What a write says of it is not
    used (docs/findings/kip-1226.md).

    Defects of Apache Kafka that a profile can reproduce (docs/findings/share-coordinator.md):

    ``defect_start_offset_kept_loses_count``: a write whose start offset is -1 leaves the durable
    delivery complete count as it was.
    ``defect_repeated_initialize_discards_state``: initializing a share-partition again in the same
    state epoch discards its state, as a new state epoch does.
    ``defect_initialize_forgets_leader_epoch``: initializing a share-partition again makes its
    durable leader epoch 0; older leaders stay fenced in memory only, so that a failover can let
    them in.
    ``defect_newer_state_epoch_is_accepted``: a write in a state epoch that is newer than the
    durable one is merged.
    ``defect_unknown_count_keeps_the_former``: a write without a delivery complete count leaves the
    durable one as it was.
    """

    name: str
    renewal_survives_refusal: bool = False
    batches_may_share_an_offset: bool = False
    window_may_overshoot: bool = False
    gap_at_the_end_is_free: bool = False
    absent_state_is_an_invalid_request: bool = False
    summary_compares_the_leader_epoch: bool = True
    default_max_record_locks: int = 200
    configured_as_kafka: bool = False
    in_progress: bool = False
    window_may_exceed_maximum: bool = False
    passed_records_are_released: bool = False
    offered_within: int = 10
    answered_within: int = 500
    answered_within_ms: int = 3_600_000
    sweep_ms: int = 0
    grant_ms: int = 0
    coordinator_counts_complete: bool = False
    defect_start_offset_kept_loses_count: bool = False
    defect_repeated_initialize_discards_state: bool = False
    defect_initialize_forgets_leader_epoch: bool = False
    defect_newer_state_epoch_is_accepted: bool = False
    defect_unknown_count_keeps_the_former: bool = False

    @property
    def all_or_none(self) -> "Profile | None":
        """These rules, but that a refused request renews nothing; None where they are these.

        An implementation does one or the other throughout (docs/decisions.md, 161).
        """
        if not self.renewal_survives_refusal:
            return None
        return attrs.evolve(self, renewal_survives_refusal=False)


KIP = Profile("kip")
"""The KIP texts, as docs/decisions.md settles them."""

KAFKA = Profile(
    name="kafka",
    renewal_survives_refusal=True,
    batches_may_share_an_offset=True,
    window_may_overshoot=True,
    gap_at_the_end_is_free=True,
    absent_state_is_an_invalid_request=True,
    summary_compares_the_leader_epoch=False,
    default_max_record_locks=2000,
    configured_as_kafka=True,
    window_may_exceed_maximum=True,
    passed_records_are_released=True,
    offered_within=40,
    answered_within=400,
    answered_within_ms=600_000,
    sweep_ms=5000,
    grant_ms=500,
)
"""What Apache Kafka does where it differs and both are defensible."""

KAFKA_4_4 = attrs.evolve(
    KAFKA,
    name="kafka_4_4",
    defect_start_offset_kept_loses_count=True,
    defect_repeated_initialize_discards_state=True,
    defect_initialize_forgets_leader_epoch=True,
    defect_newer_state_epoch_is_accepted=True,
    defect_unknown_count_keeps_the_former=True,
)
"""Apache Kafka 4.4 with the known defects of its share coordinator, to compare it with itself."""

DRAFT_RESOLVED = attrs.evolve(KIP, name="draft_resolved", in_progress=True)
"""The KIP texts with the draft of IN_PROGRESS, as docs/decisions.md settles both."""

LAG_RESOLVED = attrs.evolve(KIP, name="lag_resolved", coordinator_counts_complete=True)
"""The KIP texts with a reported lag that is what a new leader finds (docs/findings/kip-1226.md)."""

PROFILES = {
    profile.name: profile for profile in (KIP, KAFKA, KAFKA_4_4, DRAFT_RESOLVED, LAG_RESOLVED)
}


def profile_named(name: str) -> Profile:
    """Return the profile of that name; raise InvalidValueError that lists them."""
    try:
        return PROFILES[name]
    except KeyError:
        raise InvalidValueError("profile", name, ", ".join(sorted(PROFILES))) from None
