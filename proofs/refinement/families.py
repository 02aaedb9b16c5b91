"""The sizes that are compared whole: states of a kind, and the steps in each of them.

Each family is a product: every content of so many offsets, and in each state every step of its
offers. ``QUICK`` is compared in seconds, ``FAMILIES`` in minutes.
"""

import attrs
from immutables import Map

from model.profile import DRAFT_RESOLVED, KAFKA, KIP, LAG_RESOLVED, Profile
from model.ranges import PassedOver
from model.states import RecordState
from model.whole_state import Delayed
from proofs.refinement.arrays import ArrayForm
from proofs.refinement.check import Tally, compare
from proofs.refinement.states import (
    COMMITTED,
    CONFIG,
    MEMBERS,
    NOW,
    PLAIN,
    START,
    THIRD,
    Surroundings,
    WindowCell,
    cells,
    states,
)
from proofs.refinement.steps import OFFERS
from spec.coordinator import Durable
from spec.record import Record

_BY_EACH = ("acquire by each", "acknowledge by each", "leave by each")
_OF_SEVERAL = ("acknowledge each", "acknowledge two", *_BY_EACH)
_EVERY = tuple(name for name in OFFERS if name not in {"initialize", *_OF_SEVERAL})
_WRITING = (
    "acknowledge",
    "acknowledge all",
    "member leaves",
    "time",
    "complete write",
    "dead letters",
)
_READING = ("acquire", "skip acquire", "log", "settings")
_KAFKA = ("acquire", "acknowledge all")
_WIDE = ("acknowledge all", "member leaves", "time", "complete write", "log", "settings")
_ASKED = ("acquire", "acknowledge")
_FULL = ("member leaves", "time", "log")
_TIMED = ("acquire", "acknowledge", "acknowledge all", "time", "expire")

AVAILABLE, ACKNOWLEDGED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED
SWEPT = attrs.evolve(KAFKA, sweep_ms=1)
"""The profile kafka where a timer may be late by 1 ms, less than a lock lasts here."""


def _written(record: Record, deadline: int) -> Record:
    return attrs.evolve(record, pending=True, former_owner=MEMBERS[0], former_deadline=deadline)


SHORT = (
    WindowCell(),
    WindowCell(hole=True),
    WindowCell(Record(AVAILABLE, 1)),
    WindowCell(Record(RecordState.ACQUIRED, 1, MEMBERS[0], NOW + 2)),
    WindowCell(Record(RecordState.ACQUIRED, 2, MEMBERS[0], NOW)),
    WindowCell(Record(RecordState.ACQUIRED, 1, MEMBERS[1], NOW + 2)),
    WindowCell(Record(ACKNOWLEDGED, 1)),
    WindowCell(_written(Record(AVAILABLE, 1), NOW + 2), 0),
    WindowCell(_written(Record(ACKNOWLEDGED, 2, exhausted=True), NOW), 0),
)
"""A few contents: one of each kind, and three of what is held."""

FEW = tuple(SHORT[place] for place in (1, 2, 3, 7))
"""A hole, an available record, one that is held, one that waits for its write."""

_OF_A_THIRD = WindowCell(Record(RecordState.ACQUIRED, 1, THIRD, NOW + 2))
THREE = (*(SHORT[place] for place in (2, 3, 5)), _OF_A_THIRD)
"""An available record, and one that each of three members holds."""

HELD = (SHORT[2], SHORT[4])
"""An available record, and one whose lock is over: side by side, each is a run of its own."""

IN_FLIGHT = (SHORT[7], *(attrs.evolve(SHORT[place], write=1) for place in (7, 8)))
"""A record that was released, of either of two outstanding writes, and one that was accepted."""

_ENTRIES = Map({0: (ACKNOWLEDGED, 1), 1: (AVAILABLE, 2), 2: (AVAILABLE, 1)})
_DURABLES = (
    Durable(state_epoch=1, leader_epoch=1),
    Durable(0, 1, _ENTRIES, 1, 1),
    Durable(1, 2, Map({1: (ACKNOWLEDGED, 2), 2: (AVAILABLE, 1)}), 1, 1),
)


@attrs.frozen
class Family:
    """States of so many offsets with these contents, and what is done in each.

    ``form``: that of the arrays.
    """

    name: str
    profile: Profile
    contents: tuple[WindowCell, ...]
    width: int = 1
    around: Surroundings = PLAIN
    offers: tuple[str, ...] = _EVERY
    form: ArrayForm = "new"


def tally(family: Family) -> Tally:
    """Compare every step from every state of a family."""
    result = Tally()
    candidates = states(family.profile, family.contents, family.width, family.around)
    compare(result, candidates, *family.offers, form=family.form)
    return result


