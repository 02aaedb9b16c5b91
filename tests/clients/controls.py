"""Each fault of the double, a script that shows it, and the duty that it violates."""

from clients.duties import Duty
from clients.events import Settings
from clients.scripts import Do, Script, Step
from tests.doubles.share_faults import Fault

IMPLICIT, EXPLICIT = Settings(), Settings(explicit=True)
FEW = Settings(max_poll_records=2)
LIMITED = Settings(record_limit=True, max_poll_records=2)


def script(settings: Settings, *steps: Do | Step, partitions: int = 1, brokers: int = 1) -> Script:
    """Return a script; steps without a number have 0."""
    whole = tuple(step if isinstance(step, tuple) else (step, 0) for step in steps)
    return Script(settings, partitions, whole, brokers)


FIVE = (Do.PRODUCE, 5)
HOLES = script(IMPLICIT, FIVE, Do.HOLES, Do.POLL, Do.DRAIN)
TWO_POLLS = script(IMPLICIT, FIVE, Do.POLL, FIVE, Do.POLL, Do.DRAIN)
RELEASED = script(EXPLICIT, FIVE, Do.POLL, Do.RELEASE, Do.COMMIT, Do.POLL, Do.ACCEPT, Do.COMMIT)
REJECTED = script(EXPLICIT, FIVE, Do.POLL, (Do.REJECT, 2), Do.ACCEPT, Do.COMMIT, Do.DRAIN)
LAPSED = script(EXPLICIT, FIVE, Do.POLL, Do.ACCEPT, Do.LAPSE, Do.COMMIT)
LAPSED_POLL = script(EXPLICIT, FIVE, Do.POLL, Do.ACCEPT, Do.LAPSE, Do.POLL_ONCE)
CUT = script(EXPLICIT, FIVE, Do.POLL, Do.ACCEPT, Do.CUT_ACKNOWLEDGED, Do.COMMIT)
PART = script(EXPLICIT, FIVE, Do.POLL, (Do.ACCEPT, 2), Do.COMMIT, Do.POLL_ONCE)
AT_ONCE = script(IMPLICIT, FIVE, Do.POLL)
PENDING = script(EXPLICIT, FIVE, Do.POLL, Do.ACCEPT)
EVICTED = script(
    EXPLICIT, FIVE, Do.POLL, (Do.ACCEPT, 2), Do.EVICT, Do.COMMIT, Do.ACCEPT, Do.POLL_ONCE
)
EVICTED_DRAINED = script(EXPLICIT, FIVE, Do.POLL, Do.EVICT, Do.ACCEPT, Do.COMMIT, Do.DRAIN)
EMPTY = script(IMPLICIT, Do.POLL_ONCE)
EXPELLED = script(EXPLICIT, FIVE, Do.POLL, Do.ACCEPT, Do.EXPEL, Do.COMMIT, FIVE, Do.POLL, Do.DRAIN)
FENCED = script(IMPLICIT, FIVE, Do.POLL, Do.FENCE, FIVE, Do.POLL, Do.DRAIN)
COMPACTED = script(IMPLICIT, (Do.PRODUCE_COMPACTED, 8), Do.POLL, Do.DRAIN)
MOVED = script(
    EXPLICIT, FIVE, Do.POLL, Do.ACCEPT, Do.MOVE_LEADER, Do.POLL, Do.ACCEPT, Do.DRAIN, brokers=2
)
UNNAMED = script(
    *(IMPLICIT, FIVE, Do.POLL, Do.MOVE_LEADER_UNNAMED, FIVE, FIVE, Do.POLL, Do.DRAIN),
    partitions=2,
    brokers=3,
)
MOVED_APART = script(
    *(EXPLICIT, FIVE, FIVE, Do.POLL, (Do.ACCEPT, 2), Do.MOVE_LEADER, Do.COMMIT),
    *(Do.ACCEPT, Do.COMMIT, Do.POLL, Do.ACCEPT, Do.MOVE_LEADER, FIVE, Do.COMMIT, Do.DRAIN),
    partitions=2,
    brokers=2,
)
RECOORDINATED = script(
    IMPLICIT, FIVE, Do.POLL, Do.MOVE_COORDINATOR, FIVE, Do.POLL, Do.DRAIN, brokers=2
)
RENEWED = script(
    *(EXPLICIT, FIVE, Do.POLL, (Do.RENEW, 3), Do.COMMIT, (Do.ACCEPT, 2)),
    *(Do.COMMIT, Do.POLL_ONCE, Do.ACCEPT, Do.POLL_ONCE, Do.ACCEPT, Do.COMMIT, Do.DRAIN),
)
NOT_RENEWED = script(
    *(EXPLICIT, FIVE, Do.POLL, Do.REFUSE_RENEWALS, (Do.RENEW, 2), Do.COMMIT, Do.ACCEPT, Do.COMMIT)
)
RENEWED_LATE = script(
    EXPLICIT, FIVE, Do.POLL, (Do.RENEW, 2), Do.ACCEPT, Do.LAPSE, Do.COMMIT, Do.DRAIN
)
RENEWED_CUT = script(
    *(EXPLICIT, FIVE, Do.POLL, (Do.RENEW, 2), Do.CUT_ACKNOWLEDGED, Do.COMMIT, Do.ACCEPT, Do.COMMIT)
)
THROTTLED = script(
    *(IMPLICIT, FIVE, Do.THROTTLE, Do.PIECES, Do.POLL, *(Do.POLL_ONCE,) * 6, Do.SLOW_HEARTBEAT),
    *(Do.EXPEL, FIVE, Do.POLL),
)
REBALANCED = script(
    *(EXPLICIT, FIVE, FIVE, Do.POLL, Do.SECOND_MEMBER, Do.ACCEPT, *(Do.POLL_ONCE,) * 6),
    *(Do.SECOND_LEAVES, FIVE, FIVE, Do.POLL, Do.DRAIN),
    partitions=2,
)
COMMITTED = script(
    *(IMPLICIT, (Do.PRODUCE_COMMITTED, 3), (Do.PRODUCE_ABORTED, 2), FIVE, Do.POLL, Do.DRAIN)
)
ONLY_COMMITTED = script(
    *(IMPLICIT, Do.READ_COMMITTED, (Do.PRODUCE_ABORTED, 2), (Do.PRODUCE_COMMITTED, 3)),
    *((Do.PRODUCE_ABORTED, 1), FIVE, Do.POLL, Do.DRAIN),
)
SPREAD = script(
    *(EXPLICIT, FIVE, FIVE, Do.POLL, (Do.ACCEPT, 5), (Do.RENEW, 0), (Do.ANSWER_LAST, 1), Do.COMMIT),
    *(Do.DRAIN, FIVE, FIVE, Do.POLL, (Do.RENEW, 5), (Do.ACCEPT, 5), (Do.ANSWER_LAST, 2), Do.COMMIT),
    Do.DRAIN,
    partitions=2,
    brokers=2,
)
RESTARTED = script(
    *(EXPLICIT, FIVE, Do.POLL, (Do.RESTART, 1), (Do.IDLE, 200), (Do.ACCEPT, 1), Do.COMMIT),
    *(Do.ACCEPT, Do.POLL_ONCE, Do.DRAIN),
)
MANY = script(Settings(explicit=False, max_poll_records=500), (Do.PRODUCE, 400), Do.POLL, Do.DRAIN)
LIMIT = script(LIMITED, FIVE, Do.POLL, Do.DRAIN)

