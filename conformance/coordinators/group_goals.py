"""The coverage goals of a search of a group coordinator, in one table."""

from collections.abc import Iterator

import attrs

from conformance.coordinators.group_belief import SETTLED, GroupBelief
from conformance.coordinators.group_judge import Request
from conformance.coordinators.group_reply import GroupReply
from conformance.goals import Goal, Group, Scope, recognised, rule_goals
from model.errors import ErrorCode

_OFFSETS, _INITIALIZES = "offsets", "initializes"
_NONE = ErrorCode.NONE.name


@attrs.frozen
class Moment:
    """A request, its answer, and what was known before and after it."""

    before: GroupBelief
    request: Request
    reply: GroupReply
    after: GroupBelief

    @property
    def op(self) -> str:
        """Return the operation."""
        return str(self.request["op"])

    @property
    def is_served(self) -> bool:
        """Return whether it was answered without an error."""
        return self.reply.result.status == _NONE


def _settled(moment: Moment) -> bool:
    beats = moment.after.beats
    members = moment.after.members
    return bool(members) and all(beats.get(name, 0) >= SETTLED for name in members)


_ANSWERS = {
    ("heartbeat", ""): (
        *("NONE", "UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"),
        *("GROUP_ID_NOT_FOUND", "GROUP_MAX_SIZE_REACHED"),
    ),
    ("alter_offsets", _OFFSETS): ("NONE", "NON_EMPTY_GROUP"),
    ("delete_offsets", _OFFSETS): ("NONE", "NON_EMPTY_GROUP", "GROUP_ID_NOT_FOUND"),
    ("delete_group", ""): ("NONE", "NON_EMPTY_GROUP", "GROUP_ID_NOT_FOUND"),
    ("describe_offsets", _OFFSETS): ("NONE",),
}

_MOMENT: Scope[Moment] = Scope(lambda moment: (moment,))

SITUATIONS = (
    _MOMENT("a member joins", lambda m: len(m.after.members) > len(m.before.members)),
    _MOMENT(
        "a member joins again with its own topics",
        lambda m: (
            m.op == "heartbeat"
            and m.request["epoch"] == 0
            and m.before.subscriptions == m.after.subscriptions
            and m.is_served
        ),
    ),
    _MOMENT(
        "a member changes its topics",
        lambda m: (
            set(m.before.members) == set(m.after.members)
            and m.before.subscriptions != m.after.subscriptions
        ),
    ),
    _MOMENT(
        "a member leaves",
        lambda m: m.op == "heartbeat" and len(m.after.members) < len(m.before.members),
    ),
    _MOMENT(
        "a session ends",
        lambda m: m.op == "advance_time" and m.after.members != m.before.members,
    ),
    _MOMENT(
        "time passes and a session does not end",
        lambda m: m.op == "advance_time" and bool(m.after.members),
    ),
    _MOMENT(
        "partitions are added to a topic of the group",
        lambda m: (
            m.op == "add_partitions" and m.before.names[m.request["topic"]] in m.before.widths
        ),
    ),
    _MOMENT(
        "added share-partitions are initialized",
        lambda m: any(c.partition >= m.before.widths.get(c.topic, 1 << 31) for c in m.reply.calls),
        _INITIALIZES,
    ),
    _MOMENT(
        "a topic of the group is deleted",
        lambda m: m.op == "delete_topic" and m.before.metadata != m.after.metadata,
    ),
    _MOMENT(
        "the group epoch rises with no change of members",
        lambda m: (
            m.after.epoch > m.before.epoch and m.before.subscriptions == m.after.subscriptions
        ),
    ),
    _MOMENT("share-partitions are initialized", lambda m: bool(m.reply.calls), _INITIALIZES),
    _MOMENT(
        "an initialization fails",
        lambda m: (
            m.op == "heartbeat" and any(c.status not in (_NONE, "PENDING") for c in m.reply.calls)
        ),
        _INITIALIZES,
    ),
    _MOMENT(
        "an initialization is tried again",
        lambda m: any(c.key in m.before.begun for c in m.reply.calls) and m.op == "heartbeat",
        _INITIALIZES,
    ),
    _MOMENT("a late answer comes", lambda m: m.op == "answer", _INITIALIZES),
    _MOMENT("every member has sent two heartbeats since a change", _settled),
    _MOMENT(
        "two members have the same topics and have sent two heartbeats",
        lambda m: _settled(m) and len(m.after.members) > len(set(m.after.subscriptions.values())),
    ),
    _MOMENT(
        "a group with durable state is deleted",
        lambda m: m.op == "delete_group" and m.is_served and bool(m.before.states),
    ),
    _MOMENT(
        "offsets of a group are deleted",
        lambda m: m.op == "delete_offsets" and m.before.states != m.after.states,
        _OFFSETS,
    ),
    _MOMENT(
        "offsets that are altered are described",
        lambda m: any(start > 0 for _topic, _part, start in m.reply.result.offsets),
        _OFFSETS,
    ),
    _MOMENT(
        "another instance takes over a group", lambda m: m.op == "fail_over" and m.after.exists
    ),
)

_BASE = (
    *(
        Goal(Group.ANSWER, f"{op} is answered {status}", (need,) if need else ())
        for (op, need), statuses in _ANSWERS.items()
        for status in statuses
    ),
    *SITUATIONS,
)
GOALS = (*_BASE, *rule_goals(_BASE, "group"))

_recognised = recognised(SITUATIONS)


def situations(
    before: GroupBelief, request: Request, reply: GroupReply, after: GroupBelief
) -> Iterator[str]:
    """Yield the names of the goals that an answer covers."""
    yield f"{request['op']} is answered {reply.result.status}"
    yield from _recognised(Moment(before, request, reply, after))
