"""A page needs nothing else, and text is escaped wherever it appears in one."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape

from report.page import Markup, data_script, joined, page_text, tag

EVIL = "</title></script></style><script>alert(1)</script><!--<img src=x>"


def test_text_and_attributes_are_escaped() -> None:
    made = tag("p", "<script>&", title='"><script>')
    assert made.text == '<p title="&quot;&gt;&lt;script&gt;">&lt;script&gt;&amp;</p>'


def test_children_are_concatenated() -> None:
    made = tag("ul", [tag("li", 1), [tag("li", "b")]], "c")
    assert made.text == "<ul><li>1</li><li>b</li>c</ul>"
    assert joined("<", made, 2) == Markup(f"&lt;{made.text}2")


def page(title: str = EVIL, text: str = EVIL) -> str:
    style, script = Markup("p{color:red}"), Markup("let a = 1;")
    data = data_script([text, "\u2028&"])
    return page_text(title, [tag("p", text)], style=style, script=script, data=data)


def test_only_its_own_script_and_style_run_and_nothing_is_loaded() -> None:
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', page())
    digests = []
    for name in ("script", "style"):
        (own,) = re.findall(f"<{name}>(.*?)</{name}>", page(), re.DOTALL)
        digests.append(f"{name}-src 'sha256-{b64encode(sha256(own.encode()).digest()).decode()}'")
    assert unescape(policy) == (
        f"default-src 'none'; {digests[0]}; {digests[1]}; "
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


def test_no_text_ends_its_element() -> None:
    shown = page()
    assert "<img" not in shown
    assert (shown.count("<script"), shown.count("</script>"), shown.count("</style>")) == (2, 2, 1)
    (data,) = re.findall('<script type="application/json" id="data">(.*?)</script>', shown)
    assert json.loads(data) == [EVIL, "\u2028&"]
    assert "\\u202e" in page(title="a\u202eb")
