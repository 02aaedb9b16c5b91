"""The source of a class of tests in Java, of which we check what needs no compiler."""

import re

from conformance.java import JavaWriter
from conformance.releases import NEWEST


def source_with(java: JavaWriter, method: str) -> str:
    """Return the source of a class with this method; its braces must balance."""
    source = java.source("FoundTest", [method], NEWEST)
    code = re.sub(r'"(?:\\.|[^"\\])*"', "", source)
    assert code.count("{") == code.count("}")
    assert "  // with" not in source
    return source
