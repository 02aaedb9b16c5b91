"""A newer text of a KIP, compared with the sentences that test vectors quote word for word.

What is new in a text and touches no quotation shows nowhere.
"""

import html
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from heapq import nlargest
from typing import Literal

import attrs

from conformance.vectors.source import Case, Quotation
from model.rules import RULES, VERDICT_RULES, RuleKind

_CANDIDATES, _LONGEST = 20, 2000
"""How many sentences are compared letter by letter with one that is gone, and how much of each."""

_PLAIN = str.maketrans("\u201c\u201d\u2018\u2019\u2013\u2014\u00a0", "\"\"''-- ")
_HTML = re.compile(r"\s*<(!doctype html|html|\?xml|div|body|p[ >])", re.IGNORECASE)
_TAG = re.compile(r"!--|/?[a-zA-Z0-9]*")
_ENDINGS = {"script": "</script>", "style": "</style>", "head": "</head>", "!--": "-->"}
"""What ends a part of a page that shows nothing; any other tag ends with ``>``."""
_INLINE = frozenset({"a", "b", "code", "em", "i", "span", "strong", "u", "time", "sub", "sup"})
Fate = Literal["stands", "changed", "gone"]


@attrs.frozen
class Compared:
    """A sentence, what became of it, and what rests on it.

    ``now`` is the sentence of the newer text that is most like it; none if it is gone. ``vectors``
    quote it, ``about`` has the rules, properties and decisions that these pin, and ``rules`` those
    that cite its section.
    """

    quotation: Quotation
    fate: Fate
    now: str
    vectors: tuple[str, ...]
    about: tuple[str, ...]
    rules: tuple[str, ...]


def drift(text: str, kip: int, cases: Iterable[Case]) -> list[Compared]:
    """Return each quoted sentence of a KIP, as the vectors have them; ``text`` is plain or HTML."""
    shown = html.unescape("".join(_texts(text))) if _HTML.match(text) else text
    lines = [_plain(line) for line in shown.splitlines()]
    whole = _plain(" ".join(lines))
    sentences = [each[:_LONGEST] for line in lines for each in re.split(r"(?<=[.!?]) ", line)]
    quoting: dict[Quotation, list[Case]] = {}
    for case in cases:
        if case.rests_on.kip == kip:
            quoting.setdefault(case.rests_on, []).append(case)
    return [_compared(quotation, of, whole, sentences) for quotation, of in quoting.items()]


def _compared(quotation: Quotation, of: list[Case], whole: str, sentences: list[str]) -> Compared:
    says = _plain(quotation.says)
    near = [says]
    if not (stands := says in whole):
        words = _words(says)
        some = nlargest(_CANDIDATES, sentences, key=lambda each: len(words & _words(each)))
        near = get_close_matches(says, some, n=1)
    kip, section = f"KIP-{quotation.kip}", quotation.section.removesuffix(" API")
    rules = [
        name
        for name, rule in {**VERDICT_RULES, **RULES[RuleKind.TRANSITION]}.items()
        if {kip, section} <= set(re.split(", |; ", rule.source))
    ]
    vectors = tuple(case.name for case in of)
    about = dict.fromkeys(pin for case in of for pin in case.pins)
    fate: Fate = "stands" if stands else "changed" if near else "gone"
    return Compared(quotation, fate, "".join(near), vectors, tuple(about), tuple(sorted(rules)))


def _texts(page: str) -> Iterator[str]:
    """Yield the texts of a page, those of a block on a line; in one pass, whatever stands there."""
    place = 0
    while (begin := page.find("<", place)) >= 0:
        yield re.sub(r"[\r\n]+", " ", page[place:begin])
        name = _TAG.match(page, begin + 1)
        tag = name[0].lower() if name else ""
        ending = _ENDINGS.get(tag, ">")
        end = page.find(ending, begin)
        if end < 0:
            return
        yield "" if tag.removeprefix("/") in _INLINE else "\n"
        place = end + len(ending)
    yield re.sub(r"[\r\n]+", " ", page[place:])


def _plain(text: str) -> str:
    """Return a text with simple quotes and dashes, and single spaces."""
    return " ".join(text.translate(_PLAIN).split())


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
