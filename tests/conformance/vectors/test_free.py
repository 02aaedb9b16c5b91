"""What is free at a step: every legal alternative, and none that a guard forbids."""

from typing import Any

import pytest

from conformance.vectors.source import cases
from conformance.vectors.written import vectors


def free(name: str, step: int) -> dict[str, Any]:
    """Return what is free at a step, under the first profile that the case is for."""
    case = next(case for listed in cases().values() for case in listed if case.name == name)
    found: dict[str, Any] = next(iter(vectors(case)))["steps"][step].get("free", {})
    return found


@pytest.mark.parametrize(
    ("name", "step", "choices"),
    [
        ("acquire", -2, {}),
        ("acquire", -1, {"acquired": [[0, 2]], "end_offset": [0, 3]}),
        ("acquire-what-nobody-holds", -1, {}),
        ("record-limit-keeps-to-its-maximum", -1, {"acquired": [[0, 4]], "end_offset": [0, 5]}),
        (
            "under-record-limit-the-window-keeps-to-its-limit",
            -1,
            {"acquired": [[0, 7]], "end_offset": [0, 8]},
        ),
        (
            "under-batch-optimized-one-log-batch-may-cross-the-limit",
            -1,
            {"acquired": [[6, 11]], "end_offset": [6, 12]},
        ),
        ("what-is-available-in-a-full-window-is-taken", -1, {"acquired": [[3, 3]]}),
        ("accept-everything", -1, {"start_offset": [0, 3]}),
        ("the-start-offset-stops-at-a-held-record", -1, {}),
        ("the-log-start-passes-the-window", -1, {}),
        ("the-log-start-passes-finished-records-that-waited", -1, {"start_offset": [1, 3]}),
        ("a-start-offset-that-was-written-is-not-resolved-again", -1, {}),
        ("a-lock-expires-for-all-records-of-a-fetch", -1, {"writes": True}),
        ("a-lock-expires-at-its-deadline", -1, {}),
        ("from-a-full-window-nothing-new-is-taken", -1, {}),
        (
            "past-the-end-offset-is-refused",
            -1,
            {"status": ["INVALID_RECORD_STATE", "INVALID_REQUEST"]},
        ),
        (
            "the-first-batch-that-cannot-be-decides-the-error",
            -1,
            {},
        ),
        ("no-type-is-malformed", -1, {}),
    ],
)
def test_choices_of_a_step(name: str, step: int, choices: dict[str, Any]) -> None:
    assert free(name, step) == choices
