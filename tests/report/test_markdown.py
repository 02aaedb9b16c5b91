"""Text in Markdown is what it is, and marks nothing."""

from report.markdown import code, escaped, markdown_text, prose, table
from tests.report.samples import sample


def test_no_mark_in_a_text_marks_anything() -> None:
    assert escaped("a|b<script>[x](y) `c` *d* #1 &lt; ~~e~~ \\") == (
        r"a\|b\<script\>\[x\](y) \`c\` \*d\* \#1 \&lt; \~\~e\~\~ " + "\\\\"
    )
    assert escaped("_it_ is CAN_ACQUIRE") == r"\_it\_ is CAN_ACQUIRE"
    assert escaped("a\nb\x1b\u202e") == r"a\\nb\\x1b\\u202e"
    assert escaped("x" * 9, 4) == "xxxx…"


def test_a_table_has_as_many_cells_as_columns_whatever_they_hold() -> None:
    lines = table(("Name", "Count"), [(escaped("a|b\n|"), "7")], numbers=["Count"]).splitlines()
    assert lines == ["| Name | Count |", "|---|---:|", r"| a\|b\\n\| | 7 |"]


def test_prose_has_code_and_no_other_marks() -> None:
    assert prose("A *slip* in `f_*`,\n<b> of `g") == "A \\*slip\\* in `f_*`,\n\\<b\\> of `g`"


def test_code_is_indented_line_by_line() -> None:
    assert code("a\n```\nb") == "        a\n        ```\n        b"


def test_a_document_has_its_totals_a_list_and_every_section() -> None:
    said = markdown_text(sample())
    evil = r"\<img src=x\> \[a\](b) \| \*c\* "
    head, *sections = said.split("\n## ")
    assert head.startswith(r"# sharespec verify: \</title\>")
    assert "\n\nthe totals\n\n- new: 0. " in head
    assert [section.split(":")[0].split("\n")[0] for section in sections] == [
        "New",
        "What was asked",
    ]
    assert said.count(evil) == 9
    assert "- Means: It \\*is\\* `</title>" in said
    assert "| Name | Count |\n|---|---:|" in said
    assert "\n### Also: form 0\n" in said
    assert "- Again:\n\n        sharespec verify </title>" in said
    assert not {"\x1b", "\u202e"} & set(said)
