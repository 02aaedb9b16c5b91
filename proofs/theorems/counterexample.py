"""Turn a counterexample into a Python test that fails on the specification."""

import re
from typing import Any

import attrs

from model.states import RecordState
from proofs.theorems.theorem import Theorem
from spec.record import Record

_MEMBERS = frozenset({"member", "owner", "former_owner"})


def as_test(theorem: Theorem, situation: Any) -> str:  # noqa: ANN401 - any situation
    """Return the shortest test that shows the theorem to be false in the situation."""
    lines = _lines(theorem, situation)
    name = re.sub(r"\W+", "_", theorem.name())
    body = [f'"""{theorem.property.sentence}"""', *lines]
    imports = _imports("\n".join(lines), type(situation))
    return "\n".join(
        [*imports, "", "", f"def test_{name}() -> None:", *(f"    {line}" for line in body), ""]
    )


def fails(test: str) -> bool:
    """Run a test and return whether an assertion of it failed."""
    names: dict[str, Any] = {}
    exec(compile(test, "<counterexample>", "exec"), names)  # noqa: S102 - text made above
    run = next(value for name, value in names.items() if name.startswith("test_"))
    try:
        run()
    except AssertionError:
        return True
    return False


def _lines(theorem: Theorem, situation: Any) -> list[str]:  # noqa: ANN401 - any situation
    values = [
        f"    {field.name}={_shown(getattr(situation, field.name), field.name)},"
        for field in attrs.fields(type(situation))
        if field.name == "member" or getattr(situation, field.name) != field.default
    ]
    return [
        f"situation = {type(situation).__name__}(",
        *values,
        ")",
        f'assert holds_of(theorem_named("{theorem.name()}"), situation)',
    ]


def _shown(value: object, name: str) -> str:
    if isinstance(value, Record):
        parts = (
            f"{field.name}={_shown(getattr(value, field.name), field.name)}"
            for field in attrs.fields(Record)
            if getattr(value, field.name) != field.default
        )
        return f"Record({', '.join(parts)})"
    if isinstance(value, RecordState):
        return f"RecordState.{value.name}"
    if value is not None and name in _MEMBERS:
        return f'"member-{value}"'
    return repr(value)


def _imports(text: str, situation: type) -> list[str]:
    states = [f"from {RecordState.__module__} import RecordState"] if "RecordState." in text else []
    records = [f"from {Record.__module__} import Record"] if "Record(" in text else []
    return [
        *states,
        f"from {__package__}.catalogue import theorem_named",
        f"from {__package__}.harness import holds_of",
        f"from {situation.__module__} import {situation.__name__}",
        *records,
    ]
