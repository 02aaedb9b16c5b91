"""Deviations of Apache Kafka's SharePartition as JUnit tests."""

import attrs

from conformance.cores import asks
from conformance.cores.java_calls import statements
from conformance.cores.java_expected import LastStep, asserted
from conformance.cores.scene import Exchanged
from conformance.cores.target import Target
from conformance.java import JavaCase, JavaSteps, JavaWriter, NoTestError
from conformance.kit import AnyKit


def _steps(target: Target, kit: AnyKit, case: JavaCase) -> JavaSteps:
    """Play a deviation once more. Raises TargetError and NoTestError."""
    exchanges, last = _played(target, kit, case)
    awaited = [done.seq for done in last.scene.expected.completed]
    *before, (setup, call, _) = statements(exchanges, last.hello, awaited)
    steps: list[tuple[str, str]] = []
    for lines, called, seen in before:
        steps += ((line, "") for line in lines)
        steps += [(f"{called};", seen)] if called else []
    return JavaSteps(last.deviation, last.hello, steps, [*setup, *asserted(last, call)])


def _played(target: Target, kit: AnyKit, case: JavaCase) -> tuple[list[Exchanged], LastStep]:
    """Play a sequence up to its deviation; compactions are exchanges that ask for nothing."""
    hello = target.hello()
    scene = kit.stage(target, hello)
    exchanges: list[Exchanged] = []
    for ask in case.fault.sequence:
        before, log, known = scene.partition, list(scene.log), len(scene.exchanges)
        deviation = scene.ask(ask)
        asked = scene.exchanges[known:]
        if isinstance(ask, asks.CoreProduceAborted):
            asked = [attrs.evolve(e, operation={**e.operation, "op": "abort"}) for e in asked]
        exchanges += asked
        if deviation is not None:
            return exchanges, LastStep(deviation, exchanges[-1], before, scene, hello)
        if isinstance(ask, asks.CoreCompact):
            gone = [batch for batch in log if batch not in scene.log]
            exchanges.append(Exchanged(-1, {"op": "compact", "gone": gone}, (), {}))
    raise NoTestError(f"{case.name} did not show when it was played again")


SHARE_PARTITION = JavaWriter("SharePartition.java", _steps, older=True)
"""Of the core of Apache Kafka."""
