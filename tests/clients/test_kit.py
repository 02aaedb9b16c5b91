"""Clients are searched as cores and brokers are: what of their duties is found, known and told."""

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from clients.drivers import Driver, Values
from clients.duties import Duty
from clients.events import RELEASE, Cut, Settings
from clients.kit import Clients, commands_of, said
from clients.play import Pace
from clients.scripts import PRODUCES, Do, Script
from clients.stakes import ACKNOWLEDGED, DELIVERED
from clients.subjects import NAMES, known_of
from conformance.campaign import Campaign, Limits, Replayed, alone, campaign, replayed
from conformance.junit import as_junit
from conformance.known import KnownDeviation, KnownError, read_known
from conformance.plain import as_json
from conformance.report import KitVerdict, Report, document, totals_text
from conformance.target import TargetError
from report.markdown import markdown_text
from tests.clients.controls import (
    ADDED,
    COMPACTED,
    CONTROLS,
    EVICTED_DRAINED,
    LIMIT,
    PART,
    RESUBSCRIBED,
    STARVING,
    TWO_POLLS,
)
from tests.doubles.share_client import FailureError, ShareClient
from tests.doubles.share_faults import Fault
from tests.long import cases

FAST = Clients(Pace(poll_ms=20), tries=1, at_once=5)
HASTY = attrs.evolve(FAST, pace=Pace(poll_ms=20, patience_seconds=1))
RARE = {
    Fault.DROPS_BESIDE: 4,
    Fault.DROPS_REVOKED: 5,
    Fault.FREEZES: 29,
    Fault.HASTY: 5,
    Fault.KEEPS_DELETED: 10,
    Fault.LEAVES_ONCE: 19,
    Fault.MIXES_TOPICS: 20,
    Fault.NEVER_REJOINS: 3,
    Fault.NEW_MEMBER_ID: 3,
    Fault.OLD_EPOCH: 3,
    Fault.STAYS_WITH_LEADER: 6,
    Fault.SUBSCRIBES_ONCE: 4,
}
"""Faults that few scripts show, and the seed from which on they are looked for."""


def limits(runs: int, shrink_seconds: float = 60) -> Limits:
    return Limits(600, runs, examples=1, shrink_seconds=shrink_seconds)


def searched(fault: Fault | None, runs: int, seed: int = 0, **more: Any) -> Campaign[Any]:  # noqa: ANN401 - arguments
    return campaign(lambda: ShareClient(fault), limits(runs, **more), FAST, seed)


def played(start: type[ShareClient] | Any, script: Script) -> Campaign[Any]:  # noqa: ANN401 - starts a driver
    return alone(start, commands_of(script), FAST)


def test_what_a_client_does_by_itself_is_judged_as_its_driver_says() -> None:
    for itself in (False, True):
        able = attrs.evolve(FAST.hello(ShareClient).capabilities, renews_itself=itself)
        hello = attrs.evolve(FAST.hello(ShareClient), capabilities=able)
        stage = FAST.stage(ShareClient, hello)
        for command in commands_of(TWO_POLLS):
            stage.ask(command)
        assert stage.end() == ()
        assert stage.record is not None
        assert stage.record.settings.renews_itself is itself


def duties(result: Campaign[Any]) -> list[str]:
    return [fault.deviation.name for fault in result.faults]


@pytest.fixture(scope="module")
def accepting() -> Campaign[Any]:
    """What a search finds in a client that accepts whatever its application says."""
    return searched(Fault.ALWAYS_ACCEPTS, 12)


def test_a_faulty_client_is_found_by_chance_and_its_script_has_no_step_too_many(
    accepting: Campaign[Any],
) -> None:
    faults = accepting.faults
    assert {fault.deviation.name for fault in faults} == {Duty.AS_SAID.value}
    shown = [tuple(step.do for step in fault.sequence[1:]) for fault in faults]
    kinds = (PRODUCES, (Do.POLL, Do.POLL_ONCE), (Do.RELEASE, Do.REJECT))
    assert {*shown} <= {*itertools.product(*kinds)}
    several = [fault.sequence[0].script.brokers > 1 for fault in faults]
    forms = [*zip(shown, several, strict=True)]
    assert len({*forms}) == len(forms)  # It has a script more for each of other steps.


