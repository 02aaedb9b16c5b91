"""What is odd about a violation tells apart what an entry of a known fault names, and what not."""

from collections.abc import Sequence

import attrs
import pytest

from clients.cause import (
    BESIDE_UNREADABLE,
    JOINED_LAST,
    LEFT_UNHEARD,
    ONLY_GAPS,
    PARTED,
    POLL_FAILED,
    POLL_RENEWS,
    RENEWAL_UNSEEN,
    UNREADABLE_ITSELF,
)
from clients.duties import Duty
from clients.events import (
    ACCEPT,
    RENEW,
    Answered,
    ClientRecord,
    Corrupted,
    Event,
    Settings,
)
from clients.judge import judge
from clients.kit import CLIENTS, Command, commands_of
from clients.liveness import LATE_MS
from clients.subjects import known_of
from conformance.campaign import Fault, alone, unknown
from conformance.known import read_known
from tests.clients.controls import script
from tests.clients.test_judge import HASTY, JOINS, PLACE, POLL, fetch, gives, returns, says, sends
from tests.doubles.share_client import ShareClient
from tests.doubles.share_faults import Fault as Faulty

KIT = attrs.evolve(CLIENTS, pace=HASTY)


def shown_by(faulty: Faulty, text: str) -> Sequence[Fault[Command]]:
    return alone(lambda: ShareClient(faulty), commands_of(script(text)), KIT).faults


GIVEN: tuple[Event, ...] = (JOINS, POLL, fetch(), gives(1, 0, 1), returns(0), says(ACCEPT))
"""Two records, of which the application has one."""


def dropped(*events: Event, ends_ms: int = 0) -> list[str]:
    """Return what is odd about each record that a last poll does not return."""
    ends = attrs.evolve(returns(), at_ms=ends_ms)
    wrong = judge(ClientRecord(Settings(explicit=True), (*events, ends)))
    return [each.probable_cause[1] for each in wrong if each.name == Duty.NONE_DROPPED.value]


@pytest.mark.parametrize(
    ("events", "odd"),
    [
        ((*GIVEN, fetch(2, 1)), "offset was acquired, and poll is empty"),
        ((*GIVEN, POLL, returns(error="no"), fetch(2, 1)), POLL_FAILED),
        (
            (POLL, returns(error="no"), *GIVEN, fetch(2, 1)),
            "offset was acquired, and poll is empty",
        ),
        ((Corrupted(0, PLACE, frozenset({0})), *GIVEN, fetch(2, 1)), BESIDE_UNREADABLE),
        ((*GIVEN, says(RENEW), fetch(2, 1)), RENEWAL_UNSEEN),
        ((*GIVEN, says(RENEW), sends(2, RENEW), Answered(0, 2), fetch(3, 2)), RENEWAL_UNSEEN),
    ],
)
def test_what_is_odd_about_a_record_that_no_poll_returns(
    events: tuple[Event, ...], odd: str
) -> None:
    assert dropped(*events, POLL) == [odd]


@pytest.mark.parametrize("renews", [True, False])
def test_a_poll_that_waits_on_has_sent_a_renewal_or_has_not(*, renews: bool) -> None:
    sent = (sends(2, RENEW),) if renews else ()
    waits = (*GIVEN[:-1], says(RENEW), POLL, *sent)
    assert dropped(*waits, ends_ms=LATE_MS) == [POLL_RENEWS if renews else RENEWAL_UNSEEN]


@pytest.mark.parametrize(
    ("faulty", "text", "odd"),
    [
        (Faulty.ACCEPTS_UNREAD, "produce-unreadable 2, poll, poll", UNREADABLE_ITSELF),
        (Faulty.SILENT_ABOUT_GAPS, "produce-empty 3, poll-once, drain", ONLY_GAPS),
        (Faulty.LEAVES_ONCE, "2 brokers: produce 5, poll, at-once, move-coordinator", LEFT_UNHEARD),
        (Faulty.STAYS, "produce 5, poll, restart 1", PARTED),
        (Faulty.STAYS, "produce 5, poll", JOINED_LAST),
        (
            Faulty.STAYS,
            "produce 5, poll, restart 1, produce 5, poll, idle 300, poll",
            "the client has closed, and its member is in the group",
        ),
    ],
)
def test_what_is_odd_is_the_cause_and_otherwise_how_a_duty_is_violated(
    faulty: Faulty, text: str, odd: str
) -> None:
    assert odd in [fault.deviation.probable_cause[1] for fault in shown_by(faulty, text)]


@pytest.mark.parametrize(
    ("faulty", "text", "client"),
    [
        (Faulty.FORGETS, "explicit: produce-corrupt 1, produce 5, 2 poll, accept, commit", "kafka"),
        (Faulty.SILENT_ABOUT_GAPS, "produce-compacted 8, poll, produce-corrupt 1, drain", "kafka"),
        (Faulty.GIVES_UP, "produce-corrupt 1, poll, evict, 2 poll, drain", "kafka"),
        (Faulty.GIVES_UP, "produce-unreadable 1, poll, evict, 2 poll, drain", "spring-kafka"),
        (Faulty.STAYS, "produce 5, poll, restart 1, produce 5, poll, idle 300, poll", "librdkafka"),
        (Faulty.STAYS, "2 brokers: produce 5, poll, at-once, move-coordinator", "librdkafka"),
        (Faulty.DROPS, "explicit: produce 5, 2 poll, renew 1, accept, 2 poll", "spring-kafka"),
        (Faulty.SILENT_ABOUT_GAPS, "produce-empty 3, produce-compacted 8, 2 poll", "librdkafka"),
    ],
)
def test_a_known_fault_hides_no_other_of_the_same_duty_after_the_same_steps(
    faulty: Faulty, text: str, client: str
) -> None:
    path = known_of(client)
    assert path is not None
    known, faults = read_known(path, CLIENTS.read), shown_by(faulty, text)
    strange = unknown(faults, [attrs.evolve(each, difference=()) for each in known])
    alike = [fault for fault in faults if fault not in strange]
    assert alike  # The steps alone would account for them.
    assert unknown(alike, known) == alike
