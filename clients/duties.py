"""The duties of a client: each with the sentence it rests on and what is checked."""

from collections.abc import Mapping
from enum import Enum

import attrs


class Duty(Enum):
    """What a client owes; the value is its name in reports."""

    ONLY_ACQUIRED = "delivers-only-what-was-acquired"
    ONCE = "delivers-once"
    AS_ACQUIRED = "delivers-as-acquired"
    IN_ORDER = "delivers-in-order"
    NONE_DROPPED = "drops-nothing"
    AT_MOST = "takes-at-most-max-poll-records"
    AS_SAID = "acknowledges-as-the-application-says"
    NOTHING_UNSAID = "acknowledges-nothing-unsaid"
    IMPLICIT = "accepts-implicitly-with-the-next-call"
    HELD = "acknowledges-what-it-holds-once"
    GAPS = "reports-gaps"
    ALL_SENT = "sends-every-acknowledgement"
    REFUSAL_TOLD = "tells-no-success-of-a-refusal"
    REFUSAL_KNOWN = "tells-every-refusal"
    UNFINISHED_POLL = "refuses-a-poll-with-records-unacknowledged"
    EPOCHS = "counts-session-epochs"
    CLOSES = "closes-its-session"
    LEAVES = "leaves-the-group"
    MEMBER_ID = "keeps-its-member-id"
    MEMBER_EPOCH = "carries-its-member-epoch"
    REJOINS = "rejoins-the-group"
    NOT_BUSY = "does-not-ask-without-pause"
    FOLLOWS = "follows-the-leader"
    OWN_LEADER = "acknowledges-to-whom-it-fetched-from"
    COORDINATOR = "follows-the-coordinator"
    RENEWED = "keeps-what-it-renewed"
    THROTTLED = "waits-as-it-is-throttled"
    ASSIGNED = "fetches-only-what-is-assigned"
    NO_CONTROL = "delivers-no-control-record"


@attrs.frozen
class Rule:
    """The sentence a duty rests on, word for word, where it stands, and what is checked."""

    sentence: str
    source: str
    check: str


_RECORDS = "KIP-932, In-flight records"
_JAVADOC = "Javadoc of KafkaShareConsumer"
_ERRORS = "Errors of Apache Kafka 4.4.0"
_HEARTBEAT = "ShareGroupHeartbeatRequest of Apache Kafka 4.4.0"
_ACQUIRE = (
    "For each record it finds, it moves it into Acquired state, bumps its delivery count and adds "
    "it to a batch of acquired records to return to the consumer."
)

