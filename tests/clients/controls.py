"""Each fault of the double, a script that shows it, and the duty that it violates."""

import re

from clients.duties import Duty
from clients.events import Settings
from clients.scripts import Do, Script, Step
from tests.doubles.share_faults import Fault

_STEP = re.compile(r"(?:(\d+) )?([a-z-]+)(?: (\d+))?(?:, |$)")


def script(text: str) -> Script:
    """Return a script of steps such as ``poll``, ``produce 5`` and, of six polls, ``6 poll``.

    Before a colon is what is not as usual: ``explicit``, ``limited``, ``2 records`` in a poll at
    most, ``2 partitions``, ``2 brokers``.
    """
    head, _, body = text.rpartition(": ")
    flags = head.split(", ")
    counts = {name: int(count) for count, name in re.findall(r"(\d+) (\w+)", head)}
    assert not _STEP.sub("", body), text
    steps: list[Step] = []
    for times, name, number in _STEP.findall(body):
        steps += [(Do(name), int(number or 0))] * int(times or 1)
    settings = Settings("explicit" in flags, "limited" in flags, counts.get("records", 500))
    return Script(settings, counts.get("partitions", 1), tuple(steps), counts.get("brokers", 1))


HOLES = script("produce 5, holes, poll, drain")
TWO_POLLS = script("produce 5, poll, produce 5, poll, drain")
RELEASED = script("explicit: produce 5, poll, release, commit, poll, accept, commit")
REJECTED = script("explicit: produce 5, poll, reject 2, accept, commit, drain")
LAPSED = script("explicit: produce 5, poll, accept, lapse, commit")
LAPSED_POLL = script("explicit: produce 5, poll, accept, lapse, poll-once")
CUT = script("explicit: produce 5, poll, accept, cut-acknowledged, commit")
PART = script("explicit: produce 5, poll, accept 2, commit, poll-once")
AT_ONCE = script("produce 5, poll")
BRIEFLY = script("explicit: produce 5, poll, accept, commit-briefly, drain")
PENDING = script("explicit: produce 5, poll, accept")
EVICTED = script("explicit: produce 5, poll, accept 2, evict, commit, accept, poll-once")
EVICTED_DRAINED = script("explicit: produce 5, poll, evict, accept, commit, drain")
EMPTY = script("poll-once")
EXPELLED = script("explicit: produce 5, poll, accept, expel, commit, produce 5, poll, drain")
FENCED = script("produce 5, poll, fence, produce 5, poll, drain")
COMPACTED = script("produce-compacted 8, poll, drain")
MOVED = script("explicit, 2 brokers: produce 5, poll, accept, move-leader, poll, accept, drain")
UNNAMED = script(
    "2 partitions, 3 brokers: produce 5, poll, move-leader-unnamed, produce 5, produce 5, poll, "
    "drain"
)
MOVED_APART = script(
    "explicit, 2 partitions, 2 brokers: produce 5, produce 5, poll, accept 2, move-leader, "
    "commit, accept, commit, poll, accept, move-leader, produce 5, commit, drain"
)
RECOORDINATED = script("2 brokers: produce 5, poll, move-coordinator, produce 5, poll, drain")
RENEWED = script(
    "explicit: produce 5, poll, renew 3, commit, accept 2, commit, poll-once, accept, "
    "poll-once, accept, commit, drain"
)
RENEWED_BY_POLL = script("explicit: produce 5, poll, renew, poll-once, accept, commit, drain")
NOT_RENEWED = script("explicit: produce 5, poll, refuse-renewals, renew 2, commit, accept, commit")
RENEWED_LATE = script("explicit: produce 5, poll, renew 2, accept, lapse, commit, drain")
RENEWED_CUT = script("explicit: produce 5, poll, renew 2, cut-acknowledged, commit, accept, commit")
THROTTLED = script(
    "produce 5, throttle, pieces, poll, 6 poll-once, slow-heartbeat, expel, produce 5, poll"
)
REBALANCED = script(
    "explicit, 2 partitions: produce 5, produce 5, poll, second-member, accept, 6 poll-once, "
    "second-leaves, produce 5, produce 5, poll, drain"
)
COMMITTED = script("produce-committed 3, produce-aborted 2, produce 5, poll, drain")
ONLY_COMMITTED = script(
    "read-committed, produce-aborted 2, produce-committed 3, produce-aborted 1, produce 5, "
    "poll, drain"
)
SPREAD = script(
    "explicit, 2 partitions, 2 brokers: produce 5, produce 5, poll, accept 5, renew, "
    "answer-last 1, commit, drain, produce 5, produce 5, poll, renew 5, accept 5, "
    "answer-last 2, commit, drain"
)
RESTARTED = script(
    "explicit: produce 5, poll, restart 1, idle 200, accept 1, commit, accept, poll-once, drain"
)
HUNG_UP = script(
    "explicit: produce 5, poll, accept 2, commit, hang-up, accept 1, commit, accept, poll-once, "
    "accept, drain"
)
HUNG_UP_LAST = script("produce 5, poll, hang-up")
EMPTIED = script("produce-empty 3, produce 5, poll, drain")
ONLY_GAPS = script("poll-once, produce-empty 3, poll-once, produce 5, poll, drain")
SPOILT = script("explicit: produce 5, produce-corrupt 2, produce 5, poll, accept, drain")
REFUSED = script("explicit: produce 5, produce-unreadable 2, produce 5, poll, accept, drain")
LEFT_LATE = script("2 brokers: produce 5, poll, at-once, move-coordinator")
FIVE_BROKERS = script("5 partitions, 5 brokers: 5 produce 5, poll, drain")
ADDED = script("produce 5, poll, add-partition, produce 5, produce 5, poll, drain")
ADDED_LATE = script("produce 5, poll, add-partition-late, produce 5, poll, drain")
LOADING = script("produce 5, poll, loading, unavailable, drain")
CREATED_AGAIN = script("produce 5, poll, create-again, produce 5, poll, drain")
CREATED_AT_ONCE = script(
    "explicit: produce 5, poll, accept, at-once, create-again, produce 5, idle 300, poll, drain"
)
RESUBSCRIBED = script(
    "explicit: produce 5, poll, subscribe 2, accept, produce 5, poll, accept, drain, "
    "subscribe 3, produce 5, produce 5, poll, accept, drain"
)
BESIDE = script("explicit, 2 partitions: storage, produce 5, produce 5, poll, accept, drain")
UNAUTHORIZED = script(
    "explicit: subscribe 3, unauthorized, produce 5, produce 5, poll, accept, drain"
)
UNKNOWN = script("2 partitions: poll-once, unknown, produce 5, produce 5, idle 100, poll, drain")
CROWDED = script("explicit: produce 5, poll, accept 2, crowd, commit, accept, drain")
PACED = script("produce 5, poll, at-once, interval 4000, idle 2000, interval 100, poll-once")
MANY = script("produce 400, poll, drain")
LIMIT = script("limited, 2 records: produce 5, poll, drain")

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
    (Fault.FORGETS_LATE, Duty.ALL_SENT, BRIEFLY),
    (Fault.TELLS_SUCCESS, Duty.REFUSAL_TOLD, LAPSED),
    (Fault.TELLS_SUCCESS, Duty.REFUSAL_TOLD, LAPSED_POLL),
    (Fault.CUT_IS_SUCCESS, Duty.REFUSAL_TOLD, CUT),
    (Fault.SILENT, Duty.REFUSAL_KNOWN, LAPSED_POLL),
    (Fault.TELLS_NO_SUCCESS, Duty.SUCCESS_TOLD, RELEASED),
    (Fault.TELLS_TWICE, Duty.SUCCESS_TOLD, TWO_POLLS),
    (Fault.TELLS_LATER, Duty.TOLD_IN_TIME, RELEASED),
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
    (Fault.SILENT_ABOUT_GAPS, Duty.GAPS, ONLY_GAPS),
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
    (Fault.RENEWS_UNSAID, Duty.RENEWED, RENEWED),
    (Fault.RENEWS_AND_FETCHES, Duty.RENEWED, RENEWED_BY_POLL),
    (Fault.TELLS_SUCCESS, Duty.REFUSAL_TOLD, NOT_RENEWED),
    (Fault.CUT_IS_SUCCESS, Duty.REFUSAL_TOLD, RENEWED_CUT),
    (Fault.TELLS_SUCCESS, Duty.REFUSAL_TOLD, RENEWED_LATE),
    (Fault.HASTY, Duty.THROTTLED, THROTTLED),
    (Fault.BEATS_ON, Duty.THROTTLED, THROTTLED),
    (Fault.FREEZES, Duty.RECEIVES, SPREAD),
    (Fault.GIVES_UP, Duty.RECEIVES, EVICTED_DRAINED),
    (Fault.OPENS_WITH_ACKNOWLEDGEMENTS, Duty.EPOCHS, RESTARTED),
    (Fault.OPENS_WITH_ACKNOWLEDGEMENTS, Duty.EPOCHS, HUNG_UP),
    (Fault.GIVES_UP_CUT, Duty.RECEIVES, HUNG_UP),
    (Fault.STAYS, Duty.LEAVES, HUNG_UP_LAST),
    (Fault.STOPS_AT_EMPTY, Duty.RECEIVES, EMPTIED),
    (Fault.ACCEPTS_UNREAD, Duty.NOTHING_UNSAID, SPOILT),
    (Fault.ACCEPTS_UNREAD, Duty.NOTHING_UNSAID, REFUSED),
    (Fault.LEAVES_ONCE, Duty.LEAVES, LEFT_LATE),
    (Fault.FOUR_BROKERS, Duty.RECEIVES, FIVE_BROKERS),
    (Fault.NEVER_LEARNS, Duty.RECEIVES, ADDED),
    (Fault.NEVER_LEARNS, Duty.RECEIVES, ADDED_LATE),
    (Fault.STOPS_WHILE_LOADING, Duty.COORDINATOR, LOADING),
    (Fault.KEEPS_DELETED, Duty.RECEIVES, CREATED_AGAIN),
    (Fault.MIXES_TOPICS, Duty.HELD, CREATED_AT_ONCE),
    (Fault.SUBSCRIBES_ONCE, Duty.RECEIVES, RESUBSCRIBED),
    (Fault.CUTS_OFFSETS, Duty.ONLY_ACQUIRED, RESUBSCRIBED),
    (Fault.DROPS_BESIDE, Duty.NONE_DROPPED, BESIDE),
    (Fault.DROPS_BESIDE, Duty.NONE_DROPPED, UNKNOWN),
    (Fault.DROPS_BESIDE, Duty.NONE_DROPPED, UNAUTHORIZED),
    (Fault.GIVES_UP, Duty.RECEIVES, CROWDED),
    (Fault.KEEPS_INTERVAL, Duty.INTERVAL, PACED),
    (Fault.KEEPS_LONGEST, Duty.INTERVAL, PACED),
    (Fault.NEVER_CLOSES, Duty.RETURNS, AT_ONCE),
)

STARVING = (
    *(Fault.NEVER_REJOINS, Fault.STAYS_WITH_LEADER, Fault.STAYS_WITH_COORDINATOR),
    *(Fault.FREEZES, Fault.GIVES_UP, Fault.GIVES_UP_CUT, Fault.FOUR_BROKERS),
    *(Fault.STOPS_AT_EMPTY, Fault.NEVER_LEARNS, Fault.SUBSCRIBES_ONCE, Fault.DROPS),
    *(Fault.KEEPS_DELETED, Fault.STOPS_WHILE_LOADING, Fault.WHOLE_BATCH),
)
"""Faults by which something never happens that the harness waits for: it is given less time."""
