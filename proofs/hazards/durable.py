"""Hazards of making IN_PROGRESS durable: Z1, Z1b, Z9 to Z12, Z22."""

from model.errors import ErrorCode
from proofs.hazards import properties as hold
from proofs.hazards.draft_consumer import Given
from proofs.hazards.hazard import Hazard, HazardCase
from proofs.hazards.world import Act, HazardMove, HazardWorld

_WRITE = ("§3.2", "5. Async-write delta record to __share_group_state.")
_BYTE = ("§2.2", "RecordState.IN_PROGRESS ((byte) 5)")
_REUSE = (
    "§3.2",
    "reuses the existing writeLock + timer + persistence machinery from acknowledge()",
)
_IN_MEMORY = (
    "Strike step 5 of §3.2 and say: an IN_PROGRESS state is never written, as ACQUIRED is not; a "
    "leader that nevertheless reads it takes the record as AVAILABLE with the same delivery count."
)
_ANSWERED = HazardWorld(
    frozenset({HazardMove.FETCH, HazardMove.MARK, HazardMove.ACCEPT, HazardMove.ANSWER}),
    slow=frozenset({HazardMove.MARK, HazardMove.ACCEPT}),
    answers=(ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
)
_AN_HOUR = 3_600_000
_TAKEN_OVER = frozenset({HazardMove.FETCH, HazardMove.MARK, HazardMove.FAIL_OVER})

HAZARDS = (
    Hazard(
        "Z1",
        "A durable acceptance is lost",
        "A record that was marked, accepted and confirmed to the client comes back after a "
        "failover, because of two states with one delivery count the coordinator keeps the one "
        "with the higher id, and IN_PROGRESS has the highest.",
        (_WRITE, _BYTE),
        _IN_MEMORY,
        (
            HazardCase(
                HazardWorld(_TAKEN_OVER | {HazardMove.ACCEPT}),
                hold.an_acceptance_survives,
                steps=4,
                options={"marks_are_written": True},
            ),
        ),
        "The same happens to every way out of IN_PROGRESS that keeps the delivery count: {exits}. "
        "Only a release that adds a delivery wins against the durable 5, and that is Z2.",
    ),
    Hazard(
        "Z1b",
        "The lag counts a record as done that is not",
        "After the failover of Z1 the durable delivery complete count still counts the record "
        "that is to be processed again, so that the reported lag is too small, although every "
        "write was answered with success.",
        (_WRITE,),
        _IN_MEMORY,
        (
            HazardCase(
                HazardWorld(
                    _TAKEN_OVER | {HazardMove.ACCEPT, HazardMove.RELEASE},
                    records=2,
                    take=2,
                    fetches=2,
                ),
                hold.the_lag_is_what_is_unfinished,
                steps=4,
                options={"marks_are_written": True},
                then=(
                    Act(HazardMove.FETCH, "A"),
                    Act(HazardMove.RELEASE, "A", Given(0, 2, 0)),
                ),
            ),
        ),
        "It stays so: the release in the last row carries a count of 0, and the coordinator keeps "
        "the larger one. Where a write is lost, the lag of KIP-1226 is too small without the draft "
        "as well ([the finding](findings/kip-1226.md)); what the draft adds is that none need be.",
    ),
    Hazard(
        "Z9",
        "An orphan after a failover",
        "A new leader finds the durable IN_PROGRESS, but not who holds the record nor since when, "
        "so nobody can acknowledge it and no timer runs.",
        (
            _WRITE,
            ("§3.1", "lastProgressTimeMs (-1 if never markInProgress'd)"),
        ),
        _IN_MEMORY,
        (
            HazardCase(
                HazardWorld(_TAKEN_OVER),
                hold.in_progress_has_an_owner,
                steps=3,
                options={"marks_are_written": True, "recovered_as_in_progress": True},
                title="-1 means never: nothing will end it, and it blocks the start offset",
                then=(Act(HazardMove.WAIT, number=_AN_HOUR),),
            ),
            HazardCase(
                HazardWorld(_TAKEN_OVER | {HazardMove.WAIT}, quantum=22_500, until=45_000),
                hold.only_an_acquire_counts,
                steps=4,
                options={
                    "marks_are_written": True,
                    "recovered_as_in_progress": True,
                    "never_marked_is_ancient": True,
                    "staleness_adds_a_delivery": True,
                },
                title="-1 means long ago: the first round of the sweeper costs it a delivery",
            ),
        ),
    ),
    Hazard(
        "Z10",
        "After a downgrade the share-partition is down",
        "A broker of an older version that becomes leader cannot read state 5 and fails to "
        "initialize the share-partition, on every attempt.",
        (_WRITE, _BYTE),
        _IN_MEMORY + " Then no feature level is needed for the durable format either.",
        (
            HazardCase(
                HazardWorld(frozenset({HazardMove.FETCH, HazardMove.MARK, HazardMove.DOWNGRADE})),
                hold.an_older_broker_can_take_over,
                steps=3,
                options={"marks_are_written": True},
            ),
        ),
        "State id 5 is also claimed for TX_PENDING (KIP-1289).",
    ),
    Hazard(
        "Z11",
        "A correct acknowledgement is refused",
        "While the write of a mark is outstanding the record is pending, and the owner's "
        "acknowledgement under a live lock is answered with INVALID_RECORD_STATE.",
        (_WRITE, _REUSE),
        _IN_MEMORY + " Without a write there is nothing to wait for.",
        (
            HazardCase(
                _ANSWERED,
                hold.the_owner_can_acknowledge,
                steps=3,
                options={"marks_are_written": True, "mark_waits_for_its_write": True},
            ),
        ),
    ),
    Hazard(
        "Z12",
        "An ACQUIRED record without a timer",
        "The mark cancels the lock timer; if its write then fails, the record is ACQUIRED again "
        "and nothing will ever end that, should its owner die without a word.",
        (
            ("§3.2", "4. Cancel + reschedule AcquisitionLockTimerTask."),
            _WRITE,
        ),
        _IN_MEMORY + " Without a write there is no rollback.",
        (
            HazardCase(
                _ANSWERED,
                hold.an_acquisition_has_a_timer,
                steps=3,
                options={
                    "marks_are_written": True,
                    "mark_waits_for_its_write": True,
                    "failed_mark_loses_the_timer": True,
                },
                then=(Act(HazardMove.WAIT, number=_AN_HOUR),),
            ),
        ),
        "Apache Kafka had a bug of this kind (KAFKA-19476).",
    ),
    Hazard(
        "Z22",
        "Every mark is a write",
        "A mark that changes nothing but a time writes the same state again to the state topic, "
        "where a renewal (KIP-1222) writes nothing.",
        (_WRITE,),
        _IN_MEMORY,
        (
            HazardCase(
                HazardWorld(frozenset({HazardMove.FETCH, HazardMove.MARK})),
                hold.a_mark_writes_nothing,
                steps=2,
                options={"marks_are_written": True},
            ),
        ),
        "{records} records, each marked every {lock} ms, are {entries} equal entries a second for "
        "one share-partition.",
    ),
)
