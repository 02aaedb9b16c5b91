"""What rests on each section of a KIP, for ``sharespec drift``: ``conformance/resting.json``.

Out of the inventory of the KIPs (``coverage.toml``), the docstrings of ``spec`` and the register of
decisions: a decision rests on the sections that it names, and on those of its test.
"""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from conformance.drift import cited
from tools.documents.coverage import items

_ROOT = Path(__file__).parents[2]
_CITES = re.compile(r"\(((?:KIP|KAFKA)-\d+[^()]*)\)")
_DECISION = re.compile(r"\| (\d+) \|(.*)`([\w/]+\.py::test_\w+)` \|")

Place = tuple[str, str]
"""A KIP and one of its sections."""


def table() -> str:
    """Return the table as JSON, a section to a line."""
    functions: defaultdict[Place, set[str]] = defaultdict(set)
    tests: defaultdict[Place, set[str]] = defaultdict(set)
    for item in items():
        for kip, section in cited(item.kip.replace(", draft, ", ", ")):
            if kip and section:
                functions[kip, section] |= {name.replace(":", ".") for name in item.functions}
                tests[kip, section] |= set(item.tests)
    for place, function in _docstrings(_ROOT / "spec"):
        if place[1]:
            functions[place].add(function)
    register = (_ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    decisions = _decisions(register, tests)
    rows = [
        {
            "source": kip,
            "section": section,
            "functions": sorted(functions[kip, section]),
            "decisions": sorted(decisions[kip, section]),
            "tests": sorted(tests[kip, section]),
        }
        for kip, section in sorted({*functions, *tests})
        if functions[kip, section] or tests[kip, section]
    ]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def _docstrings(folder: Path) -> Iterator[tuple[Place, str]]:
    """Yield the sections that docstrings cite, with the functions and classes that they are of."""
    kinds = ast.FunctionDef, ast.ClassDef
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kinds):
                for source in _CITES.findall(ast.get_docstring(node) or ""):
                    words = " ".join(source.split()).partition(": ")[0]
                    for place in cited(words.replace(", KIP-", "; KIP-")):
                        yield place, f"spec.{path.stem}.{node.name}"


def _decisions(register: str, tests: defaultdict[Place, set[str]]) -> defaultdict[Place, set[int]]:
    found: defaultdict[Place, set[int]] = defaultdict(set)
    for number, text, test in _DECISION.findall(register):
        for (kip, section), of in tests.items():
            if test in of or (kip in text and section in text):
                found[kip, section].add(int(number))
    return found
