"""That each module has its tests, and each package its mark of types."""

from pathlib import Path

import pytest

from tools.rooms import ROOT, modules, read_rooms

_IN_RULES = (
    "awaited", "dead_letter", "durable", "expiry", "leadership", "locks", "log", "policy",
    "progress", "reading", "rows", "waiting", "window",
)  # fmt: skip
TESTED_ELSEWHERE = {
    "model": {
        Path(f"test_{name}.py")
        for name in (
            *("checkpoint", "guards", "operations", "outcome", "rule"),
            *("share_messages", "share_state_requests"),
        )
    },
    "spec": {Path("test_partition.py")},
    "judge": {
        Path(f"test_{name}.py")
        for name in ("finding", "checkpoint", "mismatch", "recorder", "view")
    },
    "impl": {Path(f"test_{name}.py") for name in _IN_RULES},
}
"""Modules without a test module: values that the tests of their users compare, and what
``tests/rules`` tests, modules of impl under the names of spec's.
"""

OF_BOTH_SIDES = {"spec", "impl"}
"""Packages that ``tests/rules`` tests too, each rule for both."""


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


def test_every_package_says_that_it_is_typed() -> None:
    packages = {room.name for room in read_rooms()} - {"tests", "benchmarks"}
    assert {name for name in packages if not ROOT.joinpath(name, "py.typed").is_file()} == set()
