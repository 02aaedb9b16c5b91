import sys
from pathlib import Path

import pytest

from proofs.theorems.catalogue import theorem_named
from proofs.theorems.reachable import run_states
from proofs.theorems.transitions import OneRecord
from tools.mutation import checks as checks_module
from tools.mutation.checks import CHECKS, QUICK, NoCheckoutError, checks_of, require_checkout


def test_without_the_tests_there_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    require_checkout()
    monkeypatch.setattr(checks_module, "ROOT", tmp_path)
    with pytest.raises(NoCheckoutError, match=f"there are none in {tmp_path}"):
        require_checkout()


def test_each_package_has_its_checks() -> None:
    assert [check.name for check in CHECKS if check not in checks_of("spec")] == ["recorded events"]
    assert [check.name for check in CHECKS if check not in checks_of("impl")] == [
        "golden vectors",
        "proofs",
    ]


def test_quick_checks_are_the_first() -> None:
    assert [check.name for check in CHECKS][: len(QUICK)] == list(QUICK)


def test_checks_are_chosen_by_name() -> None:
    assert [check.name for check in checks_of("spec", ["proofs", "import"])] == ["import", "proofs"]


def test_modules_outside_the_lockstep_run_the_tests_of_the_kernel_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[str] = []
    monkeypatch.setattr(checks_module, "_pytest", lambda *paths: given.extend(paths))
    checks = {check.name: check.notices for check in CHECKS}
    checks["own tests"]("impl.acquire")
    assert given == ["tests/impl/test_acquire.py"]
    given.clear()
    checks["import"]("impl.nothing")
    monkeypatch.setitem(sys.modules, "impl.nothing", sys)  # As the recorded events import it.
    checks["own tests"]("impl.nothing")
    assert given == [f"tests/impl/test_{name}.py" for name in ("nothing", "kernel", "validity")]


def test_theorem_runs_the_modules_of_the_rules_that_it_is_about() -> None:
    theorem = theorem_named("is_lock_over guard_asks_what_it_says")
    situations = [s for _depth, state in run_states()[:9] for s in OneRecord.reached(state)]
    modules = checks_module.modules_run(theorem, situations)
    assert {"spec.record", "spec.invariants"} <= modules
    assert "spec.window" not in modules


def test_theorem_that_no_situation_fits_may_run_any_module() -> None:
    theorem = theorem_named("is_lock_over guard_asks_what_it_says")
    assert "spec.window" in checks_module.modules_run(theorem, [])