RULES: Mapping[Duty, Rule] = {
    Duty.ONLY_ACQUIRED: Rule(
        _ACQUIRE,
        _RECORDS,
        "Each record that a poll returns was acquired for the member in an answer sent to it. The "
        "log batch in which it came may hold others, which are not the member's.",
    ),
    Duty.ONCE: Rule(_ACQUIRE, _RECORDS, "No acquisition of a record is returned by two polls."),
    Duty.AS_ACQUIRED: Rule(
        "The delivery count of this batch of acquired records.",
        "KIP-932, ShareFetch response, DeliveryCount",
        "A record is returned with the delivery count of its acquisition and the value that the "
        "log has at its offset.",
    ),
    Duty.IN_ORDER: Rule(
        "The records returned in a batch for particular share-partition are guaranteed to be in "
        "order of increasing offset.",
        "KIP-932, Ordering",
        "Offsets of a share-partition increase within what one poll returns.",
    ),
    Duty.NONE_DROPPED: Rule(
        "This method returns immediately if there are records available.",
        f"{_JAVADOC}, poll",
        "A poll does not return empty-handed while the client has records in hand that it has not "
        "delivered: acquired in an answer after which it has sent its next fetch before that "
        "poll began, and still locked.",
    ),
    Duty.AT_MOST: Rule(
        "the share consumer fetches no more than max.poll.records records at a time and does not "
        "prefetch.",
        f"{_JAVADOC}, share.acquire.mode record_limit",
        "A fetch asks for no more than max.poll.records; with record_limit a poll returns no more.",
    ),
    Duty.AS_SAID: Rule(
        "Acknowledge delivery of a record returned on the last poll(Duration) call indicating "
        "whether it was processed successfully.",
        f"{_JAVADOC}, acknowledge",
        "What is sent of a record has the type that the application gave it.",
    ),
    Duty.NOTHING_UNSAID: Rule(
        "The application must acknowledge all records returned from poll(Duration) using "
        "acknowledge(ConsumerRecord, AcknowledgeType) before its next call to poll(Duration).",
        f"{_JAVADOC}, explicit acknowledgement",
        "In explicit mode nothing is sent of a record before the application acknowledged it; but "
        "one never delivered may be released, and any while the client closes.",
    ),
    Duty.IMPLICIT: Rule(
        "Calling poll(Duration) without committing, which also implicitly acknowledges all the "
        "delivered records and commits the acknowledgements to Kafka asynchronously.",
        f"{_JAVADOC}, implicit acknowledgement",
        "In implicit mode exactly the records of a poll are accepted, by the next poll or commit "
        "and not before it. Closing accepts nothing: “Calling close() which releases any acquired "
        "records without acknowledgement.”",
    ),
    Duty.HELD: Rule(
        "The record state is invalid. The acknowledgement of delivery could not be completed.",
        "KIP-932, Error codes, INVALID_RECORD_STATE",
        "Only a record that was acquired for the member is acknowledged, and once for each "
        "acquisition; again only where the former request was refused as a whole or cut off.",
    ),
    Duty.GAPS: Rule(
        "When a share consumer identifies missing records while processing record batches, it "
        'reports them to the share partition through special "gap" acknowledgements which indicate '
        "records that have been removed by compaction.",
        "KIP-1226",
        "What was acquired and has no record is acknowledged as a gap and as nothing else, at the "
        "latest with a record after it that came in the same answer. As it closes, or before any "
        "record after it was delivered, a client may also release it.",
    ),
    Duty.ALL_SENT: Rule(
        "The acknowledgement is committed on the next commitSync(), commitAsync() or "
        "poll(Duration) call.",
        f"{_JAVADOC}, acknowledge",
        "Once a client has closed without an error, whatever was to be acknowledged was sent, or "
        "the application was told that it failed; closing sends what is pending. Records whose "
        "lock or session ended before are left out.",
    ),
    Duty.REFUSAL_TOLD: Rule(
        "If the acknowledgement failed for a topic-partition, an exception is present.",
        f"{_JAVADOC}, commitSync",
        "Neither the result of a commit nor a callback tells success of acknowledgements that were "
        "refused, whose connection was cut, or that were never sent.",
    ),
    Duty.REFUSAL_KNOWN: Rule(
        "This method will be called when the acknowledgement request sent to the server has been "
        "completed.",
        "Javadoc of AcknowledgementCommitCallback",
        "Once a client with callbacks has closed without an error, the application was told of "
        "each of its acknowledgements that was refused or cut off, by a callback or by a commit.",
    ),
    Duty.UNFINISHED_POLL: Rule(
        "If the application calls poll(Duration) without having acknowledged all records, an "
        "IllegalStateException is thrown.",
        f"{_JAVADOC}, explicit acknowledgement",
        "In explicit mode a poll fails while records of the poll before are unacknowledged.",
    ),
    Duty.EPOCHS: Rule(
        "The current share session epoch: 0 to open a share session; -1 to close it; otherwise "
        "increments for consecutive requests.",
        "KIP-932, ShareFetch request, ShareSessionEpoch",
        "Epochs begin at 0 and increase by one with each request; a session is opened anew only "
        "where the client was told that it is gone, or that its member is, or a connection was "
        "cut; the request that opens it acknowledges nothing.",
    ),
    Duty.CLOSES: Rule(
        "-1 to close it",
        "KIP-932, ShareFetch request, ShareSessionEpoch",
        "A client that closes without an error ends each session that it has with the final epoch; "
        "not one that it gave up, as it was told that it is no member.",
    ),
    Duty.LEAVES: Rule(
        "This method waits up to timeout for the consumer to complete acknowledgements and leave "
        "the group.",
        f"{_JAVADOC}, close",
        "A client that was in the group when it began to close sends a last heartbeat with member "
        "epoch -1, where it closes without an error.",
    ),
    Duty.MEMBER_ID: Rule(
        "The member id generated by the consumer. The member id must be kept during the entire "
        "lifetime of the consumer process.",
        f"{_HEARTBEAT}, MemberId",
        "The first heartbeat has a member id that is not blank, and every later heartbeat, "
        "ShareFetch and ShareAcknowledge has the same.",
    ),
    Duty.MEMBER_EPOCH: Rule(
        "The current member epoch; 0 to join the group; -1 to leave the group.",
        f"{_HEARTBEAT}, MemberEpoch",
        "The first heartbeat has member epoch 0, and each later one that of the answer before, "
        "or -1. Where a connection ended, the answer before may be lost.",
    ),
    Duty.REJOINS: Rule(
        "In this case, the member is expected to immediately gives up all its partitions and "
        "rejoin the group with the same member ID and a member epoch equals to zero.",
        "KIP-848, on whose heartbeats those of KIP-932 are modelled",
        "After UNKNOWN_MEMBER_ID or FENCED_MEMBER_EPOCH the next heartbeat has member epoch 0, "
        "unless the client closes, and comes while the harness waits for it. Whether records that "
        "it held are delivered is left open: it gives up their partitions. The sentence is about "
        "FENCED_MEMBER_EPOCH, whose text is “The member must abandon all its partitions and "
        "rejoin.”; of UNKNOWN_MEMBER_ID it is read here alike.",
    ),
    Duty.NOT_BUSY: Rule(
        "Otherwise, it will await the passed timeout.",
        f"{_JAVADOC}, poll",
        "While one poll waits, at most 50 fetches and 50 more a second are sent that bring "
        "nothing. The number is this project's: no sentence has one.",
    ),
    Duty.FOLLOWS: Rule(
        "For requests intended only for the leader, this error indicates that the broker is not "
        "the current leader.",
        f"{_ERRORS}, NOT_LEADER_OR_FOLLOWER",
        "Once an answer has named another leader of a partition, at most 50 more fetches to that "
        "broker ask for it; and where polls bring nothing for as long as the harness goes on with "
        "them, 10 s, although there are records, the new leader was asked for them. The numbers "
        "are this project's.",
    ),
    Duty.OWN_LEADER: Rule(
        "NotLeaderOrFollowerException if the leader had changed by the time the acknowledgements "
        "were sent",
        "Javadoc of AcknowledgementCommitCallback",
        "What one leader gave is acknowledged to no other: the other knows of no acquisition. So "
        "such an acknowledgement fails, and the application is told.",
    ),
    Duty.RENEWED: Rule(
        "The record is still being processed. Renew the acquisition lock so processing can "
        "continue.",
        "Javadoc of AcknowledgeType.RENEW",
        "A record whose lock was renewed, and still lasts, is either returned by the next poll or "
        "can be acknowledged without that. That a renewal is sent by the next commit belongs to "
        "sends-every-acknowledgement.",
    ),
    Duty.THROTTLED: Rule(
        "When a client receives a response with throttle time X, it should refrain from sending "
        "any further requests for time X.",
        "KIP-219",
        "After the answer to a ShareFetch with a throttle time no request of the share session "
        "comes to that broker for so long, but for what was under way: 50 ms are given to it, "
        "which is this project's number. A client that closes is not judged by this.",
    ),
    Duty.ASSIGNED: Rule(
        "The partitions assigned to the member.",
        "ShareGroupHeartbeatResponse of Apache Kafka 4.4.0, Assignment",
        "Once an answer to a heartbeat has given an assignment, at most 3 more fetches ask for a "
        "partition that is not in it. The number is this project's. What the member holds of such "
        "a partition it may still acknowledge.",
    ),
    Duty.NO_CONTROL: Rule(
        "Control Records — Internal records used by the broker for managing transactions, not "
        "carrying user data.",
        "KIP-1226",
        "No poll returns what marks the end of a transaction. Of its offset, which the member is "
        "given like others, reports-gaps says what is owed.",
    ),
    Duty.COORDINATOR: Rule(
        "This is not the correct coordinator.",
        f"{_ERRORS}, NOT_COORDINATOR",
        "After a heartbeat was answered so, at most 3 more in a row go to a broker that is not "
        "the coordinator, and one reaches the coordinator while the harness waits for it, 10 s. "
        "The numbers are this project's.",
    ),
}
