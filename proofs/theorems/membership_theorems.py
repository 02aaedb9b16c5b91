"""Theorems about members of a group: heartbeats, sessions and assignments (KIP-932)."""

import random
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.share_messages import TopicPartition
from proofs.theorems.controls import becomes, called_with, returns, wrong
from proofs.theorems.reachable import runs_of
from proofs.theorems.situation import any_like, flag, number
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Subject
from spec import group_membership as membership
from spec.group_membership import JOINING, GroupMembership, Members
from spec.logic import Term, negate

OURS, THEIRS = "m", "n"
PLACES = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
NEW = GroupMembership(0, 0, 0)
NONE, FULL = ErrorCode.NONE, ErrorCode.GROUP_MAX_SIZE_REACHED


@attrs.frozen
class OneBeat:
    """A heartbeat with the epoch ``asked``, ``answered`` at ``now`` with that, and ``later``.

    ``group``: there is the group, and in it the member, where it is ``known``, and maybe an
    ``other``; share-partitions are assigned to it (``has_0``) and to that (``had_0``), which has
    the second topic where they are ``alike``.
    """

    group: Term = flag()
    known: Term = flag()
    other: Term = flag()
    ours: GroupMembership = any_like(NEW)
    other_ends: Term = number()
    asked: Term = number()
    answered: Term = number(1)
    now: Term = number()
    later: Term = number()
    timeout: Term = number(1)
    most: Term = number()
    has_0: Term = flag()
    has_1: Term = flag()
    has_2: Term = flag()
    had_0: Term = flag()
    had_1: Term = flag()
    had_2: Term = flag()
    alike: Term = flag()

    @classmethod
    def reached(cls, members: Members) -> Iterator["OneBeat"]:
        """Yield heartbeats to a group that a run reached."""
        ours, theirs = (members.get(name, NEW) for name in (OURS, THEIRS))
        times: Any = {"other_ends": theirs.ends_ms, "now": 20, "later": 25}
        at = OURS in members, THEIRS in members, ours
        for asked, most in product((JOINING, ours.epoch, ours.epoch + 1), (1, 2)):
            yield cls(True, *at, asked=asked, timeout=5, most=most, has_0=asked == 0, **times)  # noqa: FBT003 - there is a group

    states = staticmethod(lru_cache(lambda: runs_of(_run, 5)))


