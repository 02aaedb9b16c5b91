"""Turn a counterexample into a Python test that fails on the specification."""

import re
from typing import Any

import attrs

from model.states import RecordState
from proofs.theorems.theorem import Theorem
from spec import record as rules
from spec.invariants import RECORD_INVARIANTS
from spec.record import Record

_MEMBERS = frozenset({"member", "owner", "former_owner"})


def as_test(theorem: Theorem, situation: Any) -> str:  # noqa: ANN401 - any situation
    """Return the shortest test that shows the theorem to be false in the situation.

    Where the theorem is about one rule, the test calls that rule; otherwise it names the theorem.
    """
    lines = _by_rules(theorem, situation) if theorem.test else _by_name(theorem, situation)
    name = re.sub(r"\W+", "_", theorem.name())
    body = [f'"""{theorem.property.sentence}"""', *lines]
    imports = _imports(theorem, "\n".join(lines), type(situation))
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


def holds(name: str, record: Record, limit: int, now: int) -> bool:
    """Return whether the invariant of that name holds of a record."""
    known = next(known for known in RECORD_INVARIANTS if known.name == name)
    return bool(known.holds(record, limit, now))


def _by_rules(theorem: Theorem, situation: Any) -> list[str]:  # noqa: ANN401 - any situation
    text = "\n".join(theorem.test)
    given = [
        f"{field.name} = {_shown(getattr(situation, field.name), field.name)}"
        for field in attrs.fields(type(situation))
        if re.search(rf"\b{field.name}\b", text)
    ]
    return [*given, *theorem.test]


def _by_name(theorem: Theorem, situation: Any) -> list[str]:  # noqa: ANN401 - any situation
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


def _imports(theorem: Theorem, text: str, situation: type) -> list[str]:
    used = sorted(name for name in (*rules.__all__,) if re.search(rf"\b{name}\b", text))
    states = [n for n in ("AcknowledgeType", "RecordState") if re.search(rf"\b{n}\b", text)]
    lines = [f"from model.states import {', '.join(states)}"] if states else []
    if not theorem.test:
        lines.append("from proofs.theorems.catalogue import theorem_named")
        lines.append("from proofs.theorems.harness import holds_of")
        lines.append(f"from {situation.__module__} import {situation.__name__}")
        used = ["Record"] if "Record(" in text else []
    elif "holds(" in text:
        lines.append("from proofs.theorems.counterexample import holds")
    if used:
        lines.append(f"from spec.record import {', '.join(used)}")
    return lines
