"""The source of a class of tests in Java, of which we check what needs no compiler."""

import re
from typing import Any

from conformance.campaign import alone
from conformance.java import JavaCase, JavaWriter
from conformance.kit import AnyKit
from conformance.releases import NEWEST


def method_of(java: JavaWriter, kit: AnyKit, target: Any, sequence: tuple[Any, ...]) -> str:  # noqa: ANN401 - of any kit
    """Return the test of the first deviation that a sequence shows."""
    found, *_others = alone(target, sequence, kit).faults
    return java.method(target, kit, JavaCase("a fault", found))[1]


def source_with(java: JavaWriter, method: str) -> str:
    """Return the source of a class with this method; its braces must balance."""
    source = java.source("FoundTest", [method], NEWEST)
    code = re.sub(r'"(?:\\.|[^"\\])*"', "", source)
    assert code.count("{") == code.count("}")
    assert "  // with" not in source
    return source
