"""Drivers in processes, and the share consumers that others wrote."""

import sys

import pytest

from clients.campaign import Limits, alone, campaign
from clients.duties import Duty
from clients.events import Settings
from clients.judge import judge
from clients.known import read_known
from clients.play import Pace, play
from clients.scripts import Do, Script
from clients.subjects import Kept, driver_of, known_of
from conformance.target import TargetError
from tests.clients.controls import (
    EXPELLED,
    EXPLICIT,
    FENCED,
    FIVE,
    IMPLICIT,
    RELEASED,
    TWO_POLLS,
    script,
)
from tests.conformance.unbuilt import skip_without_kafka

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


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize(
    "chosen",
    [RELEASED, TWO_POLLS, EXPELLED, FENCED],
    ids=["released", "two-polls", "expelled", "fenced"],
)
def test_librdkafka_conforms(chosen: object) -> None:
    driver = driver_of("librdkafka", None, 90)
    try:
        result = alone(lambda: driver, chosen)  # type: ignore[arg-type] # of the parameters
    finally:
        driver.end()
    assert result.client.name.startswith("librdkafka ")
    assert result.shown == ()


@pytest.mark.slow
@pytest.mark.broker
def test_librdkafka_does_not_accept_at_close_as_the_javadoc_has_it() -> None:
    driver = driver_of("librdkafka", None, 90)
    try:
        result = alone(lambda: driver, script(IMPLICIT, FIVE, Do.POLL))
    finally:
        driver.end()
    assert result.shown == ()


@pytest.mark.slow
@pytest.mark.broker
def test_librdkafka_stays_in_the_group_where_the_coordinator_is_not_found_as_it_closes() -> None:
    driver = driver_of("librdkafka", None, 90)
    away = [Do.NO_COORDINATOR] * 20
    cut = script(EXPLICIT, FIVE, Do.POLL, Do.ACCEPT, *away, Do.CUT_ACKNOWLEDGEMENT, Do.COMMIT)
    try:
        result = alone(lambda: driver, cut)
    finally:
        driver.end()
    assert [shown.violation.duty for shown in result.shown] == [Duty.LEAVES]


@pytest.mark.slow
@pytest.mark.broker
def test_apache_kafkas_share_consumer_conforms() -> None:
    try:
        driver = driver_of("kafka", None, 90)
    except TargetError as error:
        skip_without_kafka(error)
    try:
        result = campaign(lambda: driver, Limits(600, 4))
    finally:
        driver.end()
    assert result.client.name.startswith("Apache Kafka ")
    assert (result.failure, result.shown) == (None, ())


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize("chosen", [EXPELLED, FENCED], ids=["expelled", "fenced"])
def test_apache_kafkas_share_consumer_joins_again(chosen: Script) -> None:
    try:
        driver = driver_of("kafka", None, 90)
    except TargetError as error:
        skip_without_kafka(error)
    try:
        result = alone(lambda: driver, chosen)
    finally:
        driver.end()
    assert (result.shown, result.lack) == ((), None)


def kafkats() -> Kept:
    try:
        return driver_of("kafkats", None, 90)
    except TargetError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.broker
def test_kafkats_does_not_close_its_session() -> None:
    driver = kafkats()
    try:
        result = alone(lambda: driver, script(EXPLICIT, FIVE, Do.POLL, Do.ACCEPT, Do.COMMIT))
    finally:
        driver.end()
    assert result.client.name == "@kafkats/client 0.12.0"
    assert [shown.violation.duty for shown in result.shown] == [Duty.CLOSES]


@pytest.mark.slow
@pytest.mark.broker
def test_kafkats_joins_again() -> None:
    driver = kafkats()
    try:
        result = alone(lambda: driver, EXPELLED)
    finally:
        driver.end()
    assert [shown.violation.duty for shown in result.shown] == [Duty.CLOSES]


@pytest.mark.slow
@pytest.mark.broker
def test_kafkats_stays_in_the_group_when_its_connection_is_cut_as_it_stops() -> None:
    driver = kafkats()
    one = Settings(explicit=True, max_poll_records=1)
    cut = script(one, (Do.PRODUCE, 1), Do.POLL, Do.CUT_ACKNOWLEDGEMENT)
    try:
        result = alone(lambda: driver, cut)
    finally:
        driver.end()
    assert [shown.violation.duty for shown in result.shown] == [Duty.LEAVES]


@pytest.mark.slow
@pytest.mark.broker
def test_kafkats_acknowledges_with_the_epoch_that_opens_a_session() -> None:
    driver = kafkats()
    steps = (FIVE, Do.POLL, Do.MISNUMBER, (Do.ACCEPT, 1), Do.COMMIT, Do.ACCEPT, Do.COMMIT)
    try:
        result = alone(lambda: driver, script(EXPLICIT, *steps))
    finally:
        driver.end()
    assert Duty.EPOCHS in {shown.violation.duty for shown in result.shown}


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize("name", ["librdkafka", "kafkats"])
def test_what_is_known_of_a_client_shows_and_nothing_else(name: str) -> None:
    path = known_of(name)
    assert path is not None
    driver = kafkats() if name == "kafkats" else driver_of(name, None, 90)
    try:
        result = campaign(lambda: driver, Limits(600, 8), known=read_known(path))
    finally:
        driver.end()
    assert [each.known.name for each in result.again if not each.shows] == []
    assert (result.failure, result.shown, result.lack) == (None, (), None)
