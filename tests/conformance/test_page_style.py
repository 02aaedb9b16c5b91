"""The style of a page asks for nothing from elsewhere, and has a colour for each state."""

from conformance.page_style import STYLE
from conformance.picture import CODES


def test_nothing_is_loaded() -> None:
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    assert "<" not in STYLE
    assert STYLE.count("{") == STYLE.count("}")


def test_each_state_has_a_colour_by_day_by_night_and_on_paper() -> None:
    for code in CODES.values():
        assert f".{code}{{background:var(--{code.lower()})}}" in STYLE
        assert STYLE.count(f"--{code.lower()}:#") == 3
