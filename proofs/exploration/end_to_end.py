"""Properties of a leader and the durable state, checked in every state of a world.

Some sentences that come to mind are not true: a write of which the leader hears that it failed may
have been applied. They are listed with the others and expected to fail; the exploration shows the
shortest run in which each does.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

import attrs
import numpy as np
import numpy.typing as npt

from model.profile import Profile
from proofs.exploration.tables import Ints

Mask = npt.NDArray[np.bool_]


class Seen(Protocol):
    """Many states at once: a column for each fact of leaders and durable states.

    ``part`` gives those of the state itself, such as ``confirmed``.
    """

    def leader(self, name: str) -> Ints:
        """Return a fact of each leader."""

    def durable(self, name: str) -> Ints:
        """Return a fact of each durable state."""

    def part(self, name: str) -> Ints:
        """Return a part of each state."""


@attrs.frozen
class ExploredProperty:
    """A sentence about states, and which states break it; ``number`` as in docs/properties.md.

    ``why_not`` says why it is expected to fail; empty if it should hold. ``mended_by`` names a flag
    of the profiles under which it should hold nevertheless.
    """

    name: str
    sentence: str
    broken: Callable[[Seen], Mask]
    number: int | None = None
    why_not: str = ""
    mended_by: str = ""


def judged_under(
    profile: Profile, properties: Iterable[ExploredProperty]
) -> tuple[ExploredProperty, ...]:
    """Return the properties as they are expected to hold or fail under a profile."""
    return tuple(
        attrs.evolve(p, why_not="") if p.mended_by and getattr(profile, p.mended_by) else p
        for p in properties
    )


def _differs(seen: Seen, name: str) -> Mask:
    """Whether the durable state differs from a fact of the leader, where that has a value."""
    differs: Mask = (seen.durable("code") & seen.leader(f"{name}_mask")) != seen.leader(name)
    return differs


def _is_still(seen: Seen) -> Mask:
    """Whether no answer is awaited and no write is on its way."""
    still: Mask = (seen.leader("quiet") == 1) & (seen.part("network") == 0)
    return still


def _lag_too_low(seen: Seen) -> Mask:
    """Whether the reported lag is lower than what a new leader has to deliver."""
    start, lag = seen.durable("start"), seen.leader("log_end") - seen.durable("reported")
    deliverable = seen.leader("present") & ~seen.durable("terminal")
    too_low: Mask = (start >= 0) & (lag < np.bitwise_count(deliverable))
    return too_low


def _lag_is_not_resumed(seen: Seen) -> Mask:
    """Whether the reported lag is another than that of a leader that has just read the state."""
    differs: Mask = (seen.durable("start") >= 0) & (
        seen.durable("reported") != seen.durable("resumed")
    )
    return differs


_FAILED_BUT_APPLIED = "A write that is answered with an error, or not at all, may have been applied"

PROPERTIES = (
    ExploredProperty(
        "durable_start_never_ahead",
        "The durable start offset is never ahead of the leader's.",
        lambda seen: seen.durable("start") > seen.leader("start"),
        6,
    ),
    ExploredProperty(
        "what_is_confirmed_is_durable",
        "What a write answered with success says is terminal, a new leader finds terminal.",
        lambda seen: (seen.part("confirmed") & ~seen.durable("terminal")) != 0,
        31,
    ),
    ExploredProperty(
        "what_is_confirmed_is_not_delivered",
        "What was accepted or rejected with an answer is never delivered again.",
        lambda seen: (seen.part("confirmed") & seen.leader("held")) != 0,
        31,
    ),
    ExploredProperty(
        "answered_writes_recover_the_leader",
        "If every write was answered with success, in whatever order and however often each "
        "arrived, a new leader finds each record as the leader has it, acquisitions aside.",
        lambda seen: _is_still(seen) & (seen.part("failed") == 0) & _differs(seen, "committed"),
        29,
    ),
    ExploredProperty(
        "lag_not_too_low_unless_a_write_failed",
        "If every write was answered with success, the lag reported from the durable state counts "
        "each record that a new leader has to deliver.",
        lambda seen: _is_still(seen) & (seen.part("failed") == 0) & _lag_too_low(seen),
        29,
    ),
    ExploredProperty(
        "available_is_not_durably_terminal",
        "A record that the leader has AVAILABLE again is not found terminal by a new leader.",
        lambda seen: _is_still(seen) & _differs(seen, "available"),
        29,
        f"{_FAILED_BUT_APPLIED}: an accept did, and the release that followed cannot undo it.",
    ),
    ExploredProperty(
        "acknowledged_is_found_acknowledged",
        "A record that the leader has ACKNOWLEDGED is found ACKNOWLEDGED by a new leader.",
        lambda seen: _is_still(seen) & _differs(seen, "acknowledged"),
        29,
        f"{_FAILED_BUT_APPLIED}: a reject did, and of two states of one delivery count ARCHIVED "
        "is the larger. It is not delivered again.",
    ),
    ExploredProperty(
        "lag_never_too_low",
        "The lag reported from the durable state counts each record that a new leader has to "
        "deliver.",
        lambda seen: _is_still(seen) & _lag_too_low(seen),
        29,
        "A delivery complete count is written that includes a record whose own write fails, such "
        "as that of a lock which expired; at one start offset the larger count stays.",
        "coordinator_counts_complete",
    ),
    ExploredProperty(
        "reported_lag_is_resumed",
        "The lag reported from the durable state is that of a leader which reads that state.",
        _lag_is_not_resumed,
        50,
        "The count of a write includes records whose own write is outstanding, or fails, or was "
        "not made.",
        "coordinator_counts_complete",
    ),
    ExploredProperty(
        "delivery_count_survives_failover",
        "A new leader finds the delivery count that a record was last delivered with.",
        lambda seen: _differs(seen, "delivered"),
        None,
        "An acquisition is not written, so the next leader delivers with the same count again; "
        "the limit bounds the deliveries of one leader's tenure.",
    ),
)
