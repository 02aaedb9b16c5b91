"""Faults of an acquire as a whole, which no theorem on one record notices."""

from collections.abc import Callable

import pytest

from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from spec import record as rules
from spec import window
from spec.logic import Term

GIVES = "acquire_changes_what_it_takes"


def unnumbered(record: rules.Record, member: Term, deadline: Term, _number: Term) -> rules.Record:
    return rules.acquire(record, member, deadline)


def with_one_left_out(now: window.Window, changes: dict[Term, rules.Record]) -> window.Window:
    return window.replace(now, dict([*changes.items()][1:]))


def one_too_far(now: window.Window, end: Term) -> window.Window:
    return window.extend(now, end + 1)


@pytest.mark.parametrize(
    ("rule", "wrong", "theorem"),
    [
        ("spec.acquire.acquire", unnumbered, f"acquire with a number {GIVES}"),
        ("spec.acquire.replace", with_one_left_out, f"acquire {GIVES}"),
        ("spec.acquire.replace", with_one_left_out, f"let enter {GIVES}"),
        ("spec.acquire.extend", one_too_far, f"acquire {GIVES}"),
        (
            "spec.acquire.outside_holes",
            lambda *_of: (),
            "check two offsets window_grows_over_no_record",
        ),
    ],
)
def test_rule_that_an_acquire_does_not_keep_is_noticed(
    monkeypatch: pytest.MonkeyPatch, rule: str, wrong: Callable[..., object], theorem: str
) -> None:
    monkeypatch.setattr(rule, wrong)
    assert prove(theorem_named(theorem)).verdict is ProofVerdict.REFUTED
