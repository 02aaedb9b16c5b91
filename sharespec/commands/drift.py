"""``sharespec drift``: which sentences of a KIP a newer text of it changes."""

import json
import sys
from typing import TextIO

import attrs
import click

from conformance.drift import Compared, drift
from conformance.vectors.source import CaseError, cases
from judge.words import printable
from sharespec.exit import Exit, exits_on, fail

MAX_CHARACTERS = 8 << 20
"""The longest text that is compared; the longest KIP has a fortieth of that."""


@click.command("drift")
@click.argument("text", type=click.File(encoding="utf-8", errors="replace"))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one sentence to a line.")
@exits_on(CaseError)
def drift_command(text: TextIO, *, as_json: bool) -> None:
    """Compare a KIP's TEXT, plain or HTML, with the sentences of it that test vectors quote.

    Of each that changed or is gone it prints what rests on it: the vectors, the rules, properties
    and decisions that these are about, and the rules that cite its section.

    Exits with 0 if every sentence stands, 1 if one changed or is gone, 2 if the text cannot be
    read or has none of them.
    """
    read = text.read(MAX_CHARACTERS + 1)
    if len(read) > MAX_CHARACTERS:
        fail(f"the text is longer than {MAX_CHARACTERS:,} characters")
    listed = [case for of_topic in cases().values() for case in of_topic]
    of_kips = [drift(read, kip, listed) for kip in sorted({case.rests_on.kip for case in listed})]
    found = max(of_kips, key=lambda of_kip: [each.fate for each in of_kip].count("stands"))
    differ = [each for each in found if each.fate != "stands"]
    if len(differ) == len(found):
        fail("no sentence that is quoted of a KIP stands in the text: is it the right one?")
    if as_json:
        lines = [json.dumps(attrs.asdict(each)) for each in differ]
    else:
        counts = f"{len(found)} sentences are quoted, {len(found) - len(differ)} stand"
        lines = [f"KIP-{found[0].quotation.kip}: {counts}", *map(_paragraph, differ)]
    click.echo("\n".join(lines), nl=bool(lines))
    sys.exit(Exit.WRONG if differ else Exit.WELL)


def _paragraph(each: Compared) -> str:
    lines = {
        each.fate: each.quotation.section,
        "  quoted": each.quotation.says,
        "  now": each.now,
        "  vectors": ", ".join(each.vectors),
        "  about": ", ".join(each.about),
        "  rules of its section": ", ".join(each.rules),
    }
    return "\n".join(["", *(f"{name}: {printable(text)}" for name, text in lines.items() if text)])
