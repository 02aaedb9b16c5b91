"""Which package imports which, how long modules are, and that each has its tests."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MAY_IMPORT = {
    "model": set(),
    "spec": {"model"},
    "impl": {"model"},
    "judge": {"model", "spec", "impl"},
    "report": {"judge"},
    "replay": {"model", "spec", "impl", "judge", "report"},
    "operations": {"model", "spec", "impl", "judge", "report", "replay"},
    "proofs": {"model", "spec", "impl", "judge"},
    "conformance": {"model", "spec", "impl", "judge", "report"},
    "serve": {"model", "spec", "conformance"},
    "clients": {"model", "spec", "judge", "report", "conformance", "serve"},
    "sharespec": {
        "model",
        "spec",
        "impl",
        "judge",
        "report",
        "replay",
        "operations",
        "proofs",
        "conformance",
        "serve",
        "clients",
    },
    "tools": {
        *("model", "spec", "impl", "judge", "report"),
        *("replay", "operations", "proofs", "conformance", "serve", "clients"),
    },
}
"""The packages of the project that each may import, besides itself."""

_IN_RULES = ("locks", "policy", "reading", "waiting")
TESTED_ELSEWHERE = {
    "judge": {Path("test_finding.py")},
    "impl": {Path(f"test_{name}.py") for name in _IN_RULES},
}
"""Modules without a test module: values that the tests of their users compare, and modules of impl
that ``tests/rules`` tests under the names of the specification's (``tools.mutation.run``).
"""

OF_BOTH_SIDES = {"spec", "impl"}
"""Packages that ``tests/rules`` tests too, each rule for both."""

PACKAGES = pytest.mark.parametrize("package", MAY_IMPORT)


def modules(package: str) -> list[Path]:
    return sorted(ROOT.joinpath(package).rglob("*.py"))


_IMPORTING = ("import_module", "_import")
"""How the names of functions end that import a module by its name."""


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield what the imports of a module name, wherever in it they stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(_IMPORTING):
            yield ast.unparse(node.args[0]).strip("'\"")


def forbidden(package: str, source: str) -> set[str]:
    """Return the imports that the layers forbid: of packages further up, and relative ones."""
    allowed = MAY_IMPORT[package] | {package}
    ours = {*MAY_IMPORT, "tests", "benchmarks"}
    tops = {name.split(".")[0] for name in imported(ast.parse(source))}
    return {top for top in tops if top == "" or (top in ours and top not in allowed)}


@PACKAGES
def test_imports_run_one_way(package: str) -> None:
    found = {path.name: forbidden(package, path.read_text()) for path in modules(package)}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("package", "source", "wrong"),
    [
        ("spec", "import impl.state", {"impl"}),
        ("impl", "from spec.record import Record", {"spec"}),
        ("impl", "def lazy():\n    from spec import lag", {"spec"}),
        ("impl", "if TYPE_CHECKING:\n    import spec.lag as lag", {"spec"}),
        ("impl", "importlib.import_module('spec.lag')", {"spec"}),
        ("tools", "_import('tests.lockstep.driver')", {"tests"}),
        ("model", "from spec.lag import lag", {"spec"}),
        ("spec", "from . import lag", {""}),
        ("replay", "import sharespec", {"sharespec"}),
        ("sharespec", "import tests.strategies", {"tests"}),
        ("spec", "import attrs\nfrom model.states import RecordState", set()),
    ],
    ids=str,
)
def test_an_import_that_runs_the_other_way_is_noticed(
    package: str, source: str, wrong: set[str]
) -> None:
    assert forbidden(package, source) == wrong


@PACKAGES
def test_no_module_is_longer_than_500_lines(package: str) -> None:
    long = {
        str(path): len(path.read_text().splitlines())
        for path in (*modules(package), *modules("tests"))
    }
    assert {name: lines for name, lines in long.items() if lines > 500} == {}


@pytest.mark.parametrize("package", ["model", "spec", "impl", "judge"])
def test_every_module_of_the_rules_has_its_test_module(package: str) -> None:
    tests = ROOT / "tests" / package
    expected = {
        path.relative_to(ROOT / package).with_name(f"test_{path.name}")
        for path in modules(package)
        if not path.stem.startswith("__")
    }
    present = {path.relative_to(tests) for path in tests.rglob("test_*.py")}
    if package in OF_BOTH_SIDES:
        present |= {Path(path.name) for path in ROOT.joinpath("tests", "rules").glob("test_*.py")}
    assert expected - present == TESTED_ELSEWHERE.get(package, set())


@PACKAGES
def test_every_package_says_that_it_is_typed(package: str) -> None:
    assert ROOT.joinpath(package, "py.typed").is_file()
