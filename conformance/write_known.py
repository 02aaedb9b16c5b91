"""Write what a run showed as a file of known deviations: with it, the same run has nothing new."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import attrs

from conformance.campaign import Fault
from conformance.deviation import Signature
from conformance.groups import Group
from conformance.known import Known, plain_sequence
from conformance.report import Report

REASON = "Not judged yet."
_HEAD = "# Deviations that a run of `sharespec verify` showed. Each sequence is played again.\n"


def known_now(report: Report) -> tuple[Known[Any], ...]:
    """Return the known deviations that still show, and one for each way in which a new one does.

    The forms of a cause that have the same rule and operation are one: its sequence is the
    simplest, and it names the vectors.
    """
    listed = [each.known for each in report.replayed if each.fault is not None]
    names = {known.name for known in listed}
    for group in report.groups:
        for signature, forms in _by_signature(group).items():
            known = _known(group, signature, forms, names)
            names.add(known.name)
            listed.append(known)
    return tuple(listed)


def _by_signature(group: Group[object]) -> dict[Signature, list[Fault[object]]]:
    ways: dict[Signature, list[Fault[object]]] = {}
    for fault in group.forms:
        signature = attrs.evolve(fault.deviation, name=fault.deviation.broken).signature
        ways.setdefault(signature, []).append(fault)
    return ways


def _known(
    group: Group[object],
    signature: Signature,
    forms: Sequence[Fault[object]],
    names: Collection[str],
) -> Known[Any]:
    first = forms[0]
    return Known(
        name=_name(f"{group.title.split(' in ')[0]} {first.deviation.operation}", names),
        title=f"{group.title} ({first.deviation.operation})",
        signature=signature,
        reason=REASON,
        sequence=first.sequence,
        vectors=frozenset(f.deviation.name for f in forms if f.deviation.rule),
        difference=first.deviation.probable_cause,
    )


def _name(text: str, names: Collection[str]) -> str:
    name = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[:80]
    number = 1
    while (numbered := name if number == 1 else f"{name}-{number}") in names:
        number += 1
    return numbered


def as_toml(listed: Sequence[Known[Any]]) -> str:
    """Return a file with these deviations, as ``conformance.known.read_known`` reads it."""
    return "\n".join((_HEAD, *("\n".join(_lines(known)) + "\n" for known in listed)))


def _lines(known: Known[Any]) -> Iterator[str]:
    yield "[[deviation]]"
    for field in attrs.fields(Known):
        value = getattr(known, field.name)
        if field.name == "sequence" or value == field.default:
            continue
        plain = value if isinstance(value, str) else list(value)
        plain = sorted(plain) if isinstance(value, frozenset) else plain
        yield f"{field.name} = {_text(plain)}"
    commands = ",\n".join(f"  {json.dumps(command)}" for command in plain_sequence(known.sequence))
    # JSON with only ASCII in it has no character that a literal string must not have; three quotes
    # in a row could only be part of a name.
    literal = f"[\n{commands}\n]"
    yield f"sequence = {_text(literal)}" if "'''" in literal else f"sequence = '''{literal}'''"


def _text(value: object) -> str:
    """Return a string or a list of strings in TOML, whose basic strings are JSON's but for DEL."""
    if isinstance(value, list):
        return f"[{', '.join(_text(part) for part in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
