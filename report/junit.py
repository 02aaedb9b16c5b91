"""Test cases as JUnit XML, which systems for continuous integration show."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from xml.etree import ElementTree as ET

import attrs

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not have, not even escaped."""

_NONE: Mapping[str, str] = MappingProxyType({})


@attrs.frozen
class JUnitCase:
    """A test case; ``kind`` is failure, error or skipped, and empty if it passes."""

    suite: str
    name: str
    kind: str = ""
    message: str = ""
    text: str = ""
    seconds: float = 0.0


def junit_text(
    name: str, cases: Sequence[JUnitCase], seconds: float, properties: Mapping[str, str] = _NONE
) -> str:
    """Return a document with one test suite, as Jenkins' schema has it."""
    kinds = Counter(case.kind for case in cases)
    suites = ET.Element("testsuites")
    suite = ET.SubElement(
        suites,
        "testsuite",
        name=_clean(name),
        tests=str(len(cases)),
        failures=str(kinds["failure"]),
        errors=str(kinds["error"]),
        skipped=str(kinds["skipped"]),
        time=f"{seconds:.3f}",
    )
    if properties:
        listed = ET.SubElement(suite, "properties")
        for key, value in properties.items():
            ET.SubElement(listed, "property", name=key, value=_clean(value))
    for case in cases:
        _add(suite, case)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _add(suite: ET.Element, case: JUnitCase) -> None:
    element = ET.SubElement(
        suite,
        "testcase",
        classname=f"sharespec.{case.suite}",
        name=_clean(case.name),
        time=f"{case.seconds:.3f}",
    )
    if case.kind:
        detail = ET.SubElement(element, case.kind, message=_clean(case.message))
        if case.kind != "skipped":
            detail.set("type", case.suite)
        detail.text = _clean(case.text) or None


def _clean(text: str) -> str:
    return _FORBIDDEN.sub(lambda c: c[0].encode("unicode_escape").decode("ascii"), text)
