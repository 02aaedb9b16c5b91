"""Properties of a leader and the durable state, checked in every state of a world.

Some sentences that come to mind are not true: a write of which the leader hears that it failed may
have been applied. They are listed with the others and expected to fail; the exploration shows the
shortest run in which each does.
"""

from collections.abc import Callable, Iterable

import attrs

from model.profile import Profile
from proofs.exploration.explorer import WorldState
from proofs.exploration.leaders import Found


@attrs.frozen
class ExploredProperty:
    """A sentence about states, and whether one breaks it; ``number`` as in docs/properties.md.

    ``why_not`` says why it is expected to fail; empty if it should hold. ``mended_by`` names a flag
    of the profiles under which it should hold nevertheless.
    """

    name: str
    sentence: str
    broken: Callable[[WorldState], bool]
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


@attrs.define
class PropertyWatch:
    """Looks at each state; ``expected`` has the first that breaks what is expected to fail."""

    properties: tuple[ExploredProperty, ...]
    expected: dict[str, WorldState] = attrs.Factory(dict)

    def check(self, state: WorldState) -> str | None:
        """Return what is wrong with a state or with the step to it: a sentence."""
        if wrong := state.wrong or state.leader.wrong:
            return wrong
        for known in self.properties:
            if known.name not in self.expected and known.broken(state):
                if not known.why_not:
                    return known.sentence
                self.expected[known.name] = state
        return None


def _differs(seen: WorldState, records: dict[int, Found]) -> bool:
    """Whether a new leader finds one of these records otherwise."""
    found = seen.network.durable.found
    return any(found[offset] != expected for offset, expected in records.items())


def _is_not_recovered(seen: WorldState) -> bool:
    """Whether a new leader finds other records than the leader has committed."""
    facts = seen.leader.facts
    return not facts.passed <= seen.network.durable.terminal or _differs(seen, facts.committed)


def _lag_too_low(seen: WorldState) -> bool:
    """Whether the reported lag is lower than what a new leader has to deliver."""
    facts, durable = seen.leader.facts, seen.network.durable
    deliverable = len(facts.present - durable.terminal)
    return durable.start >= 0 and facts.log.end_offset - durable.reported < deliverable


def _lag_is_not_resumed(seen: WorldState) -> bool:
    """Whether the reported lag is another than that of a leader that has just read the state."""
    durable = seen.network.durable
    return durable.start >= 0 and durable.reported != durable.resumed


_FAILED_BUT_APPLIED = "A write that is answered with an error, or not at all, may have been applied"

PROPERTIES = (
    ExploredProperty(
        "durable_start_never_ahead",
        "The durable start offset is never ahead of the leader's.",
        lambda seen: seen.network.durable.start > seen.leader.facts.start,
        6,
    ),
    ExploredProperty(
        "what_is_confirmed_is_durable",
        "What a write answered with success says is terminal, a new leader finds terminal.",
        lambda seen: not seen.network.confirmed <= seen.network.durable.terminal,
        31,
    ),
    ExploredProperty(
        "what_is_confirmed_is_not_delivered",
        "What was accepted or rejected with an answer is never delivered again.",
        lambda seen: not seen.network.confirmed.isdisjoint(seen.leader.facts.held),
        31,
    ),
    ExploredProperty(
        "answered_writes_recover_the_leader",
        "If every write was answered with success, in whatever order and however often each "
        "arrived, a new leader finds each record as the leader has it, acquisitions aside.",
        lambda seen: seen.is_still and not seen.network.failed and _is_not_recovered(seen),
        29,
    ),
    ExploredProperty(
        "lag_not_too_low_unless_a_write_failed",
        "If every write was answered with success, the lag reported from the durable state counts "
        "each record that a new leader has to deliver.",
        lambda seen: seen.is_still and not seen.network.failed and _lag_too_low(seen),
        29,
    ),
    ExploredProperty(
        "available_is_not_durably_terminal",
        "A record that the leader has AVAILABLE again is not found terminal by a new leader.",
        lambda seen: (
            seen.is_still
            and not seen.leader.facts.available.isdisjoint(seen.network.durable.terminal)
        ),
        29,
        f"{_FAILED_BUT_APPLIED}: an accept did, and the release that followed cannot undo it.",
    ),
    ExploredProperty(
        "acknowledged_is_found_acknowledged",
        "A record that the leader has ACKNOWLEDGED is found ACKNOWLEDGED by a new leader.",
        lambda seen: seen.is_still and _differs(seen, seen.leader.facts.acknowledged),
        29,
        f"{_FAILED_BUT_APPLIED}: a reject did, and of two states of one delivery count ARCHIVED "
        "is the larger. It is not delivered again.",
    ),
    ExploredProperty(
        "lag_never_too_low",
        "The lag reported from the durable state counts each record that a new leader has to "
        "deliver.",
        lambda seen: seen.is_still and _lag_too_low(seen),
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
        lambda seen: any(
            seen.network.durable.found[offset][1] != count
            for offset, count in seen.leader.facts.delivered.items()
        ),
        None,
        "An acquisition is not written, so the next leader delivers with the same count again; "
        "the limit bounds the deliveries of one leader's tenure.",
    ),
)