def _around(profile: Profile) -> list[Family]:
    """Return the families of one offset of any content, in different surroundings."""
    full = cells(profile)
    queue = Surroundings(attrs.evolve(CONFIG, dead_letter_queue=True))
    committed = Surroundings(COMMITTED, stable=START + 1, log_start=START)
    unknown = Surroundings(known=False, produced=False)
    unmade = Surroundings(forgotten=True, unmade=True)
    past = profile.offered_within
    passed = (PassedOver(START, START, past),)
    waits = Surroundings(waiting=passed, stuck=Delayed(START, past), log_start=0)
    alone = (
        ("one record, with a dead-letter queue", queue, _WRITING),
        ("one record, read committed", committed, _READING),
        ("one record, of a log that nobody describes", unknown, _READING),
        ("one record, passed over as often as may be", waits, _READING[:2]),
        ("one record, and a write for which nobody waits", Surroundings(forgotten=True), _WRITING),
        ("one record, and a write that is not made yet", unmade, _WRITING),
    )
    families = [Family("one record", profile, full, form="worn")]
    for name, around, offers in alone:
        contents = cells(profile, dead_letters=True) if around is queue else full
        families.append(Family(name, profile, contents, 1, around, offers))
    families += [
        Family(f"one record, durable state {n}", profile, full, 1, around, _WRITING, form="worn")
        for n, around in enumerate(Surroundings(durable=durable) for durable in _DURABLES)
    ]
    return families


def _families() -> tuple[Family, ...]:
    leaders = [
        Family("a new leader", profile, (SHORT[2],), offers=("initialize",))
        for profile in (KIP, DRAFT_RESOLVED, LAG_RESOLVED)
    ]
    timed = Family(
        "one record, by a real clock", SWEPT, cells(SWEPT), 1, Surroundings(timed=True), _TIMED
    )
    wide = attrs.evolve(CONFIG, partition_max_record_locks=5)
    six = Surroundings(attrs.evolve(CONFIG, partition_max_record_locks=6))
    runs = [
        Family("an empty window", KIP, (), 0),
        Family("two offsets", KIP, SHORT, 2),
        Family(
            "two offsets, worn arrays", KAFKA, SHORT, 2, Surroundings(wide), _KAFKA, form="worn"
        ),
        Family("three offsets", KIP, FEW, 3, Surroundings(wide), _WIDE),
        Family("three members", KIP, THREE, 3, Surroundings(wide), (*_BY_EACH[2:], "time")),
        Family("four offsets", KIP, FEW, 4, Surroundings(wide), _WIDE[1:]),
        Family("four offsets that are asked for", KIP, HELD, 4, Surroundings(wide), _ASKED),
        Family("four offsets that are fetched", KIP, FEW, 4, Surroundings(wide), _ASKED[:1]),
        Family("four offsets that are acknowledged", KIP, FEW, 4, Surroundings(wide), _ASKED[1:]),
        Family("four batches", KIP, FEW, 4, Surroundings(wide), _OF_SEVERAL[:1], "full"),
        Family("two batches of any ranges", KAFKA, FEW, 2, PLAIN, _OF_SEVERAL[1:2]),
        Family("three offsets, full arrays", KAFKA, FEW, 3, Surroundings(wide), _ASKED, "full"),
        Family("three members that fetch", KIP, THREE, 3, Surroundings(wide), _BY_EACH[:1]),
        Family("three members that ask", KIP, THREE, 3, PLAIN, _BY_EACH[1:2]),
        Family("writes in flight", KIP, IN_FLIGHT, 4, Surroundings(wide), _WIDE[1:4], "full"),
        Family("six offsets, full arrays", KIP, HELD, 6, six, _FULL, "full"),
        Family("five offsets, room before", KIP, HELD, 5, Surroundings(wide), _FULL, "behind"),
    ]
    offers = ("mark", *_WRITING, "settings")
    marked = Family(
        "one record that may be marked", DRAFT_RESOLVED, cells(DRAFT_RESOLVED), 1, PLAIN, offers
    )
    of_kafka = (family for family in _around(KAFKA) if family.offers[0] == _READING[0])
    return (*leaders, *_around(KIP), *of_kafka, timed, marked, *runs)


FAMILIES = _families()
"""All that is compared."""

QUICK = (
    Family("a new leader", KIP, (SHORT[2],), offers=("initialize",)),
    Family("one offset", KIP, SHORT),
    Family("one offset, worn arrays", KAFKA, FEW, form="worn"),
)
"""What is compared in seconds."""