def test_the_same_seed_draws_the_same_scripts_and_another_seed_others() -> None:
    results = [searched(Fault.STAYS, 1, seed, shrink_seconds=0) for seed in (1, 1, 2)]
    first, again, other = (result.faults[0].sequence for result in results)
    assert first == again != other


LONG = {
    *(Fault.KEEPS_ASSIGNMENT, Fault.STAYS_WITH_LEADER, Fault.SUBSCRIBES_ONCE, Fault.COUNTS_ONE),
    *(Fault.CUTS_VALUES, Fault.DROPS_FAR, Fault.DROPS_REVOKED, Fault.EAGER, Fault.FOUR_BROKERS),
    *(Fault.NEVER_LEARNS, Fault.REPEATS, Fault.SILENT_ABOUT_GAPS, Fault.STAYS, Fault.UNSAID),
    *(Fault.DROPS_BESIDE, Fault.FREEZES, Fault.GIVES_UP, Fault.HASTY, Fault.KEEPS_LONGEST),
    *(Fault.LOSES_SOME, Fault.NEW_MEMBER_ID, Fault.OLD_EPOCH, Fault.OPENS_WITH_ACKNOWLEDGEMENTS),
    *(Fault.RENEWS_AND_FETCHES, Fault.STAYS_WITH_COORDINATOR, Fault.STOPS_AT_EMPTY),
    Fault.TELLS_SUCCESS,
}
"""Of the duty that each violates but the first two, another fault is found; a script shows each."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    cases((each for each in Fault if each is not Fault.BUSY), LONG.__contains__),
    ids=lambda fault: fault.name,
)
def test_every_fault_is_found_by_chance(fault: Fault) -> None:
    expected = {duty.value for other, duty, _ in CONTROLS if other is fault}
    first = RARE.get(fault, 0)
    kit = HASTY if fault in STARVING else FAST
    # Scripts take real time, so that a busy machine may hide what one shows: some are played again.
    for seed in (*range(first, first + 20), *[*range(first, first + 5)] * 2):
        result = campaign(lambda: ShareClient(fault), limits(5, 0), kit, seed)
        if expected & set(duties(result)):
            return
    pytest.fail(f"{expected} is not found in 100 scripts, of which 25 were played thrice")


@pytest.mark.parametrize(
    ("fault", "script", "duty", "words"),
    [
        (Fault.NEVER_LEARNS, ADDED, Duty.RECEIVES, ["no fetch asks for t-1, which is assigned"]),
        (Fault.SUBSCRIBES_ONCE, RESUBSCRIBED, Duty.RECEIVES, ["u-0, which is subscribed to, is"]),
        (Fault.GIVES_UP, EVICTED_DRAINED, Duty.RECEIVES, ["a fetch could get records"]),
        (Fault.SILENT_ABOUT_GAPS, COMPACTED, Duty.GAPS, ["polls brought all", "one after it"]),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else "",
)
def test_each_way_to_violate_a_duty_is_a_deviation_of_its_own(
    fault: Fault, script: Script, duty: Duty, words: list[str]
) -> None:
    shown = alone(lambda: ShareClient(fault), commands_of(script), HASTY).faults
    found = [fault.deviation for fault in shown if fault.deviation.name == duty.value]
    assert len({each.probable_cause for each in found}) == len(found) == len(words)
    assert {each.signature for each in found} == {(duty.value, "")}
    assert all(any(word in each.recorded for each in found) for word in words)
    assert not any(map(str.isdigit, str([each.cause for each in found])))


def test_a_driver_that_ends_is_refused() -> None:
    class Broken(ShareClient):
        def poll(self, command: Values) -> Values:  # noqa: ARG002 - it ends at its first
            raise TargetError("it ended")

    with pytest.raises(TargetError, match="it ended"):
        campaign(Broken, limits(50), FAST)


def test_a_report_has_the_duty_its_sentence_and_the_last_events() -> None:
    result = played(lambda: ShareClient(Fault.UNSAID), PART)
    report = Report(FAST, result, (), result.faults, command="verify-client X", title="t")
    text = markdown_text(document(report))
    assert "## New: 1. acknowledges-nothing-unsaid: " in text
    assert 'verify-client X --play \'{"mode":"explicit",' in text
    assert "The application must acknowledge all records returned" in text
    assert "| 1 | " in text
    shown, *_ = map(json.loads, as_json(report))
    assert (shown["rule"], shown["sequence"]["mode"]) == ("acknowledges-nothing-unsaid", "explicit")
    assert len(shown["steps"]) <= 12
    assert FAST.read(shown["sequence"]) == result.faults[0].sequence


def test_a_client_that_conforms_is_judged_by_the_duties_that_were_at_stake() -> None:
    result = searched(None, 12)
    counts = {goal.name: count for goal, count in result.coverage.covered}
    assert counts[DELIVERED] > 0
    assert counts[Duty.ONCE.value] > 0
    names = {goal.name for goal in (*dict(result.coverage.covered), *result.coverage.missed)}
    assert names >= {duty.value for duty in Duty}
    assert Report(FAST, result, (), ()).verdict is KitVerdict.CONFORMS


def test_a_client_that_met_few_duties_is_unknown_unless_it_violates_one(
    accepting: Campaign[Any],
) -> None:
    result = searched(None, 1)
    report = Report(FAST, result, (), ())
    assert report.verdict is KitVerdict.UNKNOWN
    assert f" of {len(Duty)} duties were judged, at least 75% must be" in report.unknown
    assert not Report(FAST, played(lambda: ShareClient(None), PART), (), ()).unknown
    assert Report(FAST, accepting, (), accepting.faults).verdict is KitVerdict.DEVIATES


def test_nothing_is_shown_before_records_are_delivered_and_acknowledged() -> None:
    hello = FAST.hello(ShareClient)
    every = Counter(dict.fromkeys((duty.value for duty in Duty), 1))
    for lacks in (DELIVERED, ACKNOWLEDGED):
        counts = every + Counter({DELIVERED: 1, ACKNOWLEDGED: 1})
        counts[lacks] = 0
        assert FAST.lack(counts, hello).startswith(
            "nothing was shown of the double: no record was "
        )
    assert not FAST.lack(every + Counter({DELIVERED: 1, ACKNOWLEDGED: 1}), hello)


class Lacking(ShareClient):
    """A client that says of itself what it has not."""

    lacks: ClassVar[Values] = {}

    def hello(self, command: Values) -> Values:
        return super().hello(command) | self.lacks


class Without(Lacking):
    """It has only one mode, and its polls may leave records unacknowledged."""

    lacks: ClassVar[Values] = {"modes": ["explicit"], "without": [Duty.UNFINISHED_POLL.value]}


class Batches(Lacking):
    """It has no record_limit, as Apache Kafka's of 4.1."""

    lacks: ClassVar[Values] = {"acquire_modes": ["batch_optimized"]}