def _run(chance: random.Random) -> Iterator[Members]:
    members: Members = Map()
    for now in range(8):
        yield members
        members = membership.beat(members, chance.choice((OURS, THEIRS)), now // 2 + 1, now, 5)


def _members(s: OneBeat) -> Members:
    members = Map({OURS: s.ours}) if s.known else Map[str, GroupMembership]()
    return members.set(THEIRS, GroupMembership(1, 0, s.other_ends)) if s.other else members


def _answers(s: OneBeat) -> frozenset[ErrorCode]:
    members = _members(s) if s.group else None
    return membership.heartbeat_answers(members, OURS, s.asked, s.most)


def _beaten(s: OneBeat) -> Members:
    return membership.beat(_members(s), OURS, s.answered, s.now, s.timeout)


RULES = "spec.group_membership:"
ANSWERS = f"{RULES}heartbeat_answers"
_beats = Subject("KIP-932, Heartbeat and session", OneBeat)
_assigned = Subject("KIP-932, SimpleAssignor", OneBeat)


@_beats.theorem(
    64, of="heartbeat", where=lambda s: s.group & s.known & (s.asked != JOINING),
    control=wrong(ANSWERS, "takes any epoch", becomes(lambda *_of: frozenset({NONE}))),
)  # fmt: skip
def a_heartbeat_has_the_epoch_of_its_member(s: OneBeat) -> Term:
    """A heartbeat has the epoch of its member, or the one before; any other is fenced."""
    answers, is_own = _answers(s), s.asked == s.ours.epoch
    may_pass = is_own | (s.asked == s.ours.previous_epoch)
    expected = {NONE} if is_own else {NONE, membership.FENCED} if may_pass else {membership.FENCED}
    return answers == expected


@_beats.theorem(
    64, of="heartbeat", where=lambda s: negate(s.group & s.known),
    control=wrong(ANSWERS, "counts one less", called_with(lambda *of: (*of[:3], of[3] + 1))),
)  # fmt: skip
def who_is_no_member_joins_a_group_with_room(s: OneBeat) -> Term:
    """Who is no member is refused, unless it joins a group that is not full."""
    answers, count = _answers(s), 1 if s.other else 0
    is_full = bool(s.group) and bool(count >= s.most)
    if s.asked == JOINING:
        return answers == {FULL if is_full else NONE}
    told = ErrorCode.UNKNOWN_MEMBER_ID if s.group else ErrorCode.GROUP_ID_NOT_FOUND
    return answers == ({FULL, told} if is_full else {told})


@_beats.theorem(
    64, of="heartbeat", where=lambda s: s.known,
    control=wrong(f"{RULES}beat", "forgets the epoch before", called_with(
        lambda _members, *of: (Map(), *of))),
)  # fmt: skip
def a_lost_answer_fences_nobody(s: OneBeat) -> Term:
    """After an answer with an epoch both that one and the one before are taken."""
    after = _beaten(s)
    new = membership.heartbeat_answers(after, OURS, s.answered)
    before = membership.heartbeat_answers(after, OURS, s.ours.epoch)
    again = membership.beat(after, OURS, s.answered, s.now, s.timeout)
    return conjunction(new == {NONE}, NONE in before, again == after)


@_beats.theorem(
    64, of="heartbeat",
    control=wrong(f"{RULES}ended", "a moment later", called_with(lambda m, now: (m, now - 1))),
)  # fmt: skip
def a_session_ends_its_timeout_after_a_heartbeat(s: OneBeat) -> Term:
    """A member leaves once no heartbeat was answered for the timeout; others keep theirs."""
    gone = membership.ended(_beaten(s), s.later)
    over = s.other and s.other_ends <= s.later
    return conjunction((OURS in gone) == (s.later >= s.now + s.timeout), (THEIRS in gone) == over)


@_beats.theorem(
    64, of="take over", where=lambda s: s.known,
    control=wrong(f"{RULES}restarted", "gives more time", called_with(
        lambda members, *of: (members, of[0], of[1] + 1))),
)  # fmt: skip
def a_new_coordinator_gives_each_member_its_timeout(s: OneBeat) -> Term:
    """A group coordinator that takes over knows the epochs, and begins each session anew."""
    before, after = _members(s), membership.restarted(_members(s), s.now, s.timeout)
    gone = {OURS, THEIRS} & {*before} if s.later >= s.now + s.timeout else set()
    same = (after[name].epoch == before[name].epoch for name in before)
    return conjunction(set(after) == set(before), membership.ended(after, s.later) == gone, *same)


def _assignment(s: OneBeat) -> dict[str, frozenset[TopicPartition]]:
    has = (s.has_0, s.has_1, s.has_2), (s.had_0, s.had_1, s.had_2)
    return {
        name: frozenset(place for place, there in zip(PLACES, each, strict=True) if there)
        for name, each in zip((OURS, THEIRS), has, strict=True)
    }


@_assigned.theorem(
    65, of="assign",
    control=wrong(f"{RULES}unassigned", "is nothing", returns(lambda _of: frozenset())),
)  # fmt: skip
def what_nobody_has_is_unassigned(s: OneBeat) -> Term:
    """Unassigned is what may be assigned, and no member has."""
    left = membership.unassigned(frozenset(PLACES[:2]), _assignment(s))
    nobody = negate(s.has_0 | s.had_0), negate(s.has_1 | s.had_1)
    return conjunction(*((PLACES[i] in left) == nobody[i] for i in (0, 1)), PLACES[2] not in left)


@_assigned.theorem(
    65, of="assign",
    control=wrong(f"{RULES}uneven", "is nothing", returns(lambda _of: ())),
)  # fmt: skip
def members_alike_have_no_two_more(s: OneBeat) -> Term:
    """Uneven are two members of which one has two more, of the topics that both have."""
    assignment, both = _assignment(s), frozenset({"t", "u"} if s.alike else "t")
    topics = {OURS: frozenset("tu"), THEIRS: both}
    sizes = {
        name: sum(place.topic_id in both for place in places) for name, places in assignment.items()
    }
    more, fewer = (OURS, THEIRS) if sizes[OURS] > sizes[THEIRS] else (THEIRS, OURS)
    expected = [(more, fewer)] if sizes[more] - sizes[fewer] > 1 else []
    return [*membership.uneven(assignment, topics)] == expected
