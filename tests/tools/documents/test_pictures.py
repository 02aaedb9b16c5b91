from xml.etree import ElementTree as ET

import pytest

from model.states import RecordState
from tests.test_architecture import MAY_IMPORT
from tools.documents import pictures
from tools.documents.pictures import Arrow, arrows, imports, packages_picture, states_picture


def test_the_arrows_are_those_of_the_rules() -> None:
    drawn = arrows()
    assert Arrow(RecordState.AVAILABLE, RecordState.ACQUIRED, "acquire") in drawn
    limit = "at the delivery limit"
    assert Arrow(RecordState.ACQUIRED, RecordState.ARCHIVED, "expire", limit) in drawn
    terminal = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
    assert not any(arrow.before in terminal for arrow in drawn)


def test_an_arrow_that_has_no_place_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    new = Arrow(RecordState.ACKNOWLEDGED, RecordState.AVAILABLE, "expire")
    monkeypatch.setattr(pictures, "arrows", lambda: [*arrows(), new])
    with pytest.raises(KeyError):
        states_picture()


def test_every_package_is_in_its_picture() -> None:
    text = "".join(ET.fromstring(packages_picture()).itertext())  # noqa: S314 - of our own making
    assert all(package in text for package in MAY_IMPORT)


def test_the_imports_are_those_that_the_layers_allow() -> None:
    assert {(a, b) for a, b in imports() if b not in MAY_IMPORT[a]} == set()
