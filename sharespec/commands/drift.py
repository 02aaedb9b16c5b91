"""``sharespec drift``: what a newer text of a KIP changes for the project."""

import json
import sys
from collections import Counter
from pathlib import Path

import attrs
import click

from conformance.drift import MAX_CHARACTERS, Compared, Fate, drift
from conformance.sections import (
    ComparedSection,
    SectionFate,
    Sections,
    SectionsError,
    as_pinned,
    compared,
    pinned,
    read_pinned,
    resting_on,
    sections_of,
)
from conformance.vectors.source import Case, CaseError, cases
from judge.words import printable
from sharespec.console import output
from sharespec.exit import Exit, exits_on, fail

_QUOTED = 500
"""How many characters of a newer text are printed of a sentence."""

_LISTED = 6
"""How many vectors and rules are printed of a sentence or section; JSON has all."""

_SHOWN = 5
"""How many new sentences of a section are printed."""


@click.command("drift")
@click.argument("text", type=click.Path(dir_okay=False, path_type=Path, allow_dash=True))
@click.option(
    "--kip",
    "number",
    type=click.IntRange(1),
    help="Its number; without it, that of most sentences found.",
)
@click.option(
    "--since",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Compare the sections with those of this older text, or of digests that --pin printed; "
    "default: those that the project was made from.",
)
@click.option(
    "--pin", is_flag=True, help="Print a digest of each sentence, section by section, as JSON."
)
@click.option(
    "--heading",
    "headings",
    multiple=True,
    metavar="NAME",
    help="A line of plain text that begins a section; may be given several times. HTML, and the "
    "sections that the project knows, need none.",
)
@click.option("--all", "every", is_flag=True, help="List also what stands.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, one sentence or section to a line."
)
@exits_on(CaseError, SectionsError)
def drift_command(  # noqa: PLR0913 - one argument for each option
    text: Path,
    number: int | None,
    *,
    since: Path | None,
    pin: bool,
    headings: tuple[str, ...],
    every: bool,
    as_json: bool,
) -> None:
    """Compare a KIP's TEXT, plain or HTML, with the text of it that the project was made from.

    Of a quoted sentence that changed or is gone it prints what rests on it: the test vectors that
    quote it, the rules, properties and decisions that these are about, and the rules that cite its
    section. Sections are compared by the digests of their sentences, so that what is new shows too;
    of each that differs it prints functions, rules, vectors, decisions and tests.

    Exits with 0 if every sentence and section stands, 1 if one changed, is gone or new, 2 if the
    text cannot be read or has none of them.
    """
    read = _read(text)
    source, quoted = _compared(read, number)
    now = sections_of(read, source, headings)
    if pin:
        click.echo(as_pinned(now))
        return
    befores = _befores(since, source, headings)
    sections = [each for before in befores for each in compared(before, now)]
    shown = [each for each in quoted if every or each.fate is not Fate.STANDS]
    differ = [each for each in sections if every or each.fate is not SectionFate.STANDS]
    if as_json:
        for sentence in shown:
            click.echo(json.dumps(_plain(sentence)))
        for section in differ:
            click.echo(json.dumps(_plain_section(source, section)))
    else:
        lines = [_quoted_total(source, quoted)] if quoted else []
        lines += [line for each in shown for line in _lines(each)]
        lines += _section_totals(source, befores, now, sections)
        lines += [line for each in differ for line in _section_lines(source, each)]
        output().print("\n".join(lines), markup=False, highlight=False)
    stands = {each.fate for each in quoted} <= {Fate.STANDS}
    same = {each.fate for each in sections} <= {SectionFate.STANDS}
    sys.exit(Exit.WELL if stands and same else Exit.WRONG)


def _read(path: Path) -> str:
    with click.open_file(str(path), "rb") as file:
        data: bytes = file.read(4 * MAX_CHARACTERS + 1)
    text = data.decode("utf-8", errors="replace")
    if len(text) > MAX_CHARACTERS:
        fail(f"{path}: the text is longer than {MAX_CHARACTERS:,} characters")
    return text


