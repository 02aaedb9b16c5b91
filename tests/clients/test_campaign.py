import json
from collections import Counter

import attrs
import pytest

from clients.campaign import Campaign, Limits, alone, campaign, described
from clients.drivers import Driver, Values
from clients.duties import Duty
from clients.known import Known
from clients.play import Pace
from clients.report import json_lines, lines
from clients.scripts import Do
from conformance.target import TargetError
from tests.clients.controls import CONTROLS, PART, REJECTED, TWO_POLLS
from tests.doubles.share_client import ShareClient
from tests.doubles.share_faults import Fault

FAST = Pace(poll_ms=20)
HASTY = Pace(poll_ms=20, patience_seconds=1)
RARE = {
    Fault.HASTY: 25,
    Fault.KEEPS_ASSIGNMENT: 20,
    Fault.STAYS_WITH_LEADER: 20,
    Fault.DROPS_REVOKED: 60,
    Fault.TO_NEW_LEADER: 60,
}
"""Faults that take three steps in one order, and the seed from which on they are looked for."""


def searched(fault: Fault | None, runs: int, seed: int = 0) -> Campaign:
    return campaign(lambda: ShareClient(fault), Limits(600, runs), seed, FAST)


def test_a_faulty_client_is_found_by_chance_and_its_script_has_no_step_too_many() -> None:
    result = searched(Fault.ALWAYS_ACCEPTS, 12)
    (shown,) = result.shown
    assert shown.violation.duty is Duty.AS_SAID
    names = [do for do, _ in shown.script.steps]
    assert names[:1] == [Do.PRODUCE]
    assert len(names) == 3
    assert names[1] in (Do.POLL, Do.POLL_ONCE)
    assert names[2] in (Do.RELEASE, Do.REJECT)


def test_the_same_seed_draws_the_same_scripts_and_another_seed_others() -> None:
    limits = Limits(600, 1, shrink_seconds=0)
    results = [campaign(lambda: ShareClient(Fault.STAYS), limits, seed, FAST) for seed in (1, 1, 2)]
    first, again, other = (shown.script for result in results for shown in result.shown)
    assert first == again != other


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [fault for fault in Fault if fault is not Fault.BUSY],  # Its every poll takes a second.
    ids=lambda fault: fault.name,
)
def test_every_fault_is_found_by_chance(fault: Fault) -> None:
    expected = {duty for other, duty, _ in CONTROLS if other is fault}
    limits = Limits(600, 5, shrink_seconds=0)
    first = RARE.get(fault, 0)
    for seed in range(first, first + 20):
        pace = HASTY if fault is Fault.NEVER_REJOINS else FAST
        result = campaign(lambda: ShareClient(fault), limits, seed, pace)
        if expected & {shown.violation.duty for shown in result.shown}:
            return
    pytest.fail(f"{expected} is not found in 100 scripts")


@pytest.mark.parametrize(("during", "shown"), [("play", 0), ("shrunk", 1)])
def test_an_interruption_keeps_what_was_shown(
    monkeypatch: pytest.MonkeyPatch, during: str, shown: int
) -> None:
    def interrupts(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"clients.campaign.{during}", interrupts)
    result = searched(Fault.ALWAYS_ACCEPTS, 12)
    assert (result.interrupted, len(result.shown)) == (True, shown)
    (*_, last) = json_lines(result)
    assert json.loads(last)["verdict"] == ("violates" if shown else "unknown")
    assert any("interrupted" in line for line in lines(result, ""))


def test_no_run_is_played_where_none_is_allowed() -> None:
    assert searched(Fault.DROPS, 0).shown == ()


class Broken(ShareClient):
    """A driver that ends at its first poll."""

    def ask(self, command: Values) -> Values:
        if command["do"] == "poll":
            raise TargetError("it ended")
        return super().ask(command)


def test_a_driver_that_ends_ends_the_search_and_is_reported() -> None:
    result = campaign(Broken, Limits(600, 50), 0, FAST)
    assert (result.failure, result.shown) == ("it ended", ())
    assert result.runs < 50


def test_a_driver_that_describes_nothing_is_refused() -> None:
    class Silent(ShareClient):
        def ask(self, command: Values) -> Values:  # noqa: ARG002 - it says nothing to anything
            return {}

    with pytest.raises(TargetError, match="protocol"):
        described(Silent)


def test_one_script_is_played_alone() -> None:
    def start() -> Driver:
        return ShareClient(Fault.UNSAID)

    result = alone(start, PART, FAST)
    assert [shown.violation.duty for shown in result.shown] == [Duty.NOTHING_UNSAID]
    assert alone(ShareClient, REJECTED, FAST).shown == ()


