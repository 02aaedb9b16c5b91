"""Commands of every kit."""

from random import Random
from typing import Any, get_args

import pytest

from conformance.commands import ask_name
from conformance.coordinators.group_kit import GROUP_COORDINATORS
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.coordinators.share_kit import SHARE_COORDINATORS
from conformance.coordinators.share_scene import ShareCapabilities
from conformance.cores.asks import CoreFetch
from conformance.cores.builtin import EngineTarget
from conformance.cores.kit import CORES
from conformance.cores.protocol import DriverTarget
from conformance.kit import AnyKit
from conformance.wire.asks import WireFetch
from conformance.wire.kit import BROKERS
from tests.doubles.group_coordinator import GroupCoordinatorDouble
from tests.doubles.share_coordinator import DoubleCoordinator
from tests.doubles.spec_broker import SpecBroker


@pytest.mark.parametrize(
    ("kit", "target"),
    [
        (CORES, EngineTarget("spec")),
        (BROKERS, SpecBroker()),
        (SHARE_COORDINATORS, DriverTarget(DoubleCoordinator(), ShareCapabilities)),
        (GROUP_COORDINATORS, DriverTarget(GroupCoordinatorDouble(), GroupCapabilities)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_command_is_read_as_it_was_written(kit: AnyKit, target: Any) -> None:  # noqa: ANN401
    hello, unseen = target.hello(), set(get_args(kit.commands))
    for seed in range(40):
        stage = kit.stage(target, hello)
        command, draw = kit.draws(Random(seed), hello)  # noqa: S311 - no secret
        sequence = [command]
        while len(sequence) < 40:
            assert stage.ask(sequence[-1]) is None
            if (command := draw(stage)) is None:
                break
            sequence.append(command)
        stage.close()
        for short in (False, True):
            assert kit.read(kit.plain(sequence, short=short)) == tuple(sequence)
        if not (unseen := unseen - {type(each) for each in sequence}):
            return
    pytest.fail(f"no sequence has {unseen}")


def test_the_name_of_a_command_in_files_does_not_tell_its_kit() -> None:
    assert ask_name(CoreFetch) == ask_name(WireFetch) == "Fetch"


@pytest.mark.parametrize("kit", [CORES, BROKERS, SHARE_COORDINATORS, GROUP_COORDINATORS])
def test_the_names_of_a_kits_commands_differ(kit: AnyKit) -> None:
    kinds = get_args(kit.commands)
    assert len({ask_name(kind) for kind in kinds}) == len(kinds)