def test_a_client_is_not_held_to_a_call_that_it_does_not_have() -> None:
    assert duties(played(lambda: ShareClient(Fault.POLLS_ON), PART)) != []
    assert duties(played(lambda: Without(Fault.POLLS_ON), PART)) == []
    assert "its client has no such call" in str(FAST.coverage({}, FAST.hello(Without)).skipped)


class Unreadable(ShareClient):
    """A client whose first polls fail in time, and release what they got; or drop it."""

    failures, drops = 4, False

    def poll(self, command: Values) -> Values:
        answer = super().poll(command)
        if answer["records"] and self.failures:
            self.failures -= 1
            time.sleep(0.4)
            if not self.drops:
                self.pending |= dict.fromkeys(self.current, RELEASE)
                self.givers |= {key: got.broker for key, got in self.current.items()}
            self.current = {}
            raise FailureError("unreadable")
        return answer


class Dropping(Unreadable):
    """Drops what it cannot read."""

    drops = True


def test_a_client_that_releases_what_it_cannot_read_goes_on_and_one_that_drops_it_does_not() -> (
    None
):
    drained = Script(Settings(explicit=True), 1, ((Do.PRODUCE, 1), (Do.DRAIN, 0)))
    assert alone(Unreadable, commands_of(drained), FAST).faults == ()
    assert Duty.RECEIVES.value in duties(alone(Dropping, commands_of(drained), HASTY))


