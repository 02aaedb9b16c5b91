"""Deviations of Apache Kafka's SharePartition as JUnit tests."""

from conformance.cores.java_calls import statements
from conformance.cores.java_expected import LastStep, asserted
from conformance.cores.scene import Scene
from conformance.cores.target import CoreHello
from conformance.java import JavaSteps, JavaWriter
from judge.finding import Finding


def _steps(scene: Scene, deviation: Finding, hello: CoreHello) -> JavaSteps:
    *before, (setup, call, _) = statements(scene, hello)
    steps: list[tuple[str, str]] = []
    for lines, called, seen in before:
        steps += ((line, "") for line in lines)
        steps += [(f"{called};", seen)] if called else []
    return steps, [*setup, *asserted(LastStep(deviation, scene, hello), call)]


SHARE_PARTITION = JavaWriter("SharePartition.java", _steps, older=True)
"""Of the core of Apache Kafka."""
