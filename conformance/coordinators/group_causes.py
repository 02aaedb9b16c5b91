"""What tells apart the causes of deviations that break one rule, from what the kit knows."""

from collections.abc import Collection

import attrs
from immutables import Map

from conformance.coordinators.group_belief import GroupBelief, less
from conformance.coordinators.group_reply import StateCall
from model.share_messages import TopicPartition

_ERROR, _LATE_ERROR = "an error", "a late error"
PARTED = "others of the topic are there again"
OUTRUN = "an earlier deletion was answered late"
_HIDES = "an error where a deletion has failed"


def taken_now(
    belief: GroupBelief,
    after: GroupBelief,
    why: str,
    keys: Collection[TopicPartition] | None = None,
) -> GroupBelief:
    """Take up that calls without an answer initialize nothing of some keys any more, or of all."""
    taken = {
        (call, key): why
        for call, waiting in belief.waiting.items()
        for key in waiting
        if keys is None or key in keys
    }
    counted = Map[TopicPartition, str]() if keys is None else less(after.counted, keys)
    after = attrs.evolve(after, taken=after.taken.update(taken), counted=counted)
    return attrs.evolve(after, held=frozenset(), vain=frozenset()) if keys is None else after


def answered_now(belief: GroupBelief, call: int, *, failed: bool, alters: bool) -> GroupBelief:
    """Take up what a late answer to an initialization names, before that is initialized."""
    keys, metadata = belief.waiting.get(call, frozenset()), belief.metadata
    if not belief.exists or (failed and alters):
        return belief
    why = {key: belief.taken.get((call, key), "") for key in keys}
    if failed:
        late = {key: _to(_LATE_ERROR, why[key]) for key in keys & metadata.initializing}
        return attrs.evolve(belief, lost=belief.lost.update(late), held=belief.held - keys)
    gone = keys - metadata.initializing - metadata.initialized
    counted = belief.counted.update({key: why[key] for key in gone})
    return parted_now(attrs.evolve(belief, counted=counted, held=belief.held - keys), gone)


def parted_now(belief: GroupBelief, keys: Collection[TopicPartition]) -> GroupBelief:
    """Take up that a part of a topic that is being deleted may be there again."""
    topics = {key.topic_id for key in keys}
    rest = {key for key in belief.metadata.deleting if key.topic_id in topics} - {*belief.counted}
    return attrs.evolve(belief, lost=belief.lost.update(dict.fromkeys(rest, PARTED)))


def outrun_now(belief: GroupBelief, keys: Collection[TopicPartition]) -> GroupBelief:
    """Take up that a late answer to a deletion of offsets may count for a later deletion."""
    topics = {key.topic_id for key in keys}
    later = {key for key in belief.metadata.deleting if key.topic_id in topics}
    later -= {key for key in keys if key not in belief.states}
    return attrs.evolve(belief, lost=belief.lost.update(dict.fromkeys(later, OUTRUN)))


def _to(answer: str, why: str) -> str:
    return f"{answer} to what was taken, as {why}" if why else answer


def failed_now(before: GroupBelief, belief: GroupBelief, key: TopicPartition) -> GroupBelief:
    """Take up that an initialization by a heartbeat was answered with an error at once."""
    if not belief.members or key not in belief.metadata.initializing:
        return belief
    why = _HIDES if key in before.metadata.deleting else before.lost.get(key, _ERROR)
    return attrs.evolve(belief, lost=belief.lost.set(key, why))


def left_cause(belief: GroupBelief, left: Collection[TopicPartition]) -> str:
    """Return why durable state is left: since what a coordinator may not know of it, if so."""
    errors = [belief.lost.get(key, "") for key in sorted(left)]
    return errors[0] if errors and all(errors) else "what was initialized"


def counted_cause(belief: GroupBelief, keys: Collection[TopicPartition]) -> str:
    """Return why a late answer to an initialization must not count; nothing if none has come.

    One of which none has come holds up the one that is due.
    """
    if keys and belief.held >= {*keys}:
        return "one before that is not over"
    why = [belief.counted.get(key, "") for key in sorted(keys)]
    return f"a late answer, as {why[0]}" if why and all(why) else ""


def start_cause(belief: GroupBelief, call: StateCall, offsets: Collection[int]) -> str:
    """Return which start offset is due, and what starts where instead."""
    exact = " or ".join(f"start offset {offset}" for offset in sorted(offsets))
    due = exact if {0, -1}.issuperset(offsets) else "an altered one"
    return f"{due} is due, and {_stage(belief, call.key)} starts at {call.start_offset}"


def _stage(belief: GroupBelief, key: TopicPartition) -> str:
    """Return how far a share-partition is, and what else the group has begun of the topic.

    One whose initialization failed is none of these.
    """
    metadata, failed = belief.metadata, {*belief.lost}
    if key in metadata.initializing - failed or key in belief.held:
        return "one that is tried again"
    listed = {*metadata.initializing, *metadata.initialized, *belief.counted, *belief.held} - failed
    others = {other for other in listed if other != key and other.topic_id == key.topic_id}
    if others and others <= belief.altered:
        return "one beside altered ones"
    if not others and key.topic_id in belief.vain:
        return "one of a topic that was altered in vain"
    was = "failed" if key in failed else "was deleted" if key in belief.starts else "is new"
    return f"one that {was}{' beside others' * bool(others)}"