def test_a_report_has_the_duty_its_sentence_and_the_command_that_shows_it_again() -> None:
    result = alone(lambda: ShareClient(Fault.UNSAID), PART, FAST)
    text = "\n".join(lines(result, "sharespec verify-client X"))
    assert "acknowledges-nothing-unsaid: t-0 offset" in text
    assert """sharespec verify-client X --play '{"mode":"explicit",""" in text
    assert "The application must acknowledge all records returned" in text
    assert "duties violated: 1; 1 scripts" in text
    shown, whole = map(json.loads, json_lines(result))
    assert (shown["duty"], shown["script"]["mode"]) == ("acknowledges-nothing-unsaid", "explicit")
    assert (whole["verdict"], whole["runs"]) == ("violates", 1)


def test_a_report_of_a_client_that_conforms_counts_what_happened() -> None:
    result = searched(None, 5)
    line, counts, *rest = lines(result, "x")
    assert counts.startswith(f"records delivered: {result.exercised.delivered}, acknowledged: ")
    assert (result.exercised.delivered > 0, result.lack) == (True, None)
    assert line.startswith("the double: no duty violated; 5 scripts, ")
    head, *at_stake, never = rest
    assert (head, never.split(": ")[0]) == ("at stake:", "never at stake")
    counted = {Duty(text.split()[1]): int(text.split()[0].replace(",", "")) for text in at_stake}
    assert counted == {duty: count for duty, count in result.stakes.items() if count}
    assert {*counted, *map(Duty, never.split(": ")[1].split(", "))} == set(Duty)


def test_a_client_that_met_few_duties_is_unknown_unless_it_violates_one() -> None:
    """So is one of whose scripts many had more events than are kept."""
    result = searched(None, 1)
    assert result.shown == ()
    reason = result.light
    assert " of 29 duties were judged, at least 75% must be" in reason
    assert f"unknown: {reason}" in list(lines(result, "x"))
    whole = json.loads(list(json_lines(result))[-1])
    assert (whole["verdict"], whole["reason"]) == ("unknown", reason)
    assert not alone(lambda: ShareClient(None), PART, FAST).light
    enough = attrs.evolve(result, stakes=Counter(Duty), runs=8)
    assert not enough.light
    assert "5 of 8 scripts were judged" in attrs.evolve(enough, full=3).light
    assert not searched(Fault.ALWAYS_ACCEPTS, 12).light


class Without(ShareClient):
    """A client that has only one mode, and whose polls may leave records unacknowledged."""

    def hello(self, command: Values) -> Values:
        return {
            **super().hello(command),
            "modes": ["explicit"],
            "without": [Duty.UNFINISHED_POLL.value],
        }


def test_a_client_is_not_held_to_a_call_that_it_does_not_have() -> None:
    assert alone(lambda: ShareClient(Fault.POLLS_ON), PART, FAST).shown != ()
    assert alone(lambda: Without(Fault.POLLS_ON), PART, FAST).shown == ()


def test_a_script_in_a_mode_that_a_client_does_not_have_is_refused() -> None:
    with pytest.raises(TargetError, match="no implicit mode"):
        alone(Without, TWO_POLLS, FAST)


STAYS = Known("stays", "It stays.", Duty.LEAVES, TWO_POLLS)


def test_what_is_known_is_counted_and_not_shown() -> None:
    limits = Limits(600, 5, shrink_seconds=0)
    result = campaign(lambda: ShareClient(Fault.STAYS), limits, 0, FAST, known=(STAYS,))
    (again,) = result.again
    assert (result.shown, again.shows, result.is_as_known) == ((), True, True)
    assert 0 < again.scripts <= result.runs == 5
    assert "nothing new, 1 known; 5 scripts" in "\n".join(lines(result, "x"))
    listed, whole = map(json.loads, json_lines(result))
    assert (listed["known"], listed["shows"], whole["verdict"]) == ("stays", True, "known")


def test_what_is_known_and_gone_is_no_success() -> None:
    result = campaign(lambda: ShareClient(None), Limits(600, 2), 0, FAST, known=(STAYS,))
    assert (result.shown, result.is_as_known) == ((), False)
    assert "GONE" in "\n".join(lines(result, "x"))
    assert json.loads(list(json_lines(result))[-1])["verdict"] == "gone"


def test_a_violation_of_the_same_duty_in_another_script_is_new() -> None:
    known = attrs.evolve(STAYS, after=frozenset({Do.IDLE}))
    limits = Limits(600, 6, shrink_seconds=0)
    result = campaign(lambda: ShareClient(Fault.STAYS), limits, 0, FAST, known=(known,))
    assert [shown.violation.duty for shown in result.shown] == [Duty.LEAVES]
    assert result.is_as_known is False
