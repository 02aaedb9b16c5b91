"""Theorems about progress: which fetches are counted, of which record, and up to which bound."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import attrs

from model.config import IsolationLevel, SharePartitionConfig
from model.guards import Guard
from model.operations import Acquire, Initialize, ResetOffset
from model.profile import KIP
from model.ranges import OffsetRange, PassedOver
from model.snapshot import DurableState
from model.states import AcquireMode, RecordState
from proofs.theorems.acquire_situation import furthest_of
from proofs.theorems.controls import becomes, called_with, leaves, returns
from proofs.theorems.operation_situation import Refusal, attempted, is_whole
from proofs.theorems.points import Points
from proofs.theorems.situation import any_offset, any_record, flag, number, situation_at
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Property, Theorem, about, laws
from spec import initialize, offered
from spec.log import Log
from spec.logic import Term, either, negate
from spec.partition import SharePartition, Waiting
from spec.record import Record, is_acquirable
from spec.window import Window

_law = laws("KIP-932, In-flight records")
AVAILABLE = RecordState.AVAILABLE
FINISHED = Record(RecordState.ACKNOWLEDGED, 1)


@attrs.frozen
class OnePassage:
    """A fetch that takes some of three ascending offsets: ``offset``, ``other``, ``elsewhere``.

    ``offers`` and ``offers_other``: a fetch may acquire this one, and passes over it unless it
    takes it. ``waits`` and the like: the record waits, and ``fetches`` passed over it. The window
    begins at ``start`` and may begin at ``furthest``; ``bound`` limits the fetches.
    """

    start: Term = number()
    furthest: Term = number()
    offset: Term = any_offset()
    other: Term = any_offset()
    elsewhere: Term = number()
    maximum: Term = number()
    offers: Term = flag()
    offers_other: Term = flag()
    takes: Term = flag()
    takes_other: Term = flag()
    takes_elsewhere: Term = flag()
    waits: Term = flag()
    waits_other: Term = flag()
    waits_elsewhere: Term = flag()
    fetches: Term = number(1)
    bound: Term = number(1)

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[OnePassage]":
        """Yield fetches from where a run came to."""
        start, end = state.window.start_offset, state.window.end_offset
        here = cls(start, start, start, start + 1, end + 2, 2, offers=True, bound=3)
        yield here
        yield attrs.evolve(here, takes_other=True, waits=True)


def _can_fetch(s: OnePassage) -> Term:
    return conjunction(s.start <= s.offset, s.offset < s.other, s.other < s.elsewhere)


def _before(s: OnePassage) -> SharePartition:
    profile = attrs.evolve(KIP, offered_within=s.bound)
    waiting = tuple(PassedOver(offset, offset, fetches) for offset, fetches in _waiting(s))
    window, stuck = Window(s.start, s.elsewhere), _stuck(s)
    return SharePartition(profile, window=window, ready=True, waiting=waiting, stuck=stuck)


def _fetch(s: OnePassage) -> Acquire:
    return Acquire("a", AcquireMode.RECORD_LIMIT, 1, s.maximum, s.start, ())


def _waiting(s: OnePassage) -> list[tuple[Term, Term]]:
    """Return what waits before the fetch, each with its fetches."""
    flags = ((s.waits, s.offset), (s.waits_other, s.other), (s.waits_elsewhere, s.elsewhere))
    return [(offset, s.fetches) for waits, offset in flags if waits]


def _stuck(s: OnePassage) -> Waiting | None:
    """Return the start offset at which fetches found the window full before this one."""
    if s.waits:
        return Waiting(s.offset, s.fetches)
    if s.waits_other:
        return Waiting(s.other, s.fetches)
    return Waiting(s.elsewhere, s.fetches) if s.waits_elsewhere else None


def _taken(s: OnePassage) -> list[Term]:
    """Return what the fetch takes, ascending."""
    flags = ((s.takes, s.offset), (s.takes_other, s.other), (s.takes_elsewhere, s.elsewhere))
    return [offset for taken, offset in flags if taken]


@attrs.frozen
class OneOffer:
    """A share-partition at one offset, and a fetch that read one log batch.

    The log holds one batch that was produced, ``made_first`` to ``made_last``, and has one hole.
    ``elsewhere`` is another offset, where a record may be. ``furthest`` is where the start offset
    may move, and ``width`` limits the window.
    """

    start: Term = number()
    end: Term = number()
    offset: Term = any_offset()
    record: Record = any_record()
    tracked: Term = flag()
    elsewhere: Term = number()
    others: Term = flag()
    log_start: Term = number()
    log_end: Term = number()
    stable: Term = number()
    hole_first: Term = number()
    hole_last: Term = number()
    made_first: Term = number()
    made_last: Term = number()
    first: Term = number()
    last: Term = number()
    furthest: Term = number()
    width: Term = number(1)

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[OneOffer]":
        """Yield offsets of where a run came to."""
        now, log = state.window, state.log
        start, end = now.start_offset, now.end_offset
        produced = (*log.batches, (end + 9, end + 9))[0]
        for offset in range(start, end + 1):
            yield situation_at(
                cls, state, offset, elsewhere=end + 3, stable=log.end_offset,
                made_first=produced[0], made_last=produced[1], first=offset, last=offset + 1,
                furthest=start,
                width=state.config.partition_max_record_locks,
            )  # fmt: skip


def _can_offer(s: OneOffer) -> Term:
    return conjunction(
        s.start <= s.end,
        s.first <= s.last,
        s.hole_first <= s.hole_last,
        s.made_first <= s.made_last,
        implies(s.tracked, conjunction(s.start <= s.offset, s.offset < s.end)),
        implies(s.others, conjunction(s.start <= s.elsewhere, s.elsewhere < s.end)),
        s.elsewhere != s.offset,
        is_whole(s.record),
    )


def _is_new(s: OneOffer) -> Term:
    return conjunction(_can_offer(s), negate(s.tracked))


def _is_tracked(s: OneOffer) -> Term:
    return conjunction(_can_offer(s), s.tracked, negate(s.others))


def _offered(s: OneOffer, level: IsolationLevel) -> list[Term]:
    """Return what may be acquired."""
    records: Any = Points(((s.offset, s.record),) if s.tracked else ())
    if s.others:
        records = records.set(s.elsewhere, FINISHED)
    config = SharePartitionConfig(partition_max_record_locks=s.width, isolation_level=level)
    holes, batches = ((s.hole_first, s.hole_last),), ((s.made_first, s.made_last),)
    before = SharePartition(
        KIP,
        config,
        log=Log(s.log_start, s.log_end, holes, batches, s.stable),
        window=Window(s.start, s.end, records),
        ready=True,
    )
    read = (OffsetRange(s.first, s.last),)
    operation = Acquire("a", AcquireMode.RECORD_LIMIT, 1, 1, s.start, read)
    with patch.object(offered, "first_unfinished", furthest_of(before, s.furthest)):
        return list(offered._offerable(before, operation))  # noqa: SLF001 - the rule


def _noted(s: OnePassage, passed: list[Term]) -> Any:  # noqa: ANN401 - what waits, or a refusal
    """Return what waits after a fetch that passes over these offsets."""
    before, operation, taken = _before(s), _fetch(s), _taken(s)
    asked = []

    def passes(*of: object) -> list[Term]:
        asked.append(of)
        return passed

    def each(ranges: object) -> list[tuple[Term, Term]]:
        return _waiting(s) if ranges else []

    with patch.object(offered, "_passed_over", passes), patch.object(offered, "_each", each):
        noted = attempted(lambda: offered.note_fetch(before, operation, taken))
    expected = [] if s.maximum == 0 else [(before, operation, taken)]
    return noted if asked == expected else Refusal(None)


def _passed(s: OnePassage) -> list[Term]:
    """Return the offsets that the fetch passes over."""
    flags = ((s.offers, s.takes, s.offset), (s.offers_other, s.takes_other, s.other))
    return [offset for offers, takes, offset in flags if offers and not takes]


def _count_after(s: OnePassage, offset: Term, passed: list[Term]) -> Term:
    """Return how many fetches have passed over an offset since it was acquired."""
    if s.maximum != 0 and any(each is offset for each in _taken(s)):
        return 0
    before = sum(fetches for each, fetches in _waiting(s) if each is offset)
    return before + (1 if s.maximum != 0 and any(each is offset for each in passed) else 0)


def _counts(s: OnePassage) -> Term:
    """Whether each record that a fetch passes over has one more, and no other is changed."""
    passed = _passed(s)
    return _is_counted(s, _noted(s, passed), passed)


def _is_counted(s: OnePassage, noted: Any, passed: list[Term]) -> Term:  # noqa: ANN401 - as noted
    if isinstance(noted, Refusal):
        return noted.guard is Guard.RECORD_IS_OFFERED
    counted = (
        _count_in(noted, offset) == _count_after(s, offset, passed)
        for offset in (s.offset, s.other, s.elsewhere)
    )
    return conjunction(*counted)


def _count_in(noted: tuple[PassedOver, ...], offset: Term) -> Term:
    inside = [each.fetches for each in noted if each.first <= offset <= each.last]
    return sum(inside)


def _is_bounded(s: OnePassage) -> Term:
    """Whether a fetch is refused exactly if more than the bound have passed over a record."""
    passed = _passed(s)
    noted = _noted(s, passed)
    counts = [_count_after(s, offset, passed) for offset in passed]
    within = True if s.maximum == 0 else conjunction(*(count <= s.bound for count in counts))
    return negate(within) if isinstance(noted, Refusal) else within


def _ends(s: OnePassage) -> Term:
    """Whether after a fetch that passes over nothing what waited still waits, unless acquired."""
    return _is_counted(s, _noted(s, []), [])


def _passes(s: OnePassage) -> Term:
    """Whether all is named that could be acquired and that the fetch passes over."""
    before, operation, taken = _before(s), _fetch(s), _taken(s)
    flags = (s.offers, s.offset), (s.offers_other, s.other)
    offers = [offset for may, offset in flags if may]
    asked = []

    def offerable(*of: object) -> Iterator[Term]:
        asked.append(of)
        return iter(offers)

    with patch.object(offered, "_offerable", offerable):
        passed = offered._passed_over(before, operation, taken)  # noqa: SLF001 - the rule
    rest = [o for o in offers if not any(o == offset for offset in taken)]
    expected = [o for o in rest if o <= taken[-1]] if taken else rest[:1]
    same = (each == other for each, other in zip(passed, expected, strict=False))
    asks = asked == [(before, operation)]
    return conjunction(asks, len(passed) == len(expected), *same)


@attrs.frozen
class TwoOffers:
    """A window without holes, with AVAILABLE records at none, one or both of two offsets.

    One batch was produced and one was read, as in ``OneOffer``.
    """

    start: Term = number()
    end: Term = number()
    offset: Term = any_offset()
    tracked: Term = flag()
    other: Term = any_offset()
    other_tracked: Term = flag()
    log_end: Term = number()
    made_first: Term = number()
    made_last: Term = number()
    first: Term = number()
    last: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[TwoOffers]":
        """Yield what is offered where a run came to."""
        start, end = state.window.start_offset, state.window.end_offset
        yield cls(start, end, end, False, end + 1, False, end + 3, end, end + 1, end, end)  # noqa: FBT003 - flags


def _can_offer_two(s: TwoOffers) -> Term:
    return conjunction(
        s.start <= s.end,
        s.offset < s.other,
        s.first <= s.last,
        s.made_first <= s.made_last,
        implies(s.tracked, conjunction(s.start <= s.offset, s.offset < s.end)),
        implies(s.other_tracked, conjunction(s.start <= s.other, s.other < s.end)),
    )


def _ascends(s: TwoOffers) -> Term:
    """Whether what is offered ascends, in flight or not."""
    places = ((s.tracked, s.offset), (s.other_tracked, s.other))
    records: Any = Points(
        tuple((offset, Record(AVAILABLE, 1)) for tracked, offset in places if tracked)
    )
    log = Log(0, s.log_end, (), ((s.made_first, s.made_last),), s.log_end)
    before = SharePartition(KIP, log=log, window=Window(s.start, s.end, records), ready=True)
    read = (OffsetRange(s.first, s.last),)
    operation = Acquire("a", AcquireMode.RECORD_LIMIT, 1, 1, s.start, read)
    with patch.object(offered, "first_unfinished", lambda *_of: s.end):
        offers = list(offered._offerable(before, operation))  # noqa: SLF001 - the rule
    return conjunction(*(lower <= higher for lower, higher in pairwise(offers)))


def _offers(s: OneOffer, level: IsolationLevel) -> Term:
    """Whether a fetch may acquire the first offset exactly if it is among what is offered."""
    return any(o == s.offset for o in _offered(s, level)) == _may_be_offered(s, level)


def _may_be_offered(s: OneOffer, level: IsolationLevel) -> Term:
    readable = s.log_end
    if level is IsolationLevel.READ_COMMITTED:
        readable = either(s.stable < s.log_end, s.stable, s.log_end)
    in_hole = conjunction(s.hole_first <= s.offset, s.offset <= s.hole_last)
    if s.tracked:  # What the fetch has read past could have been archived.
        in_hole = conjunction(in_hole, negate(conjunction(s.start <= s.offset, s.offset <= s.last)))
    outside = (s.offset < s.start, s.offset < s.log_start, s.offset >= readable, in_hole)
    inside = conjunction(*(negate(wrong) for wrong in outside))
    if s.tracked:
        return conjunction(is_acquirable(s.record), inside)
    produced = conjunction(s.made_first <= s.offset, s.offset <= s.made_last)
    read = conjunction(s.first <= s.offset, s.offset <= s.last)
    full = conjunction(s.others, s.offset >= s.end, s.offset >= s.furthest + s.width)
    unknown = conjunction(negate(produced), negate(read))
    return conjunction(negate(unknown), negate(full), inside)


def _full(s: OnePassage) -> Any:  # noqa: ANN401 - what is stuck, or a refusal
    before = _before(s)
    with patch.object(offered, "first_unfinished", furthest_of(before, s.furthest)):
        return attempted(lambda: offered.note_full(before))


def _counts_full(s: OnePassage) -> Term:
    noted = _full(s)
    if s.furthest == s.start:
        return noted is None
    if isinstance(noted, Refusal):
        return noted.guard is Guard.FINISHED_LEAVES_FULL_WINDOW
    return conjunction(noted.offset == s.start, noted.fetches == _full_fetches(s))


def _is_full_within_bound(s: OnePassage) -> Term:
    within = True if s.furthest == s.start else _full_fetches(s) <= s.bound
    return negate(within) if isinstance(_full(s), Refusal) else within


def _full_fetches(s: OnePassage) -> Term:
    stuck = _stuck(s)
    again = stuck is not None and bool(stuck.offset == s.start)
    return s.fetches + 1 if again else 1


def _resets(s: OnePassage) -> Term:
    """Whether a share-partition whose offsets are reset has nothing that waits or is stuck."""
    after = initialize.reset_offset(_before(s), ResetOffset(s.furthest)).partition
    return after.waiting == () and after.stuck is None


def _begins(s: OnePassage) -> Term:
    """Whether a new leader has nothing that waits or is stuck."""
    read = DurableState(s.start, 0, (), 1, 1)
    operation = Initialize(SharePartitionConfig(), 0, s.elsewhere, read, 0)
    after = initialize.initialize(_before(s), operation).partition
    return after.waiting == () and after.stuck is None


COUNTS = _law(
    "fetch_that_passes_over_a_record_is_counted",
    "Each record that a fetch passes over has one more; the counts of others stay.",
)
BOUNDED = _law(
    "record_is_passed_over_within_the_bound",
    "A fetch is refused exactly if it passes over a record that as many as the bound have before.",
)
ENDS = _law(
    "record_that_is_acquired_waits_no_more",
    "Acquiring the record that waits ends its count; a fetch that does not reach it keeps it.",
)
PASSES = _law(
    "fetch_passes_over_each_record_it_could_take",
    "Passed over is each of two offered offsets that a fetch leaves before its last, or the first "
    "if it takes nothing.",
)
OFFERS = _law(
    "what_a_fetch_could_acquire_is_offered",
    "Offered is what is AVAILABLE and in the log, or read past, or known of the log and not in "
    "flight, where there is room.",
)
ASCENDS = _law("what_is_offered_ascends", "Of two offsets that are offered the lower comes first.")
FULL = _law(
    "fetch_that_finds_the_window_full_is_counted",
    "Of fetches that find the same start offset, with something finished there, each is one more.",
)
FULL_BOUNDED = _law(
    "finished_records_leave_a_full_window_within_the_bound",
    "Nothing is acquired of a full window whose start is finished only as often as the bound.",
)
RESETS = _law(
    "nothing_waits_after_a_reset",
    "A reset and a new leader begin with no record that waits and no window that stays full.",
)


def _changes(
    name: str, change: Callable[[SharePartition], SharePartition], rule: str = "note_fetch"
) -> Control:
    """Return the control under which a rule is asked about another share-partition."""
    return Control(name, f"spec.offered:{rule}", called_with(lambda p, *rest: (change(p), *rest)))


def _forgets(partition: SharePartition) -> SharePartition:
    return attrs.evolve(partition, waiting=(), stuck=None)


def _is_patient(partition: SharePartition) -> SharePartition:
    more = partition.profile.offered_within + 1
    return attrs.evolve(partition, profile=attrs.evolve(partition.profile, offered_within=more))


def _theorem(
    stated: Property, name: str, claim: Callable[[OnePassage], Term], control: Control
) -> Theorem:
    return Theorem(stated, name, OnePassage, _can_fetch, claim, control)


def _theorems() -> Iterator[Theorem]:
    forgets, patient = "forgets how many fetches there were", "has a bound of one more"
    name = "a fetch passes over a record"
    yield _theorem(COUNTS, name, _counts, _changes(f"note_fetch {forgets}", _forgets))
    yield _theorem(BOUNDED, name, _is_bounded, _changes(f"note_fetch {patient}", _is_patient))
    unseen = called_with(lambda partition, operation, _taken: (partition, operation, []))
    blind = Control("note_fetch does not see what is acquired", "spec.offered:note_fetch", unseen)
    yield _theorem(ENDS, "a fetch passes over nothing", _ends, blind)
    blind = Control("_passed_over sees nothing acquired", "spec.offered:_passed_over", unseen)
    yield _theorem(PASSES, "two offsets are offered", _passes, blind)
    anything = Control(
        "is_acquirable allows what is held", "spec.record:is_acquirable", becomes(lambda _r: True)
    )
    nothing = Control(
        "_undelivered offers nothing", "spec.offered:_undelivered", becomes(lambda *_of: ())
    )
    for level in IsolationLevel:
        claim = about(_offers, level)
        for name, given, control in (
            (f"offer what is in flight ({level})", _is_tracked, anything),
            (f"offer what is new ({level})", _is_new, nothing),
        ):
            yield Theorem(OFFERS, name, OneOffer, given, claim, control)
    backwards = Control(
        "tracked descends", "spec.window:tracked", returns(lambda offsets: [*offsets][::-1])
    )
    yield Theorem(ASCENDS, "offer two offsets", TwoOffers, _can_offer_two, _ascends, backwards)
    name = "nothing is acquired of a full window"
    control = _changes(f"note_full {forgets}", _forgets, "note_full")
    yield _theorem(FULL, name, _counts_full, control)
    control = _changes(f"note_full {patient}", _is_patient, "note_full")
    yield _theorem(FULL_BOUNDED, name, _is_full_within_bound, control)
    for name, claim, rule in (
        ("reset offset", _resets, "reset_offset"),
        ("initialize", _begins, "initialize"),
    ):
        unchanged = leaves(lambda state, *_rest: state)
        control = Control(f"{rule} changes nothing", f"spec.initialize:{rule}", unchanged)
        yield _theorem(RESETS, name, claim, control)


OFFERED_THEOREMS = tuple(_theorems())
