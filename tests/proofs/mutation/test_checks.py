from pathlib import Path

import pytest

from proofs.mutation import checks as checks_module
from proofs.mutation.checks import CHECKS, QUICK, NoCheckoutError, checks_of, require_checkout


def test_without_the_tests_there_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    require_checkout()
    monkeypatch.setattr(checks_module, "ROOT", tmp_path)
    with pytest.raises(NoCheckoutError, match=f"there are none in {tmp_path}"):
        require_checkout()


def test_spec_and_impl_are_put_through_the_checks_that_know_them() -> None:
    assert [check.name for check in CHECKS if check not in checks_of("spec")] == ["recorded events"]
    assert [check.name for check in CHECKS if check not in checks_of("impl")] == [
        "golden vectors",
        "proofs",
    ]


def test_quick_checks_are_the_first() -> None:
    assert [check.name for check in CHECKS][: len(QUICK)] == list(QUICK)


def test_checks_are_chosen_by_name() -> None:
    assert [check.name for check in checks_of("spec", ["proofs", "import"])] == ["import", "proofs"]
