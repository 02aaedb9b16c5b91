"""Writes on their way between leader and share coordinator, and their fates.

A write whose answer the leader awaits stands in the leader's own state. Kept here are those which
are late: answered with an error as far as the leader knows, and perhaps still to arrive. A write
may arrive at any time while it is awaited or late, or never, so lost answers, timeouts, retries
and reordering are covered. Once the durable state covers a late write it is forgotten: to merge it
again, then or later, changes nothing (checked for each merge in ``proofs.exploration.durables``).
"""

from enum import IntEnum

from proofs.exploration.intern import Interned
from proofs.exploration.normal import Content

DISABLED = -1
"""No such transition in this state."""


class NetworkAct(IntEnum):
    """What happens to a write.

    ``MERGE``: it arrives, and is answered with success or not yet. ``DELAY``: it is answered with
    an error and may still arrive. ``LATE``: the late write in this slot arrives. One that never
    does is as if it had been lost at once. ``RESET``: an administrator alters the start offset,
    which fences all late writes.
    """

    MERGE = 0
    DELAY = 1
    LATE = 2
    RESET = 3


Action = tuple[NetworkAct, Content | int]
"""An act and the write; for LATE the slot, for RESET the start offset in its place."""


class Network:
    """Numbers for the writes that are late, for what happens to writes, and for what is merged."""

    def __init__(self, most: int) -> None:
        """Start with room for this many late writes."""
        self.most = most
        self.states: Interned[tuple[Content, ...]] = Interned([()])
        self.events: Interned[tuple[Action, ...]] = Interned()
        self.merges: Interned[tuple[Action, ...]] = Interned([()])

    def step(self, event: int, state: int) -> tuple[int, int]:
        """Return the writes that are late after an event, and what the coordinator merges in it.

        DISABLED in the first place if the event cannot happen.
        """
        late = list(self.states[state])
        merged: list[Action] = []
        for act, what in self.events[event]:
            if act is NetworkAct.RESET:
                merged.append((act, what))
                late = []
            elif not isinstance(what, int):
                if act is NetworkAct.MERGE:
                    merged.append((act, what))
                elif what not in late:
                    late.append(what)
            elif what >= len(late):
                return DISABLED, 0
            else:
                merged.append((NetworkAct.MERGE, late[what]))
        if len(late) > self.most:
            return DISABLED, 0
        return self.states.number(tuple(sorted(late))), self.merges.number(tuple(merged))

    def without(self, state: int, covered: list[bool]) -> int:
        """Return the number of the late writes that the durable state does not cover."""
        pairs = zip(self.states[state], covered, strict=True)
        return self.states.number(tuple(what for what, gone in pairs if not gone))
