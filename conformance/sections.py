"""The sections of a KIP's text by digest: which of them differ in a newer text, and what is new.

The project has no text of a KIP. ``pinned.json`` has of each sentence of a section a digest, as
``sharespec drift --pin`` prints them; with digests also what was added between sentences shows.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any

import attrs

from conformance.citations import CITATIONS, TRANSITIONS
from conformance.drift import cited, plain, plain_text, sentences
from conformance.vectors.source import Case

MAX_SENTENCES = 10_000
"""The most sentences that are compared; the longest KIP has a quarter of that."""

_GENERIC = frozenset({"request schema", "response schema"})
"""Headings that say nothing without the one before them."""

_SMALL = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
"""Small letters for those of tags; ``lower`` may change how long a text is."""

_LEFT_OUT = "..."
"""A line of a comparison of two revisions that stands for what is the same in both."""

_NUMBER = re.compile(r"^\d+(\.\d+)* ")
_DIGITS = 12
"""Hexadecimal digits of a digest: two of a thousand sentences share one once in 10^8 texts."""


class SectionsError(ValueError):
    """A text has too much, or a file no digests of sections; one line with what is allowed."""


@attrs.frozen
class Sections:
    """A text by section: the digests of its sentences in order. ``source`` is ``KIP-932``, say.

    ``is_whole``: nothing was left out of it. ``places`` has the line, from 1, and the words of each
    sentence; none if only the digests are known.
    """

    source: str
    digests: Mapping[str, tuple[str, ...]]
    is_whole: bool = True
    places: Mapping[str, tuple[tuple[int, str], ...]] = attrs.field(factory=dict)

    def count(self) -> int:
        """Return how many sentences it has."""
        return sum(map(len, self.digests.values()))


class SectionFate(Enum):
    """What became of a section in a newer text."""

    STANDS = "stands"
    CHANGED = "changed"
    GONE = "gone"
    NEW = "new"


@attrs.frozen
class ComparedSection:
    """A section, how many of its sentences are no more there, and those that are new.

    ``new`` has their lines in the newer text, from 1, and words.
    """

    heading: str
    fate: SectionFate
    stand: int = 0
    gone: int = 0
    new: tuple[tuple[int, str], ...] = ()


@attrs.frozen
class Resting:
    """What rests on a section of a KIP: see the fields of ``sharespec drift --json``."""

    functions: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    decisions: tuple[int, ...] = ()
    tests: tuple[str, ...] = ()


def sections_of(text: str, source: str, headings: Iterable[str] = ()) -> Sections:
    """Return the sections of a text, plain or HTML.

    They begin at the headings of HTML, and at lines that have just the name of a section: one of
    ``headings``, or one that is pinned or cited of ``source``. What comes before the first is of
    the section ``""``. Raises SectionsError if there are too many sentences.
    """
    names = {_name(heading): heading for heading in (*known_headings(source), *headings)}
    for heading in _page_headings(text):
        names.setdefault(_name(heading), heading)
    found: dict[str, list[tuple[int, str]]] = {"": []}
    begun, above, heading, is_whole = Counter[str](), "", "", True
    for number, line in enumerate(plain_text(text).splitlines(), start=1):
        words = plain(line)
        name = _name(words)
        if words == _LEFT_OUT:
            is_whole = False
        elif words and (name in names or name in _GENERIC):
            above = above if name in _GENERIC else names[name]
            heading = f"{above}: {words}" if name in _GENERIC else above
            begun[heading] += 1
            if begun[heading] > 1:
                heading += f" ({begun[heading]})"
            found[heading] = []
        elif words:
            found[heading] += [(number, part) for part in sentences(words)]
    if (count := sum(map(len, found.values()))) > MAX_SENTENCES:
        text = f"the text has {count:,} sentences; allowed: at most {MAX_SENTENCES:,}"
        raise SectionsError(text)
    if not found[""]:
        del found[""]
    digests = {heading: tuple(digest(part) for _, part in of) for heading, of in found.items()}
    places = {heading: tuple(of) for heading, of in found.items()}
    return Sections(source, digests, is_whole, places)


def _page_headings(page: str) -> Iterator[str]:
    """Yield the headings of HTML, in one pass, whatever stands there."""
    small, place, levels = page.translate(_SMALL), 0, set("123456")
    while (begin := small.find("<h", place)) >= 0:
        place = begin + 2
        level, after = small[place : place + 1], small[place + 1 : place + 2]
        if level not in levels or after not in (" ", ">"):
            continue
        end = small.find(f"</h{level}", place)
        if end < 0:
            levels.discard(level)  # No other one of this level ends either.
            continue
        yield plain(plain_text(f"<html>{page[begin:end]}"))
        place = end


def compared(before: Sections, now: Sections) -> Iterator[ComparedSection]:
    """Yield the sections of both texts, in the order of the older one and then of the newer one.

    Where the older one has parts left out, sentences between those that it has are not new.
    """
    anywhere = {each for of in now.digests.values() for each in of}
    for heading, digests in before.digests.items():
        if not digests and not now.digests.get(heading):
            continue
        if heading not in now.digests:
            stand = sum(each in anywhere for each in digests)
            yield ComparedSection(heading, SectionFate.GONE, stand, len(digests) - stand)
            continue
        places = now.places.get(heading, ())
        stand, gone, new = 0, 0, list[tuple[int, str]]()
        steps = SequenceMatcher(None, digests, now.digests[heading], autojunk=False).get_opcodes()
        for step, begin, end, first, last in steps:
            if step == "equal":
                stand += end - begin
            elif before.is_whole or step != "insert":
                gone += end - begin
                new += places[first:last]
        fate = SectionFate.CHANGED if gone or new else SectionFate.STANDS
        yield ComparedSection(heading, fate, stand, gone, tuple(new))
    for heading, places in now.places.items() if before.is_whole else ():
        if places and heading not in before.digests:
            yield ComparedSection(heading, SectionFate.NEW, new=places)


def digest(sentence: str) -> str:
    """Return the digest of a sentence; spaces, quotation marks and dashes do not matter."""
    return hashlib.sha256(plain(sentence).encode()).hexdigest()[:_DIGITS]


@cache
def pinned() -> tuple[Sections, ...]:
    """Return the texts that the project was made from, by digest."""
    text = resources.files(__package__).joinpath("pinned.json").read_text(encoding="utf-8")
    return tuple(read_pinned(line) for line in text.splitlines())


def as_pinned(text: Sections) -> str:
    """Return the digests of a text as JSON, which has none of its words."""
    return json.dumps(
        {"source": text.source, "is_whole": text.is_whole, "sections": dict(text.digests)},
        ensure_ascii=False,
    )


def read_pinned(line: str) -> Sections:
    """Return what ``as_pinned`` wrote. Raises SectionsError."""
    try:
        values: Any = json.loads(line)
        sections = {str(name): tuple(map(str, of)) for name, of in values["sections"].items()}
        return Sections(str(values["source"]), sections, bool(values["is_whole"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        text = "these are no digests; allowed: a text, or what `sharespec drift TEXT --pin` prints"
        raise SectionsError(text) from None


@cache
def known_headings(source: str) -> tuple[str, ...]:
    """Return the sections of a KIP that are pinned, and those that a rule cites."""
    names = [name for text in pinned() if text.source == source for name in text.digests]
    for citation in (CITATIONS | TRANSITIONS).values():
        names += [section for kip, section in cited(citation.source) if kip == source]
    names += [section for kip, section in resting_places() if kip == source]
    return tuple(dict.fromkeys(name for name in names if name and not re.search(r": |\)$", name)))


def resting_on(source: str, heading: str, cases: Collection[Case]) -> Resting:
    """Return what rests on a section: rules, functions, vectors, decisions and tests."""
    name = _name(heading.partition(": ")[0])
    rules = {
        rule
        for rule, citation in (CITATIONS | TRANSITIONS).items()
        if (source, name) in ((kip, _name(section)) for kip, section in cited(citation.source))
    }
    vectors = {
        case.name
        for case in cases
        if f"KIP-{case.rests_on.kip}" == source and _name(case.rests_on.section) == name
    }
    rows = [
        row for (of, section), row in _resting_table().items() if of == source
        and _name(section) == name
    ]  # fmt: skip
    return Resting(
        tuple(sorted({each for row in rows for each in row["functions"]})),
        tuple(sorted(rules)),
        tuple(sorted(vectors)),
        tuple(sorted({each for row in rows for each in row["decisions"]})),
        tuple(sorted({each for row in rows for each in row["tests"]})),
    )


def resting_places() -> tuple[tuple[str, str], ...]:
    """Return the KIPs and sections of the inventory and of the docstrings of ``spec``."""
    return tuple(_resting_table())


@cache
def _resting_table() -> Mapping[tuple[str, str], Any]:
    text = resources.files(__package__).joinpath("resting.json").read_text(encoding="utf-8")
    return {(row["source"], row["section"]): row for row in json.loads(text)}


def _name(heading: str) -> str:
    """Return a heading as it is compared: without its number, and whatever it says of itself."""
    name = re.sub(r" \(\d+\)$", "", _NUMBER.sub("", plain(heading)))
    return name.lower().removesuffix(" api").removesuffix(" rpc")
