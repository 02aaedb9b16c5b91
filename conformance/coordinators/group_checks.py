"""What every check of an answer of a group coordinator needs."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import attrs

from conformance.coordinators.group_belief import (
    BrokenRuleError,
    GroupBelief,
    begun_now,
    initialized_now,
    subscribed,
    world,
)
from conformance.coordinators.group_causes import failed_now, parted_now, start_cause
from conformance.coordinators.group_reply import GroupReply, StateCall
from model.errors import ErrorCode
from spec.group_lifecycle import GroupPlan
from spec.share_group import CallInitialize, perform

Request = Mapping[str, Any]
NONE, PENDING = ErrorCode.NONE.name, ErrorCode.PENDING.name


def require(holds: object, rule: str, recorded: object, expected: object, kind: str = "") -> None:
    """Raise BrokenRuleError unless a rule holds."""
    if not holds:
        raise BrokenRuleError(rule, str(recorded), str(expected), kind)


def noted(  # noqa: PLR0913, PLR0917 - as of ``require``
    belief: GroupBelief, holds: object, rule: str, recorded: object, expected: object, kind: str
) -> GroupBelief:
    """Take up whether a rule holds after whose breach the judge can follow: it ends no sequence."""
    if holds:
        return belief
    error = BrokenRuleError(rule, str(recorded), str(expected), kind)
    return attrs.evolve(belief, noted=(*belief.noted, error))


def raised(belief: GroupBelief, reply: GroupReply, *, must: bool, may: bool = False) -> GroupBelief:
    """Take up the group epoch: higher if it must be, the same unless it may be higher."""
    epoch, known = (reply.group.epoch if reply.group else -1), belief.epoch
    require(epoch > known or not must, "GROUP_EPOCH_RISES", f"epoch {epoch}", f"above {known}")
    holds = epoch == known or (epoch > known and (must or may))
    require(holds, "GROUP_EPOCH_STAYS", f"epoch {epoch}", f"epoch {known}")
    seen = subscribed(belief) if epoch > known else belief.seen
    return attrs.evolve(belief, epoch=epoch, seen=seen)


def offset_is(belief: GroupBelief, call: StateCall, offsets: Collection[int]) -> GroupBelief:
    """Check the start offset of an initialization."""
    expected = any_text(f"start offset {offset}" for offset in offsets)
    kind = start_cause(belief, call, offsets)
    holds = call.start_offset in offsets
    return noted(belief, holds, "FIRST_OFFSET", call_text(call), expected, kind)


def served(belief: GroupBelief, reply: GroupReply) -> GroupBelief:
    """Take up what share coordinators did for the calls of a request that initialize."""
    for call in reply.calls:
        expected = f"state epoch {belief.epoch}"
        require(call.state_epoch == belief.epoch, "STATE_EPOCH", call_text(call), expected)
        before, belief = belief, begun_now(belief, call.key, call.start_offset)
        if call.status not in (NONE, PENDING):
            belief = failed_now(before, belief, call.key)
            continue
        effect = CallInitialize(call.key, call.start_offset, call.state_epoch)
        error, after = perform(world(belief), effect)
        was = belief.states.get(call.key)
        wrong = belief.noted or call.key in before.unclear
        if wrong and was and was.state_epoch == call.state_epoch:
            # Either start offset may hold: within a state epoch there is none that is altered.
            belief = attrs.evolve(belief, unclear=belief.unclear | {call.key})
        else:
            require(error is ErrorCode.NONE, "STATE_EPOCH", call_text(call), f"not {error.name}")
        belief = attrs.evolve(belief, states=after.states)
        if call.status == NONE:
            belief = initialized_now(belief, frozenset({call.key}))
        else:
            keys = belief.waiting.get(call.id, frozenset())
            belief = attrs.evolve(belief, waiting=belief.waiting.set(call.id, keys | {call.key}))
    begun = {call.key for call in reply.calls}
    return (
        parted_now(belief, begun | belief.held | belief.metadata.initializing) if begun else belief
    )


def is_refused(plan: GroupPlan, reply: GroupReply) -> bool:
    """Return whether a plan has an error; check the answer by it, unless a call failed."""
    refused = plan.error is not ErrorCode.NONE
    if refused or all(call.status == NONE for call in reply.calls):
        is_answered(reply, plan.error)
    return refused


def is_answered(reply: GroupReply, error: ErrorCode) -> None:
    """Check the status of an answer."""
    status = reply.result.status
    require(status == error.name, "REQUEST_ANSWER", status, error.name)


def refused(belief: GroupBelief, reply: GroupReply) -> GroupBelief:
    """Check that a request that is refused called no share coordinator."""
    no_calls(reply)
    return belief


def no_calls(reply: GroupReply) -> None:
    """Check that a request called no share coordinator."""
    calls = ", ".join(map(call_text, reply.calls))
    require(not reply.calls, "NEW_IS_INITIALIZED", calls, "no call of a share coordinator")


def keys_text(keys: Iterable[Any]) -> str:
    """Return share-partitions in words."""
    return ", ".join(f"{key.topic_id}:{key.partition}" for key in sorted(keys)) or "none"


def call_text(call: StateCall) -> str:
    """Return a call of a share coordinator in words."""
    at = f" at {call.start_offset}, state epoch {call.state_epoch}"
    rest = at if call.call == "initialize" else ""
    return f"{call.call} {call.topic}:{call.partition}{rest} ({call.status})"


def any_text(texts: Iterable[str]) -> str:
    """Return alternatives in words."""
    return " or ".join(sorted(texts))
