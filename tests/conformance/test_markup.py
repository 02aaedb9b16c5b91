"""Text is escaped wherever it appears in a page."""

from conformance.markup import Markup, joined, tag


def test_text_and_attributes_are_escaped() -> None:
    made = tag("p", "<script>&", title='"><script>')
    assert made.text == '<p title="&quot;&gt;&lt;script&gt;">&lt;script&gt;&amp;</p>'


def test_children_are_concatenated() -> None:
    made = tag("ul", [tag("li", 1), [tag("li", "b")]], "c")
    assert made.text == "<ul><li>1</li><li>b</li>c</ul>"
    assert joined("<", made, 2) == Markup(f"&lt;{made.text}2")
