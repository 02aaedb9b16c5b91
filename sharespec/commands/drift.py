"""``sharespec drift``: what a newer text of a KIP changes for the project."""

import json
import sys
from collections import Counter
from pathlib import Path

import click

from conformance.drift import MAX_CHARACTERS, Compared, Fate, drift
from conformance.vectors.source import CaseError, cases
from judge.words import printable
from sharespec.console import output
from sharespec.exit import Exit, exits_on, fail

_QUOTED = 500
"""How many characters of a newer text are printed of a sentence."""

_LISTED = 6
"""How many vectors and rules are printed of a sentence; JSON has all."""


@click.command("drift")
@click.argument("text", type=click.Path(dir_okay=False, path_type=Path, allow_dash=True))
@click.option(
    "--kip", type=click.IntRange(1), help="Its number; without it, that of most sentences found."
)
@click.option("--all", "every", is_flag=True, help="List also the sentences that stand.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one sentence to a line.")
@exits_on(CaseError)
def drift_command(text: Path, kip: int | None, *, every: bool, as_json: bool) -> None:
    """Compare a KIP's TEXT, plain or HTML, with the sentences of it that the project quotes.

    Of a sentence that changed or is gone it prints what rests on it: the test vectors that quote
    it, the rules, properties and decisions that these are about, and the rules that cite its
    section. What is new in a text and touches no quoted sentence it does not see.

    Exits with 0 if every sentence stands, 1 if one changed or is gone, 2 if the text cannot be
    read or has none of them.
    """
    kip, compared = _compared(_read(text), kip)
    fates = Counter(each.fate for each in compared)
    shown = [each for each in compared if every or each.fate is not Fate.STANDS]
    for each in shown if as_json else ():
        click.echo(json.dumps(_plain(each)))
    if not as_json:
        stand, changed, gone = (fates[fate] for fate in Fate)
        numbers = f"{stand} stand, {changed} changed, {gone} are not in the text"
        lines = [f"KIP-{kip}: {len(compared)} sentences are quoted; {numbers}"]
        lines += [line for each in shown for line in _lines(each)]
        output().print("\n".join(lines), markup=False, highlight=False)
    sys.exit(Exit.WELL if fates[Fate.STANDS] == len(compared) else Exit.WRONG)


def _read(path: Path) -> str:
    with click.open_file(str(path), "rb") as file:
        data: bytes = file.read(4 * MAX_CHARACTERS + 1)
    text = data.decode("utf-8", errors="replace")
    if len(text) > MAX_CHARACTERS:
        fail(f"{path}: the text is longer than {MAX_CHARACTERS:,} characters")
    return text


def _compared(text: str, kip: int | None) -> tuple[int, list[Compared]]:
    """Return which KIP a text is of, and its sentences; exit if it is of none."""
    listed = [case for of_topic in cases().values() for case in of_topic]
    quoted = sorted({case.rests_on.kip for case in listed})
    if kip is not None and kip not in quoted:
        fail(f"KIP-{kip} is not quoted; allowed: {', '.join(map(str, quoted))}")
    found = {each: list(drift(text, each, listed)) for each in ([kip] if kip else quoted)}
    standing = {each: sum(c.fate is Fate.STANDS for c in found[each]) for each in found}
    best = max(found, key=lambda each: standing[each])
    if not standing[best]:
        which = f"KIP-{kip}" if kip else "a KIP"
        fail(f"no sentence that is quoted of {which} stands in the text: is it the right one?")
    return best, found[best]


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
