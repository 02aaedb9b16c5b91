"""A newer text of a KIP, compared with the sentences that the project rests on.

Test vectors quote them word for word, some in part (``conformance/vectors/cases/texts.toml``). What
is new in a text and touches no quotation shows nowhere, nor does the rest of a sentence in part.
"""

import heapq
import html
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from enum import Enum

import attrs

from conformance.citations import CITATIONS, TRANSITIONS
from conformance.vectors.source import Case, Quotation

MAX_CHARACTERS = 8 << 20
"""The longest text that is compared; the longest KIP has a fortieth of that."""

NEAR = 0.6
"""How much alike (as difflib measures it) a line must be, to be what became of a sentence."""

_CANDIDATES, _LONGEST = 20, 2000
_PLAIN = str.maketrans("\u201c\u201d\u2018\u2019\u2013\u2014\u00a0", "\"\"''-- ")
_HTML = re.compile(r"\s*(<!doctype html|<html|<\?xml|<div|<body|<p[ >])", re.IGNORECASE)
_LINES = re.compile(r"[\r\n]+")
_TAG = re.compile(r"!--|/?[a-zA-Z0-9]*")
_ENDINGS = {"script": "</script>", "style": "</style>", "head": "</head>", "!--": "-->"}
"""What ends a part of a page that shows nothing; any other tag ends with ``>``."""
_INLINE = frozenset({"a", "b", "code", "em", "i", "span", "strong", "u", "time", "sub", "sup"})


_SOURCE = re.compile(r"(KIP-\d+|KAFKA-\d+|Apache Kafka|Of this project)(?:(?:, |: )(.+))?")


class Fate(Enum):
    """What became of a sentence in a newer text."""

    STANDS = "stands"
    CHANGED = "changed"
    GONE = "gone"


@attrs.frozen
class Compared:
    """A sentence, what became of it, and what rests on it.

    ``now`` is the part of the newer text that is most like it, ``line`` the number of its line from
    1; none if it is gone. ``vectors`` are the names of those that quote it, ``pins`` the rules,
    properties and decisions that they are about, ``rules`` those that cite its section.
    """

    quotation: Quotation
    fate: Fate
    now: str = ""
    line: int = 0
    vectors: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


def drift(text: str, kip: int, cases: Iterable[Case]) -> Iterator[Compared]:
    """Yield each quoted sentence of a KIP, as the vectors have them; ``text`` is plain or HTML."""
    lines = [plain(line) for line in plain_text(text).splitlines()]
    whole = plain(" ".join(lines))
    parts = [
        _Part(part, number, _words(part))
        for number, line in enumerate(lines, start=1)
        for part in sentences(line)
    ]
    listed = [case for case in cases if case.rests_on.kip == kip]
    for quotation in dict.fromkeys(case.rests_on for case in listed):
        of_it = [case for case in listed if case.rests_on == quotation]
        fate, now, line = _fate(plain(quotation.says), whole, parts)
        yield Compared(
            quotation,
            fate,
            now,
            line,
            tuple(case.name for case in of_it),
            tuple(dict.fromkeys(pin for case in of_it for pin in case.pins)),
            tuple(sorted(_citing(quotation))),
        )


def plain_text(text: str) -> str:
    """Return a text without the marks of HTML, if it has any; scripts and styles go with them."""
    if not _HTML.match(text):
        return text
    return html.unescape("".join(_texts(text)))


def _texts(page: str) -> Iterator[str]:
    """Yield the texts of a page; those of a block begin a line. One pass, whatever stands there."""
    place = 0
    while (begin := page.find("<", place)) >= 0:
        yield _LINES.sub(" ", page[place:begin])
        name = _TAG.match(page, begin + 1)
        tag = name[0].lower() if name else ""
        ending = _ENDINGS.get(tag, ">")
        end = page.find(ending, begin)
        if end < 0:
            return
        yield "" if tag.removeprefix("/") in _INLINE else "\n"
        place = end + len(ending)
    yield _LINES.sub(" ", page[place:])


@attrs.frozen
class _Part:
    """A sentence of the newer text, the number of its line, and its words."""

    text: str
    line: int
    words: frozenset[str]


def _fate(says: str, whole: str, parts: list[_Part]) -> tuple[Fate, str, int]:
    if says in whole:
        return Fate.STANDS, says, 0
    wanted = _words(says)
    some = heapq.nlargest(_CANDIDATES, parts, key=lambda part: len(wanted & part.words))
    alike = [(SequenceMatcher(None, says, part.text).ratio(), part) for part in some]
    ratio, nearest = max(alike, key=lambda pair: pair[0], default=(0.0, _Part("", 0, wanted)))
    return (Fate.CHANGED, nearest.text, nearest.line) if ratio >= NEAR else (Fate.GONE, "", 0)


def plain(text: str) -> str:
    """Return a text with simple quotes and dashes, and single spaces."""
    return " ".join(text.translate(_PLAIN).split())


def sentences(line: str) -> list[str]:
    """Return the sentences of a line."""
    return [part[:_LONGEST] for part in re.split(r"(?<=[.!?])\s+", line)]


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+(?:[_.][a-z0-9]+)*", text.lower()))


def cited(source: str) -> Iterator[tuple[str, str]]:
    """Yield the KIPs and sections of a source such as ``KIP-932, ShareFetch; Responses``.

    The section of a whole KIP is empty.
    """
    kip = ""
    for part in source.split("; "):
        named = _SOURCE.fullmatch(part)
        if named:
            kip = named[1]
        yield kip, named[2] or "" if named else part


def _citing(quotation: Quotation) -> Iterator[str]:
    """Yield the rules that cite the section of a sentence."""
    wanted = f"KIP-{quotation.kip}", quotation.section.removesuffix(" API")
    for rule, citation in (CITATIONS | TRANSITIONS).items():
        if wanted in cited(citation.source):
            yield rule
