"""Drivers in processes, and the share consumers that others wrote."""

import sys
from collections.abc import Iterator

import pytest

from clients.duties import Duty
from clients.events import Settings
from clients.judge import judge
from clients.kit import CLIENTS, DELIVERED, commands_of
from clients.play import Pace, play
from clients.scripts import Do, Script
from clients.subjects import NAMES, OLDEST_KAFKA, Kept, driver_of, known_of
from conformance.campaign import Limits, alone, campaign, replayed
from conformance.known import read_known
from conformance.target import TargetError
from tests.clients.controls import (
    COMPACTED,
    EXPELLED,
    EXPLICIT,
    FENCED,
    FIVE,
    IMPLICIT,
    MOVED,
    RECOORDINATED,
    RELEASED,
    RESTARTED,
    TWO_POLLS,
    script,
)
from tests.conformance.unbuilt import skip_unbuilt

DOUBLE = f"{sys.executable} -m tests.doubles.share_client"


def test_a_driver_goes_on_to_the_next_script_in_the_same_process() -> None:
    driver = Kept(DOUBLE, 60)
    processes = []
    for _ in range(2):
        assert judge(play(RELEASED, lambda: driver, Pace(poll_ms=20))) == ()
        processes.append(driver._process)  # noqa: SLF001 - whether it is the same one
    driver.end()
    assert processes[0] is processes[1] is not None


def test_a_driver_whose_script_broke_off_is_started_anew() -> None:
    driver = Kept(DOUBLE, 60)
    driver.ask({"do": "hello", "protocol": 1})
    first = driver._process  # noqa: SLF001 - whether it is the same one
    driver.ask({"do": "open", "bootstrap": "127.0.0.1:1", "mode": "implicit"})
    driver.close()
    assert driver._process is None  # noqa: SLF001 - as above
    driver.ask({"do": "hello", "protocol": 1})
    assert driver._process is not first  # noqa: SLF001 - as above
    driver.end()


def test_a_command_that_cannot_be_started_is_said() -> None:
    driver = driver_of(None, "/no/such/command", 1)
    with pytest.raises(TargetError, match="cannot be started"):
        driver.ask({"do": "hello"})
    driver.end()


@pytest.fixture
def driver(request: pytest.FixtureRequest) -> Iterator[Kept]:
    """Yield the driver of a client that others wrote, by its name."""
    try:
        kept = driver_of(request.param, None, 90)
    except TargetError as error:
        skip_unbuilt(error)
    yield kept
    kept.end()


def of(*names: str) -> pytest.MarkDecorator:
    """Run a test with the driver of each of these clients."""
    return pytest.mark.parametrize("driver", names, indirect=True)


def violated(driver: Kept, chosen: Script) -> list[Duty]:
    """Play one script; return the duties that it violates. Something must have been shown."""
    result = alone(lambda: driver, commands_of(chosen), CLIENTS)
    assert result.exercised[DELIVERED] > 0
    return [Duty(fault.deviation.name) for fault in result.faults]


@pytest.mark.slow
@pytest.mark.broker
@of("librdkafka")
@pytest.mark.parametrize("chosen", [RELEASED, TWO_POLLS], ids=["released", "two-polls"])
def test_librdkafka_conforms(driver: Kept, chosen: Script) -> None:
    assert violated(driver, chosen) == []


@pytest.mark.slow
@pytest.mark.broker
@of("librdkafka", "kafka")
@pytest.mark.parametrize("chosen", [EXPELLED, FENCED], ids=["expelled", "fenced"])
def test_a_member_joins_again(driver: Kept, chosen: Script) -> None:
    assert violated(driver, chosen) == []


@pytest.mark.slow
@pytest.mark.broker
@of("librdkafka", "kafka")
def test_gaps_are_reported(driver: Kept) -> None:
    assert violated(driver, COMPACTED) == []


@pytest.mark.slow
@pytest.mark.broker
@of("librdkafka", "kafka", "franz-go")
@pytest.mark.parametrize(
    "chosen", [MOVED, RECOORDINATED], ids=["moved-leader", "moved-coordinator"]
)
def test_leaders_and_coordinators_are_followed(driver: Kept, chosen: Script) -> None:
    assert violated(driver, chosen) == []


@pytest.mark.slow
@pytest.mark.broker
@of("librdkafka")
def test_nothing_is_accepted_at_close_as_the_javadoc_has_it(driver: Kept) -> None:
    assert violated(driver, script(IMPLICIT, FIVE, Do.POLL)) == []


