import pytest

from model.states import RecordState
from tools.documents import pictures
from tools.documents.pictures import Arrow, arrows, states_picture


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