def test_a_client_without_record_limit_is_not_held_to_it() -> None:
    assert duties(played(lambda: ShareClient(Fault.RETURNS_MORE), LIMIT)) == [Duty.AT_MOST.value]
    assert duties(played(lambda: Batches(Fault.RETURNS_MORE), LIMIT)) == []
    assert duties(played(lambda: Batches(Fault.ASKS_MORE), LIMIT)) == [Duty.AT_MOST.value]


def test_a_script_in_a_mode_that_a_client_does_not_have_is_refused() -> None:
    with pytest.raises(TargetError, match="no implicit mode"):
        played(Without, TWO_POLLS)


def at_starts(fault: Fault, *faulty: int) -> Callable[[], Driver]:
    """Return what starts a client that has a fault in these of its lives, counted from 1."""
    lives = itertools.count()  # The first says hello.
    return lambda: ShareClient(fault if next(lives) in faulty else None)


@pytest.mark.slow
def test_what_does_not_come_back_is_unconfirmed_and_fails_nothing() -> None:
    result = campaign(at_starts(Fault.STAYS, 2), limits(8, 0), attrs.evolve(FAST, at_once=1))
    (doubt,) = result.unconfirmed
    assert (result.faults, doubt.deviation.name) == ((), Duty.LEAVES.value)
    assert (doubt.seen, doubt.in_vain, result.sequences) == (1, FAST.confirmations, 8)
    report = Report(FAST, result, (), (), command="verify-client X")
    assert report.verdict is KitVerdict.UNCONFIRMED
    says = "unconfirmed: 1 random sequence showed it, and played again 5 times they did not"
    assert says in markdown_text(document(report))
    assert "1 unconfirmed, nothing else new: 0 new, 0 known, 0 gone, 1" in totals_text(report)
    shown, *_, whole = map(json.loads, as_json(report))
    assert (shown["kind"], shown["rule"], shown["in_vain"]) == (
        "unconfirmed",
        "leaves-the-group",
        5,
    )
    assert (whole["verdict"], FAST.read(shown["sequence"])) == ("unconfirmed", doubt.sequence)
    junit = as_junit(report)
    assert f'name="leaves-the-group" time="0.000">\n      <skipped message="{says}"' in junit
    assert 'failures="0"' in junit


STAYS = KnownDeviation(
    "stays", "It stays.", (Duty.LEAVES.value, ""), sequence=commands_of(TWO_POLLS)
)


def test_what_is_known_is_counted_and_not_shrunk() -> None:
    def start() -> Driver:
        return ShareClient(Fault.STAYS)

    result = campaign(start, limits(5, 0), FAST, known=(STAYS,))
    assert (result.faults, 0 < result.met["stays"] <= 5) == ((), True)
    again = [*replayed(start, FAST.hello(start), (STAYS,), FAST)]
    report = Report(FAST, result, tuple(again), ())
    assert again[0].fault
    assert f"Shown by {result.met['stays']} random sequence" in markdown_text(document(report))
    gone = [*replayed(ShareClient, FAST.hello(start), (STAYS,), FAST)]
    assert gone == [Replayed(STAYS, None)]


def test_what_is_no_command_of_a_script_is_named(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    entry = 'name = "a"\nreason = "r"\nsignature = ["leaves-the-group", ""]'
    path.write_text(f'[[deviation]]\n{entry}\nsequence = \'{{"steps":[["pull"]]}}\'\n')
    with pytest.raises(KnownError, match=r"deviation 1: step 0 is \['pull'\]; allowed: "):
        read_known(path, FAST.read)


@pytest.mark.parametrize("name", [name for name in NAMES if known_of(name)])
def test_what_is_known_of_a_client_has_duties_and_steps_and_a_page(name: str) -> None:
    path = known_of(name)
    assert path is not None
    for known in read_known(path, FAST.read):
        assert known.signature[0] in {duty.value for duty in Duty}
        assert known.after <= {"listens", *(do.value for do in Do)}
        page = Path(__file__).parents[2] / known.page
        assert known.signature[0] in page.read_text(encoding="utf-8")


def test_a_script_is_what_its_commands_say_and_an_event_is_text() -> None:
    draws = FAST.draws(random.Random(0), FAST.hello(ShareClient))  # noqa: S311 - chance
    assert draws[0] == FAST.read(FAST.plain((draws[0],)))[0]
    assert said(Cut(3, 1, took_effect=False)) == "cut number=1 took_effect=False"
