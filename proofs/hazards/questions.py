"""What the draft leaves open besides the hazards: where, the question, the answer we propose."""

QUESTIONS = (
    (
        "§2.1",
        "“payload-carrying signal”, “optional progress hints”: the method takes no payload.",
        "Leave both out.",
    ),
    (
        "§2.2",
        "There is no transition for a gap acknowledgement.",
        "IN_PROGRESS → ARCHIVED, as from ACQUIRED.",
    ),
    (
        "§2.2",
        "Does an IN_PROGRESS record count in the lag and in the window?",
        "In both, and not as delivery complete.",
    ),
    (
        "§2.3",
        (
            "The grace time is not in the table, and nothing relates the settings to the lock "
            "duration: with a staleness threshold below it a mark would shorten the lock."
        ),
        (
            "List it; require lock duration ≤ staleness threshold ≤ max extension, also when a "
            "setting is altered; and let no mark set a deadline before the one that the record "
            "has, which may be that of an earlier setting."
        ),
    ),
    (
        "§2.4",
        (
            "What is a mark answered for a record that is finished, available, another member's, "
            "or over the maximum?"
        ),
        (
            "INVALID_RECORD_STATE for its batch; INVALID_REQUEST past the end of the window; "
            "success before its start, as for acknowledgements."
        ),
    ),
    (
        "§2.4, §2.5",
        "API keys 81 and 82 are taken (RemoveRaftVoter, UpdateRaftVoter).",
        "Assign others.",
    ),
    (
        "§2.5",
        "`--state` of kafka-share-groups.sh means the state of a group.",
        "Another name.",
    ),
    (
        "§3.1",
        "“Add four fields”: two are listed.",
        "Last progress, progress start, end of the grace time, what names the delivery.",
    ),
    (
        "§3.2",
        "RENEW of an IN_PROGRESS record.",
        "INVALID_RECORD_STATE: it names no delivery (Z13).",
    ),
    (
        "§3.2",
        "The state machine refuses a transition to the same state today.",
        "Allow it from IN_PROGRESS to itself.",
    ),
    (
        "§3, Rebalance flow",
        "“fresh” and “stale” are not defined.",
        "Fresh: now < last progress + staleness threshold.",
    ),
    (
        "§3, Rebalance flow",
        "`handleMemberLeaving` does not exist; a lost connection ends the session too.",
        "Say what is meant by leaving (Z17).",
    ),
    (
        "§3, DelayedShareFetch",
        "`acquirablePartitions` selects share-partitions, not records.",
        "No rule is needed: a fetch takes AVAILABLE records only.",
    ),
    (
        "–",
        "Authorization, schemas, metrics and compatibility have no section.",
        "Add them.",
    ),
)
