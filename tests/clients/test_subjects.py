"""Drivers in processes, and the share consumers that others wrote."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import pytest
from _pytest.mark import ParameterSet

import clients
from clients.broker import scripted
from clients.duties import Duty
from clients.judge import judge
from clients.kit import CLIENTS, Clients, commands_of
from clients.play import Pace, play
from clients.scripts import Do, Script
from clients.stakes import DELIVERED
from clients.subjects import NAMES, OLDEST_KAFKA, VERSIONS, Drivers, Kept, driver_of, known_of
from conformance.campaign import Limits, alone, campaign, replayed
from conformance.known import read_known
from conformance.target import TargetError
from tests.clients.controls import (
    AT_ONCE,
    COMPACTED,
    EXPELLED,
    FENCED,
    MOVED,
    RECOORDINATED,
    RELEASED,
    RESTARTED,
    TWO_POLLS,
    script,
)
from tests.conformance.unbuilt import skip_unbuilt

CRATES = ("krafka", "kafkit", "kafrust", "krabka", "kacrab")
"""The clients that take so long to build that tests do not do it."""

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


def test_scripts_that_are_played_at_once_have_a_driver_each_until_all_are_ended() -> None:
    drivers, kit = Drivers(Kept(DOUBLE, 60)), Clients(Pace(poll_ms=20), tries=1, at_once=3)
    assert campaign(drivers.start, Limits(60, 3), kit).faults == ()
    processes = [kept._process for kept in (drivers.first, *drivers._others.values())]  # noqa: SLF001 - are they different
    assert len({*processes}) == len(processes) > 2
    assert drivers.start() is drivers.first
    drivers.end()
    with pytest.raises(TargetError, match="it was ended"):
        drivers.first.ask({"do": "hello", "protocol": 1})


def test_a_command_that_cannot_be_started_is_said() -> None:
    driver = driver_of(None, "/no/such/command", 1)
    with pytest.raises(TargetError, match="cannot be started"):
        driver.ask({"do": "hello"})
    driver.end()


@contextmanager
def driven(name: str, version: str | None = None) -> Iterator[Kept]:
    """Open the driver of a client that others wrote, or skip where it cannot be built."""
    try:
        kept = driver_of(name, None, 90, version)
    except TargetError as error:
        skip_unbuilt(error)
    yield kept
    kept.end()


@pytest.fixture
def driver(request: pytest.FixtureRequest) -> Iterator[Kept]:
    with driven(request.param) as kept:
        yield kept


def of(*names: str) -> pytest.MarkDecorator:
    """Run a test with the driver of each of these clients."""
    return pytest.mark.parametrize("driver", names, indirect=True)


@pytest.mark.broker
@of(*(name for name in NAMES if name not in CRATES))
def test_a_driver_ends_when_its_input_does(driver: Kept) -> None:
    with scripted() as broker:
        address = {
            "bootstrap": broker.served.address,
            "group": "g",
            "acquire_mode": "batch_optimized",
        }
        asked = (
            {"do": "open", "mode": "explicit", "max_poll_records": 500, **address},
            {"do": "subscribe", "topics": ["t"]},
            {"do": "poll", "timeout_ms": 500},
        )
        given = "".join(json.dumps(each) + "\n" for each in asked)
        command = shlex.split(driver.command)
        ended = subprocess.run(
            command, input=given, text=True, capture_output=True, timeout=60, check=True
        )
    assert len(ended.stdout.splitlines()) == len(asked)


def violated(driver: Kept, chosen: Script) -> list[Duty]:
    """Play one script; return the duties that it violates. Something must have been shown."""
    result = alone(lambda: driver, commands_of(chosen), CLIENTS)
    assert result.exercised[DELIVERED] > 0
    return [Duty(fault.deviation.name) for fault in result.faults]


NOT_FOUND = script(
    "explicit: produce 5, poll, accept, 20 no-coordinator, cut-acknowledgement, commit"
)
CLOSES = script("explicit: produce 5, poll, accept, commit")
LEAVES = script("explicit, 1 records: produce 1, poll, cut-acknowledgement")
PLAYED: dict[str, tuple[str, Script, list[Duty]]] = {
    "released": ("librdkafka", RELEASED, []),
    "two-polls": ("librdkafka", TWO_POLLS, []),
    "joins-again": ("librdkafka kafka", EXPELLED, []),
    "joins-again-once-fenced": ("librdkafka kafka", FENCED, []),
    "reports-gaps": ("librdkafka kafka", COMPACTED, []),
    "follows-the-leader": ("librdkafka kafka franz-go", MOVED, []),
    "follows-the-coordinator": ("librdkafka kafka franz-go", RECOORDINATED, []),
    "accepts-nothing-as-it-closes": ("librdkafka", AT_ONCE, []),  # As the Javadoc has it.
    "finds-no-coordinator-as-it-closes": ("librdkafka", NOT_FOUND, [Duty.LEAVES]),
    "closes": ("kafkats", CLOSES, [Duty.CLOSES]),
    "joins-again-and-closes": ("kafkats", EXPELLED, [Duty.CLOSES]),
    "leaves": ("kafkats", LEAVES, [Duty.LEAVES]),
}
"""The clients, separated by spaces, a script, and the duties that they violate by it."""


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize(
    ("driver", "what"),
    [(name, what) for what, (names, *_) in PLAYED.items() for name in names.split()],
    indirect=["driver"],
)
def test_a_client_violates_these_duties_and_no_other(driver: Kept, what: str) -> None:
    _, chosen, duties = PLAYED[what]
    assert violated(driver, chosen) == duties


@pytest.mark.slow
@pytest.mark.broker
@of("kafkats")
def test_kafkats_acknowledges_with_the_epoch_that_opens_a_session(driver: Kept) -> None:
    steps = "produce 5, poll, misnumber, accept 1, commit, accept, commit"
    assert Duty.EPOCHS in violated(driver, script(f"explicit: {steps}"))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.broker
@of("kafka")
def test_apache_kafkas_share_consumer_hangs_after_a_renewal_found_by_a_seed(driver: Kept) -> None:
    # The commit of this script renews, and is answered by broker 2 last.
    result = campaign(lambda: driver, Limits(600, 1, shrink_seconds=0), CLIENTS, 511)
    found = {Duty(fault.deviation.name) for fault in result.faults}
    assert found == {Duty.RECEIVES, Duty.NONE_DROPPED, Duty.RENEWED}


@pytest.mark.slow
@pytest.mark.broker
@of("kafka")
def test_acknowledgements_with_the_epoch_that_opens_a_session_are_of_the_older_release(
    driver: Kept,
) -> None:
    # KAFKA-19485: the broker starts again, nobody leads for a while, and the client acknowledges.
    assert violated(driver, RESTARTED) == []
    with driven("kafka", OLDEST_KAFKA) as older:
        # A busy machine may hide it, as the client acts in real time.
        assert any(Duty.EPOCHS in violated(older, RESTARTED) for _ in range(4))
        assert CLIENTS.hello(lambda: older).capabilities.renews is False


@pytest.mark.slow
@pytest.mark.broker
@of("spring-kafka")
def test_a_container_tells_its_listener_by_the_log_where_commits_are_asynchronous(
    driver: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = script("explicit: produce 1, poll, lapse, accept, commit")
    late = attrs.evolve(late, settings=attrs.evolve(late.settings, listens=True))
    in_time = attrs.evolve(late, steps=tuple(s for s in late.steps if s[0] is not Do.LAPSE))
    assert violated(driver, late) == [Duty.REFUSAL_KNOWN]
    assert violated(driver, in_time) == []
    driver.end()
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dasync=true")
    assert violated(driver, late) == []


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
@pytest.mark.parametrize(("name", "version"), [("librdkafka", "2.15.0"), ("franz-go", "1.21.0")])
def test_an_older_release_is_built_and_driven(name: str, version: str) -> None:
    with driven(name, version) as older:
        assert CLIENTS.hello(lambda: older).name == f"{name} {version}"
        assert violated(older, TWO_POLLS) == []


def unless_unbuilt(name: str) -> ParameterSet:
    """Return the parameters of a test of a client; a crate that is not built here is skipped."""
    path = Path(clients.__file__).parent / "targets" / name / "target" / "built"
    text = f"{name} is not built here; `sharespec verify-client {name}` builds it, in minutes"
    mark = pytest.mark.skipif(name in CRATES and not path.exists(), reason=text)
    return pytest.param(name, name, marks=mark)


BUSY = {"tells-nothing-of-a-session-before", "acknowledges-to-any-broker"}
"""Of krafka on a machine that is busy, where it acknowledges first; of krabka by chance."""


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize(
    ("driver", "name"),
    [unless_unbuilt(name) for name in NAMES],
    indirect=["driver"],
)
def test_what_is_known_of_a_client_shows_and_nothing_else(driver: Kept, name: str) -> None:
    path = known_of(name)
    assert path is not None
    listed = read_known(path, CLIENTS.read)
    known = tuple(each for each in listed if each.is_of(VERSIONS[name][-1]))
    # Each of those at once has a process, of which Java's take seconds to load and compile.
    drivers, kit = Drivers(driver), attrs.evolve(CLIENTS, at_once=3)
    with ExitStack() as at_end:
        at_end.callback(drivers.end)
        again = replayed(drivers.start, kit.hello(drivers.start), known, kit)
        assert {each.known.name for each in again if not each.fault} <= BUSY
        if name == "kafkit":
            return  # Its scripts take minutes: docs/findings/share-consumers.md says it.
        result = campaign(drivers.start, Limits(600, 4), kit, 1, known=known)
        assert (result.failure, result.faults) == ("", ())
