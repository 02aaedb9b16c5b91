"""The probable cause of a violation: its duty, and what is odd about it or how it is violated.

A duty may be violated for several reasons. What had happened to the record, to what came with it,
and to the calls since tells them apart, as far as a record shows it.
"""

from collections.abc import Iterator

from clients.duties import Duty
from clients.events import RENEW
from clients.held import Held, Holdings
from clients.membership import Membership
from judge.finding import SIGNATURE_TEXT
from spec.group_membership import JOINING, LEAVING

UNREADABLE_ITSELF = "it cannot be read"
POLL_FAILED = "a poll has failed since"
BESIDE_UNREADABLE = "it came with what cannot be read"
POLL_RENEWS = "the poll sends a renewal"
RENEWAL_UNSEEN = "no poll has returned a record since its renewal"
ONLY_GAPS = "the answer that gave it has no record"
LEFT_UNHEARD = "its leaving was answered by who is no coordinator"
PARTED = "its connection to the coordinator had ended"
JOINED_LAST = "it had asked to join last"


def cause_of(duty: Duty, text: str, odd: str) -> tuple[str, str]:
    """Return the duty, and what is odd, or else how it is violated, without what has a number."""
    words = (word for word in text.split() if not any(map(str.isdigit, word)))
    return duty.value, odd or " ".join(words)[:SIGNATURE_TEXT]


def oddity(held: Held, holdings: Holdings, failed: int, began: int) -> str:
    """Return what is odd about a record, empty if nothing is.

    ``failed``: where a poll failed last; ``began``: where the application made its last call.
    """
    return next(_odd(held, holdings, failed, began), "")


def _odd(held: Held, holdings: Holdings, failed: int, began: int) -> Iterator[str]:
    if held.is_corrupt:
        yield UNREADABLE_ITSELF
    if failed > max(held.answer, held.said):
        yield POLL_FAILED
    others = [other for other in holdings.every() if other is not held]
    beside = [other for other in others if other.answer == held.answer]
    if any(other.is_corrupt for other in beside):
        yield BESIDE_UNREADABLE
    if held.is_gap and all(other.is_gap for other in beside):
        yield ONLY_GAPS
    if any(other.given == RENEW and (other.sent or 0) > began for other in others):
        yield POLL_RENEWS
    if any(other.renewing or other.renewed is not None for other in others):
        yield RENEWAL_UNSEEN


def why_not_left(membership: Membership) -> str:
    """Return what is odd about a member that closed and is in the group; empty if nothing is."""
    if membership.before == LEAVING:
        return LEFT_UNHEARD
    if membership.parted:
        return PARTED
    return JOINED_LAST if membership.before == JOINING else ""
