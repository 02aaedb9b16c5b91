"""Text on a terminal is shown, not obeyed, and long lists are cut."""

from io import StringIO

import pytest
from rich.console import Console

from report.document import Document, Fields, Grid, Heading
from report.terminal import section_text, show_document, shown_progress
from tests.report.samples import sample


def printed(document: Document, width: int = 300) -> str:
    out = StringIO()
    show_document(document, Console(file=out, width=width, highlight=False))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 300])
def test_no_text_is_obeyed(width: int) -> None:
    assert not {"\x1b", "\u202e", "\r"} & set(printed(sample(), width))


def test_every_block_is_shown_and_the_totals_last() -> None:
    lines = printed(sample(text="[bold]x")).splitlines()
    for line in (
        "[bold]x",
        "new: 0. [bold]x",
        "  seen           [bold]x",
        "  means          It *is* `[bold]x` and more",
        "  second",
        "  … and 1 more",
        "  again          sharespec verify [bold]x",
        "  also           form 0",
        "What was asked",
    ):
        assert line in lines
    assert lines[-1] == "the totals"
    assert "ACQ" not in "".join(lines)


def test_beyond_some_sections_headings_and_beyond_some_forms_a_number_is_shown() -> None:
    said = printed(sample(150, "x", forms=12, detailed=2))
    assert (said.count("  seen "), said.count("new: ")) == (2, 102)
    assert "The last 148 in full, and 48 more: --json and every report to a file" in said
    assert said.count("  also           2 more: ") == 2
    rows = tuple((str(number),) for number in range(9))
    grid = Grid(("name",), rows, most=3)
    assert "… and 6 more" in printed(Document("x", sections=((grid,),)))


def test_a_section_is_text() -> None:
    shown = section_text((Heading("a"), Fields((("seen", "a\x1b[2Jb\n[bold]c"),))))
    assert shown.plain == "\na\n  seen           a\\x1b[2Jb\\n[bold]c\n"


def test_on_a_terminal_the_lines_of_a_field_are_below_one_another() -> None:
    out, field = StringIO(), Fields((("seen", " ".join("x" * 40)),))
    whole = Document("x", sections=((field,),))
    show_document(whole, Console(file=out, width=60, force_terminal=True, color_system=None))
    assert out.getvalue().splitlines()[:2] == [
        f"  seen           {' '.join('x' * 22)}",
        f"{' ' * 17}{' '.join('x' * 18)}",
    ]
    assert " ".join("x" * 40) in printed(whole, width=60)


def test_progress_shows_what_it_is_told() -> None:
    for terminal in (True, False):
        out = StringIO()
        with shown_progress(Console(file=out, force_terminal=terminal), "search") as say:
            say("7 sequences, 1 deviation")
        assert ("7 sequences, 1 deviation" in out.getvalue()) is terminal
