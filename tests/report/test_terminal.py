"""Text on a terminal is shown, not obeyed."""

from io import StringIO

from rich.console import Console
from rich.text import Text

from report.terminal import add_fields, shown_progress


def test_fields_are_lines_without_those_that_are_empty() -> None:
    text = Text()
    add_fields(text, [("seen", "a\x1b[2Jb\n[bold]c"), ("known", "")], 6)
    assert text.plain == "  seen   a\\x1b[2Jb\\n[bold]c\n"


def test_progress_shows_what_it_is_told() -> None:
    out = StringIO()
    with shown_progress(Console(file=out, force_terminal=True), "search") as say:
        say("7 sequences, 1 deviation")
    assert "7 sequences, 1 deviation" in out.getvalue()