def _compared(text: str, number: int | None) -> tuple[str, list[Compared]]:
    """Return which KIP a text is of, and its quoted sentences; exit if it is of none."""
    listed = _cases()
    quoted = {f"KIP-{case.rests_on.kip}": case.rests_on.kip for case in listed}
    sources = {int(name.partition("-")[2]): name for name in (*quoted, *_pinned_sources())}
    if number is not None and number not in sources:
        allowed = ", ".join(map(str, sorted(sources)))
        fail(f"KIP-{number} is not quoted; allowed: {allowed}")
    wanted = [sources[number]] if number else list(sources.values())
    found = {
        name: list(drift(text, quoted[name], listed)) if name in quoted else [] for name in wanted
    }
    standing = {
        name: sum(each.fate is Fate.STANDS for each in found[name]) + _pins_in(text, name)
        for name in wanted
    }
    best = max(wanted, key=lambda name: standing[name])
    if not standing[best]:
        which = best if number else "a KIP"
        fail(f"no sentence that is quoted of {which} stands in the text: is it the right one?")
    return best, found[best]


def _cases() -> list[Case]:
    return [case for of_topic in cases().values() for case in of_topic]


def _pinned_sources() -> list[str]:
    return [text.source for text in pinned()]


def _pins_in(text: str, source: str) -> int:
    """Return how many pinned sentences of a KIP a text has."""
    pins = {
        each for of in pinned() if of.source == source for s in of.digests.values() for each in s
    }
    here = sections_of(text, source).digests.values() if pins else ()
    return len(pins & {each for section in here for each in section})


def _befores(since: Path | None, source: str, headings: tuple[str, ...]) -> list[Sections]:
    if since is None:
        return [text for text in pinned() if text.source == source]
    text = _read(since)
    if text.lstrip().startswith("{"):
        return [read_pinned(text)]
    return [sections_of(text, source, headings)]


def _quoted_total(source: str, quoted: list[Compared]) -> str:
    fates = Counter(each.fate for each in quoted)
    stand, changed, gone = (fates[fate] for fate in Fate)
    numbers = f"{stand} stand, {changed} changed, {gone} are not in the text"
    return f"{source}: {len(quoted)} sentences are quoted; {numbers}"


def _section_totals(
    source: str, befores: list[Sections], now: Sections, sections: list[ComparedSection]
) -> list[str]:
    if not befores:
        return []
    fates = Counter(each.fate for each in sections)
    stand, changed, gone, new = (fates[fate] for fate in SectionFate)
    numbers = f"{stand} stand, {changed} changed, {gone} are not in the text, {new} are new"
    lines = ["", f"{source}: {len(sections) - new} sections are compared; {numbers}"]
    if not all(before.is_whole for before in befores):
        lines.append("Of the older text not all is known: sentences between others are not new.")
    if not now.is_whole:
        lines.append("The newer text leaves parts out (...): what is missing may be there.")
    return lines


def _section_lines(source: str, each: ComparedSection) -> list[str]:
    counts = f"{each.stand} sentences stand, {each.gone} do not, {len(each.new)} are new"
    heading = printable(each.heading, 120) or "before the first heading"
    lines = ["", f"{each.fate.value}: section {heading}: {counts}"]
    lines += [f"  line {line:,}: {printable(words, _QUOTED)}" for line, words in each.new[:_SHOWN]]
    if len(each.new) > _SHOWN:
        lines.append(f"  and {len(each.new) - _SHOWN} more")
    resting = resting_on(source, each.heading, _cases())
    for name, values in attrs.asdict(resting, recurse=False).items():
        if values:
            more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
            lines.append(f"  {name}: {', '.join(map(str, values[:_LISTED]))}{more}")
    return lines


def _plain_section(source: str, each: ComparedSection) -> dict[str, object]:
    return {
        "source": source,
        "section": each.heading,
        "fate": each.fate.value,
        "stand": each.stand,
        "gone": each.gone,
        "new": [{"line": line, "text": words} for line, words in each.new],
        **attrs.asdict(resting_on(source, each.heading, _cases()), recurse=False),
    }


def _lines(each: Compared) -> list[str]:
    says = each.quotation.says
    lines = ["", f"{each.fate.value}: {each.quotation.section}", f"  quoted: {says}"]
    if each.fate is Fate.CHANGED:
        lines.append(f"  line {each.line:,}: {printable(each.now, _QUOTED)}")
    for name, values in (
        ("vectors", each.vectors),
        ("about", each.pins),
        ("rules of its section", each.rules),
    ):
        if values:
            more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
            lines.append(f"  {name}: {', '.join(values[:_LISTED])}{more}")
    return lines


def _plain(each: Compared) -> dict[str, object]:
    quotation = each.quotation
    return {
        "kip": quotation.kip,
        "section": quotation.section,
        "quoted": quotation.says,
        "fate": each.fate.value,
        "line": each.line or None,
        "now": each.now if each.fate is Fate.CHANGED else None,
        "vectors": each.vectors,
        "about": each.pins,
        "rules": each.rules,
    }
