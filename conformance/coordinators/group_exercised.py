"""What a group coordinator exercised, by name: its answers and what became of the group.

Each name follows from what the judge knows of the group before and after an answer.
"""

from collections.abc import Iterator

import attrs

from conformance.coordinators.group_belief import SETTLED, GroupBelief
from conformance.coordinators.group_judge import Request
from conformance.coordinators.group_reply import GroupReply
from conformance.exercised import answer_name, changed

_NOISE = ("now_ms", "group", "beats", "seen", "changed")
"""What of a belief changes with nearly every request."""


def exercised(
    before: GroupBelief, request: Request, reply: GroupReply, after: GroupBelief
) -> Iterator[str]:
    """Yield what a request exercised that was answered legally."""
    name = str(request["op"])
    yield answer_name(name, reply.result.status)
    yield from {answer_name(f"a call in {name}", call.status) for call in reply.calls}
    same = {field: getattr(after, field) for field in _NOISE}
    yield from changed(attrs.evolve(before, **same), after, "the group", name)
    members = after.members if name == "heartbeat" else ()
    if members and all(after.beats.get(member, 0) >= SETTLED for member in members):
        yield f"an assignment → due: {name}"
        if len(members) > len(set(after.subscriptions.values())):
            yield f"an assignment of equal members → due: {name}"
