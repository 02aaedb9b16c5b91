import sys
from pathlib import Path

import pytest

from proofs.theorems.catalogue import THEOREMS, theorem_named
from proofs.theorems.reachable import run_states
from proofs.theorems.record_operations import OneRecord
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
    checks["own tests"]("impl.acquire", "")
    assert given == ["tests/impl/test_acquire.py", "tests/rules/test_acquire.py"]
    given.clear()
    checks["import"]("impl.nothing", "")
    monkeypatch.setitem(sys.modules, "impl.nothing", sys)  # As the recorded events import it.
    checks["own tests"]("impl.nothing", "")
    kernel = [f"tests/impl/test_{name}.py" for name in ("kernel", "validity")]
    assert given == ["tests/rules", *kernel]


def test_theorem_runs_the_functions_of_the_rules_that_it_is_about() -> None:
    theorem = theorem_named("is_lock_over guard_asks_what_it_says")
    situations = [s for _depth, state in run_states()[:9] for s in OneRecord.reached(state)]
    functions = checks_module.functions_run(theorem, situations)
    assert ("spec.record", "is_lock_over") in functions
    assert "spec.window" not in {module for module, _function in functions}


def test_theorems_about_a_function_run_it_and_begin_with_those_that_control_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = {theorem.name(): {("spec.window", "replace")} for theorem in THEOREMS}
    known["is_lock_over guard_asks_what_it_says"] = {("spec.record", "is_lock_over")}
    known["acquire owner_iff_held"] = {("spec.record", "is_lock_over"), ("spec.record", "acquire")}
    monkeypatch.setattr(checks_module, "_functions_of_theorems", lambda: known)
    about = checks_module.theorems_about("spec.record", "is_lock_over")
    assert [t.name() for t in about] == [
        "is_lock_over guard_asks_what_it_says",
        "acquire owner_iff_held",
    ]
    of_module = checks_module.theorems_about("spec.record", "Record")
    assert {t.name() for t in of_module} == {t.name() for t in about}
