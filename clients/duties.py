"""The duties of a client; ``model/rules.toml`` has what each rests on and how it is checked."""

from collections.abc import Mapping
from enum import Enum

from model.rules import RULES as ALL_RULES
from model.rules import Rule, RuleKind


class Duty(Enum):
    """What a client owes; the value is its name in reports."""

    ONLY_ACQUIRED = "delivers-only-what-was-acquired"
    ONCE = "delivers-once"
    AS_ACQUIRED = "delivers-as-acquired"
    IN_ORDER = "delivers-in-order"
    NONE_DROPPED = "drops-nothing"
    RECEIVES = "goes-on-to-deliver"
    RETURNS = "returns-from-every-call"
    AT_MOST = "takes-at-most-max-poll-records"
    AS_SAID = "acknowledges-as-the-application-says"
    NOTHING_UNSAID = "acknowledges-nothing-unsaid"
    IMPLICIT = "accepts-implicitly-with-the-next-call"
    HELD = "acknowledges-what-it-holds-once"
    GAPS = "reports-gaps"
    ALL_SENT = "sends-every-acknowledgement"
    REFUSAL_TOLD = "tells-no-success-of-a-refusal"
    REFUSAL_KNOWN = "tells-every-refusal"
    SUCCESS_TOLD = "tells-every-success-once"
    TOLD_IN_TIME = "tells-before-a-commit-returns"
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
    INTERVAL = "heartbeats-at-the-interval"


RULES: Mapping[Duty, Rule] = {duty: ALL_RULES[RuleKind.DUTY][duty.value] for duty in Duty}
"""The rule of each duty: the sentence it rests on, word for word, and what is checked."""