@pytest.mark.slow
@pytest.mark.broker
@of("librdkafka")
def test_librdkafka_stays_in_the_group_where_the_coordinator_is_not_found_as_it_closes(
    driver: Kept,
) -> None:
    away = [Do.NO_COORDINATOR] * 20
    cut = script(EXPLICIT, FIVE, Do.POLL, Do.ACCEPT, *away, Do.CUT_ACKNOWLEDGEMENT, Do.COMMIT)
    assert violated(driver, cut) == [Duty.LEAVES]


@pytest.mark.slow
@pytest.mark.broker
@of("kafka")
def test_apache_kafkas_share_consumer_hangs_after_a_renewal_found_by_a_seed(driver: Kept) -> None:
    # The commit of this script renews, and is answered by broker 2 last.
    result = campaign(lambda: driver, Limits(600, 1, shrink_seconds=0), CLIENTS, 511)
    found = {Duty(fault.deviation.name) for fault in result.faults}
    assert found == {Duty.RECEIVES, Duty.NONE_DROPPED, Duty.RENEWED}


@pytest.fixture
def older() -> Iterator[Kept]:
    """Yield the driver of the oldest release of Apache Kafka's client."""
    try:
        kept = driver_of("kafka", None, 90, OLDEST_KAFKA)
    except TargetError as error:
        skip_unbuilt(error)
    yield kept
    kept.end()


@pytest.mark.slow
@pytest.mark.broker
@of("kafka")
def test_acknowledgements_with_the_epoch_that_opens_a_session_are_of_the_older_release(
    driver: Kept, older: Kept
) -> None:
    # KAFKA-19485: the broker starts again, nobody leads for a while, and the client acknowledges.
    assert violated(driver, RESTARTED) == []
    assert Duty.EPOCHS in violated(older, RESTARTED)
    assert CLIENTS.hello(lambda: older).renews is False


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("kafka", "4.0.0", r"kafka '4.0.0' cannot be driven; allowed: 4.1.0, .*, 4.4.0"),
        ("librdkafka", "2.14.0", "'2.14.0' cannot be driven; allowed: 2.15.0, 2.15.1, 2.16.0, 2"),
        ("franz-go", "v1.21.0", "franz-go 'v1.21.0' cannot be driven; allowed: 1.21.0, "),
        ("kafkats", "1", "kafkats '1' cannot be driven; allowed: 0.12.0"),
        (None, "1", "--exec '1' cannot be driven; allowed: none, as a command says"),
    ],
)
def test_a_version_that_cannot_be_driven_is_said(name: str | None, version: str, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        driver_of(name, None if name else "x", 90, version)


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize(
    ("name", "version", "says"),
    [("librdkafka", "2.15.0", "librdkafka 2.15.0"), ("franz-go", "1.21.0", "franz-go 1.21.0")],
)
def test_an_older_release_is_built_and_driven(name: str, version: str, says: str) -> None:
    try:
        older = driver_of(name, None, 90, version)
    except TargetError as error:
        skip_unbuilt(error)
    assert CLIENTS.hello(lambda: older).name == says
    assert violated(older, TWO_POLLS) == []
    older.end()


ONE = Settings(explicit=True, max_poll_records=1)


@pytest.mark.slow
@pytest.mark.broker
@of("kafkats")
@pytest.mark.parametrize(
    ("chosen", "duty"),
    [
        (script(EXPLICIT, FIVE, Do.POLL, Do.ACCEPT, Do.COMMIT), Duty.CLOSES),
        (EXPELLED, Duty.CLOSES),
        (script(ONE, (Do.PRODUCE, 1), Do.POLL, Do.CUT_ACKNOWLEDGEMENT), Duty.LEAVES),
    ],
    ids=["closes", "joins-again", "leaves"],
)
def test_kafkats_violates_one_duty(driver: Kept, chosen: Script, duty: Duty) -> None:
    assert violated(driver, chosen) == [duty]


@pytest.mark.slow
@pytest.mark.broker
@of("kafkats")
def test_kafkats_acknowledges_with_the_epoch_that_opens_a_session(driver: Kept) -> None:
    steps = (FIVE, Do.POLL, Do.MISNUMBER, (Do.ACCEPT, 1), Do.COMMIT, Do.ACCEPT, Do.COMMIT)
    assert Duty.EPOCHS in violated(driver, script(EXPLICIT, *steps))


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize(
    ("driver", "name"),
    [(name, name) for name in NAMES],
    indirect=["driver"],
    ids=NAMES,
)
def test_what_is_known_of_a_client_shows_and_nothing_else(driver: Kept, name: str) -> None:
    path = known_of(name)
    assert path is not None
    known = read_known(path, CLIENTS.read)
    again = replayed(lambda: driver, CLIENTS.hello(lambda: driver), known, CLIENTS)
    assert [each.known.name for each in again if not each.fault] == []
    result = campaign(lambda: driver, Limits(600, 8), CLIENTS, 1, known=known)
    assert (result.failure, result.faults) == ("", ())