CONTROLS: tuple[tuple[Fault, Duty, Script], ...] = (
    (Fault.WHOLE_BATCH, Duty.ONLY_ACQUIRED, HOLES),
    (Fault.TWICE, Duty.ONCE, TWO_POLLS),
    (Fault.COUNTS_ONE, Duty.AS_ACQUIRED, RELEASED),
    (Fault.WRONG_VALUE, Duty.AS_ACQUIRED, AT_ONCE),
    (Fault.BACKWARDS, Duty.IN_ORDER, AT_ONCE),
    (Fault.DROPS, Duty.NONE_DROPPED, TWO_POLLS),
    (Fault.CUTS_VALUES, Duty.AS_ACQUIRED, AT_ONCE),
    (Fault.DROPS_FAR, Duty.IMPLICIT, MANY),
    (Fault.LOSES_SOME, Duty.IMPLICIT, MANY),
    (Fault.ASKS_MORE, Duty.AT_MOST, AT_ONCE),
    (Fault.RETURNS_MORE, Duty.AT_MOST, LIMIT),
    (Fault.ALWAYS_ACCEPTS, Duty.AS_SAID, REJECTED),
    (Fault.UNSAID, Duty.NOTHING_UNSAID, PART),
    (Fault.EAGER, Duty.IMPLICIT, AT_ONCE),
    (Fault.ACCEPTS_AT_CLOSE, Duty.IMPLICIT, AT_ONCE),
    (Fault.REJECTS, Duty.IMPLICIT, TWO_POLLS),
    (Fault.REPEATS, Duty.HELD, TWO_POLLS),
    (Fault.BEYOND, Duty.HELD, HOLES),
    (Fault.FORGETS, Duty.ALL_SENT, REJECTED),
    (Fault.FORGETS_AT_CLOSE, Duty.ALL_SENT, PENDING),
    (Fault.TELLS_SUCCESS, Duty.REFUSAL_TOLD, LAPSED),
    (Fault.TELLS_SUCCESS, Duty.REFUSAL_TOLD, LAPSED_POLL),
    (Fault.CUT_IS_SUCCESS, Duty.REFUSAL_TOLD, CUT),
    (Fault.SILENT, Duty.REFUSAL_KNOWN, LAPSED_POLL),
    (Fault.POLLS_ON, Duty.UNFINISHED_POLL, PART),
    (Fault.EPOCH_STAYS, Duty.EPOCHS, TWO_POLLS),
    (Fault.REOPENS, Duty.EPOCHS, TWO_POLLS),
    (Fault.OPENS_WITH_ACKNOWLEDGEMENTS, Duty.EPOCHS, EVICTED),
    (Fault.HANGS_UP, Duty.CLOSES, AT_ONCE),
    (Fault.STAYS, Duty.LEAVES, AT_ONCE),
    (Fault.NEW_MEMBER_ID, Duty.MEMBER_ID, EXPELLED),
    (Fault.NEW_MEMBER_ID, Duty.MEMBER_ID, FENCED),
    (Fault.OTHER_FETCHER, Duty.MEMBER_ID, AT_ONCE),
    (Fault.STAYS_AT_ZERO, Duty.MEMBER_EPOCH, FENCED),
    (Fault.NEVER_REJOINS, Duty.REJOINS, EXPELLED),
    (Fault.NEVER_REJOINS, Duty.REJOINS, FENCED),
    (Fault.OLD_EPOCH, Duty.REJOINS, EXPELLED),
    (Fault.OLD_EPOCH, Duty.REJOINS, FENCED),
    (Fault.BUSY, Duty.NOT_BUSY, EMPTY),
    (Fault.SILENT_ABOUT_GAPS, Duty.GAPS, COMPACTED),
    (Fault.ACCEPTS_GAPS, Duty.GAPS, COMPACTED),
    (Fault.STAYS_WITH_LEADER, Duty.FOLLOWS, MOVED),
    (Fault.STAYS_WITH_LEADER, Duty.FOLLOWS, UNNAMED),
    (Fault.TO_NEW_LEADER, Duty.OWN_LEADER, MOVED_APART),
    (Fault.STAYS_WITH_COORDINATOR, Duty.COORDINATOR, RECOORDINATED),
    (Fault.KEEPS_ASSIGNMENT, Duty.ASSIGNED, REBALANCED),
    (Fault.DROPS_REVOKED, Duty.ALL_SENT, REBALANCED),
    (Fault.DELIVERS_CONTROL, Duty.NO_CONTROL, COMMITTED),
    (Fault.DELIVERS_CONTROL, Duty.NO_CONTROL, ONLY_COMMITTED),
    (Fault.SILENT_ABOUT_GAPS, Duty.GAPS, COMMITTED),
    (Fault.ACCEPTS_GAPS, Duty.GAPS, ONLY_COMMITTED),
    (Fault.RENEWS_NOTHING, Duty.ALL_SENT, RENEWED),
    (Fault.RENEWAL_ENDS, Duty.RENEWED, RENEWED),
    (Fault.TELLS_SUCCESS, Duty.REFUSAL_TOLD, NOT_RENEWED),
    (Fault.CUT_IS_SUCCESS, Duty.REFUSAL_TOLD, RENEWED_CUT),
    (Fault.TELLS_SUCCESS, Duty.REFUSAL_TOLD, RENEWED_LATE),
    (Fault.HASTY, Duty.THROTTLED, THROTTLED),
    (Fault.FREEZES, Duty.RECEIVES, SPREAD),
    (Fault.GIVES_UP, Duty.RECEIVES, EVICTED_DRAINED),
    (Fault.OPENS_WITH_ACKNOWLEDGEMENTS, Duty.EPOCHS, RESTARTED),
)
