"""The specification as pages, each rule beside the sentences of the KIPs, and the KIPs' sections.

A rule and a sentence belong together where a vector quotes the sentence and is about the rule; a
rule and a section where the docstring of the rule, or the inventory of the KIPs, says so.
"""

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import attrs

from conformance.sections import Resting, known_headings, resting_on, resting_places
from conformance.vectors.source import Case, Quotation, cases
from tools.site.documents import ROOT, module_page, slug


@attrs.frozen
class Rule:
    """A function or class of ``spec``: its place, what it says, and its source from that line."""

    module: str
    name: str
    says: str
    source: str
    line: int

    @property
    def pin(self) -> str:
        """Its name as vectors have it."""
        return f"{self.module}.{self.name}"


def rules(root: Path = ROOT) -> dict[str, list[Rule]]:
    """Return what each module of ``spec`` defines, in its order."""
    return {path.stem: list(_rules(path)) for path in sorted((root / "spec").glob("*.py"))}


def pages() -> dict[str, str]:
    """Return the pages of the specification and of the KIPs, by path in the site."""
    found = {f"spec/{module_page(stem)}": _module(stem, of) for stem, of in rules().items()}
    for source, sections in _sections().items():
        found[f"kips/{source.lower()}.md"] = _kip(source, sections)
    return found


def _rules(path: Path) -> Iterator[Rule]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            source = "\n".join(lines[first - 1 : node.end_lineno])
            yield Rule(path.stem, node.name, ast.get_docstring(node) or "", source, first)


@cache
def _cases() -> tuple[Case, ...]:
    return tuple(case for of_topic in cases().values() for case in of_topic)


@cache
def _sections() -> Mapping[str, tuple[str, ...]]:
    """Return the sections of each KIP that are quoted, or on which something of ``spec`` rests.

    Those that are pinned come first, in the order of the text.
    """
    found: dict[str, list[str]] = {}
    for case in _cases():
        section = case.rests_on.section.removesuffix(" API")
        found.setdefault(f"KIP-{case.rests_on.kip}", []).append(section)
    for source, section in resting_places():
        found.setdefault(source, []).append(section)
    return {
        source: tuple(name for name in dict.fromkeys((*known_headings(source), *of)) if name in of)
        for source, of in sorted(found.items())
    }


def _module(stem: str, of: Sequence[Rule]) -> str:
    path = ROOT / "spec" / f"{stem}.py"
    says = inspect.cleandoc(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
    title = "The specification" if stem == "__init__" else f"spec.{stem}"
    parts = [f"# {title} {{ #{slug(title)} }}", _text(says)]
    if stem == "__init__":
        parts += [f"- [spec.{name}]({name}.md)" for name in rules() if name != "__init__"]
        return "\n\n".join(parts[:2]) + "\n\n" + "\n".join(parts[2:]) + "\n"
    return "\n\n".join([*parts, *map(_beside, of)]) + "\n"


def _beside(rule: Rule) -> str:
    """Return a rule: what it says and rests on, and beside it its source."""
    quoted = [case for case in _cases() if rule.pin in case.pins]
    quotations = dict.fromkeys(case.rests_on for case in quoted)
    lines = [
        _text(rule.says),
        *(f"> {quotation.says}\n>\n> {_to_section(quotation)}" for quotation in quotations),
    ]
    places = [
        (source, section)
        for source, sections in _sections().items()
        for section in sections
        if f"spec.{rule.pin}" in _resting(source, section).functions
    ]
    if places:
        links = (
            f"[{source}, {section}]({_kip_way(source, section)})" for source, section in places
        )
        lines.append("Rests on: " + "; ".join(links))
    if quoted:
        lines.append("Vectors: " + ", ".join(f"`{case.name}`" for case in quoted))
    text = "\n\n".join(lines)
    code = f'``` python linenums="{rule.line}"\n{rule.source}\n```'
    return (
        f"## {rule.name} {{ #{rule.name} }}\n\n"
        f'<div class="beside" markdown="1">\n<div markdown="1">\n\n{text}\n\n</div>\n'
        f'<div markdown="1">\n\n{code}\n\n</div>\n</div>'
    )


def _kip(source: str, sections: Sequence[str]) -> str:
    parts = [
        f"# {source} {{ #{slug(source)} }}",
        "The sentences that test vectors quote, and what rests on each section: not the text.",
    ]
    parts += [_section(source, section) for section in sections]
    return "\n\n".join(parts) + "\n"


def _section(source: str, section: str) -> str:
    lines = [f"## {section} {{ #{slug(section)} }}"]
    of = [case for case in _cases() if _is_of(case.rests_on, source, section)]
    for quotation in dict.fromkeys(case.rests_on for case in of):
        about = [case for case in of if case.rests_on == quotation]
        pins = dict.fromkeys(pin for case in about for pin in case.pins)
        lines.append(f"> {quotation.says}")
        lines.append("About it: " + ", ".join(map(_to_rule, pins)) + ".")
        lines.append("Vectors: " + ", ".join(f"`{case.name}`" for case in about) + ".")
    resting = _resting(source, section)
    if resting.functions:
        functions = (_to_rule(name.removeprefix("spec.")) for name in resting.functions)
        lines.append("Functions: " + ", ".join(functions) + ".")
    if resting.rules:
        lines.append("Rules: " + ", ".join(f"`{rule}`" for rule in resting.rules) + ".")
    if resting.decisions:
        numbers = ", ".join(map(str, resting.decisions))
        lines.append(f"[Decisions](../decisions.md): {numbers}.")
    if resting.tests:
        lines.append("Tests: " + ", ".join(f"`{test}`" for test in resting.tests) + ".")
    return "\n\n".join(lines)


def _is_of(quotation: Quotation, source: str, section: str) -> bool:
    return (f"KIP-{quotation.kip}", quotation.section.removesuffix(" API")) == (source, section)


@cache
def _resting(source: str, section: str) -> Resting:
    return resting_on(source, section, ())


@cache
def _named() -> frozenset[str]:
    return frozenset(rule.pin for of in rules().values() for rule in of)


def _to_rule(pin: str) -> str:
    """Return a link to a rule of ``spec``, from the page of a KIP; a guard or a number has none."""
    module, _, name = pin.partition(".")
    return f"[{pin}](../spec/{module}.md#{name})" if pin in _named() else f"`{pin}`"


def _to_section(quotation: Quotation) -> str:
    source, section = f"KIP-{quotation.kip}", quotation.section.removesuffix(" API")
    return f"[{source}, {section}]({_kip_way(source, section)})"


def _kip_way(source: str, section: str) -> str:
    return f"../kips/{source.lower()}.md#{slug(section)}"


def _text(says: str) -> str:
    """Return a docstring as Markdown: its parts, such as Guard, begin lines of their own."""
    text = says.replace("``", "`").replace("<", "&lt;")
    return "\n".join(
        f"\n{line}" if line.split(":")[0] in _PARTS else line for line in text.splitlines()
    )


_PARTS = ("Guard", "Effect", "Delivery count", "Persistence", "Returns", "Source")
