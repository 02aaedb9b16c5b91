"""JUnit XML as systems for continuous integration read it."""

from xml.etree import ElementTree as ET

import pytest

from report.junit import JUnitCase, junit_text

ATTRIBUTES = {
    "testsuites": set[str](),
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "properties": set[str](),
    "property": {"name", "value"},
    "testcase": {"classname", "name", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"failure", "error", "skipped"},
}
"""What Jenkins' schema allows, as far as it is used here."""

ODD = "a\x00b\ud800c\ufffe<&\"'\U0001f600]]>"


def check(element: ET.Element) -> None:
    assert set(element.keys()) == ATTRIBUTES[element.tag]
    assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
    for child in element:
        check(child)


def suite_of(text: str) -> ET.Element:
    """Return the suite of a document in which all is as the schema has it, and counted."""
    root = ET.fromstring(text)  # noqa: S314 - what was just written
    check(root)
    (found,) = root
    for case in found.iter("testcase"):
        assert len(case) <= 1
        float(case.attrib["time"])
    for kind, total in {"failure": "failures", "error": "errors", "skipped": "skipped"}.items():
        assert found.attrib[total] == str(len(list(found.iter(kind))))
    names = [(case.attrib["classname"], case.attrib["name"]) for case in found.iter("testcase")]
    assert len(names) == len(set(names))
    assert found.attrib["tests"] == str(len(names))
    return found


def odd() -> str:
    case = JUnitCase("rule", ODD, "failure", ODD, ODD, 1.5)
    return junit_text(ODD, [case, JUnitCase("rule", "passes")], 2.0, {"version": ODD})


def test_text_is_escaped_wherever_it_stands() -> None:
    found = suite_of(odd())
    shown = "a\\x00b\\ud800c\\ufffe<&\"'\U0001f600]]>"
    (failure,) = found.iter("failure")
    (listed,) = found.iter("property")
    case = found.find("testcase")
    assert case is not None
    assert (found.attrib["name"], case.attrib["name"]) == (shown, shown)
    assert (failure.attrib["message"], failure.text, listed.attrib["value"]) == (shown,) * 3
    assert (case.attrib["classname"], case.attrib["time"]) == ("sharespec.rule", "1.500")


def test_without_escaping_it_cannot_be_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("report.junit._clean", lambda text: text.replace("\ud800", ""))
    with pytest.raises(ET.ParseError):
        suite_of(odd())
