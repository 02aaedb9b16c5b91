"""Known deviations of a core, a broker, a client or a trace: a TOML file, read and written here."""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from conformance.releases import is_before

CLUSTER = "cluster"
"""Who judges by the rules from end to end, as findings say."""

REASON = "Not judged yet."
_HEAD = "# Deviations that a run showed."
_PLAYED = " `sharespec verify` plays each sequence again."
_MOST = 10_000


class KnownError(Exception):
    """A file of known deviations, or a sequence, cannot be used; one line says why."""


@attrs.frozen
class KnownDeviation:
    """A known deviation. ``signature``: rule and operation, and of a failure its text.

    ``sequence`` is a shortest sequence that shows it; ``needs`` are features that every such
    sequence has, to exclude other deviations with the same signature, and of the features
    ``after`` it has one, if any are named. Whatever has one of the texts ``obscures`` in its
    probable cause follows from it. ``vectors`` names test vectors that show it. ``difference``, if
    it is there, is the probable cause as the kit words it, which every such deviation has.
    ``consequence`` is what it means to an operator, ``cause`` its origin, ``page`` where it is
    explained. ``loses`` is what a user loses by it, one of ``LOSSES``; empty: not said. ``mended``
    is the first release that has it no more; empty: none has mended it.
    """

    name: str
    title: str
    signature: tuple[str, ...]
    reason: str = ""
    sequence: tuple[Any, ...] = ()
    needs: frozenset[str] = frozenset()
    vectors: frozenset[str] = frozenset()
    difference: tuple[str, ...] = ()
    consequence: str = ""
    cause: str = ""
    after: frozenset[str] = frozenset()
    obscures: frozenset[str] = frozenset()
    page: str = ""
    loses: str = ""
    mended: str = ""

    def is_of(self, version: str) -> bool:
        """Return whether a release may have it; empty: one that is not known, which may."""
        return not (version and self.mended) or is_before(version, self.mended)


LOSSES = ("records lost", "delivered twice", "stuck", "wrong figures", "refused")
"""What a user loses by a fault, the worst first: a record that nobody processes; one that is given
to whom it may not be, mostly a second time; records that nobody is given, for good or for a time;
offsets, counts and limits that are wrong; and answers that are: an error, or none where one is due.
"""

Reader = Callable[[Any], tuple[Any, ...]]
"""Returns the commands in a sequence, as JSON has it. Raises KnownError."""


def read_known(path: Path, read: Reader | None = None) -> tuple[KnownDeviation, ...]:
    """Return the deviations of a file. Raises KnownError.

    Without a reader no sequence is needed, and what is not known is passed over.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise KnownError(f"{path}: {_TOO_DEEP}") from None
    except OSError as error:
        raise KnownError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise KnownError(f"{path}: {' '.join(str(error).split())[:200]}") from None
    listed = [*_entries(document, path, read)]
    if read and (strange := sorted({*document} - {_TABLE})):
        raise KnownError(f"{path}: {strange[0]!r:.80} is no table; allowed: [[{_TABLE}]]")
    names = [known.name for known in listed]
    if read and (doubled := {name for name in names if names.count(name) > 1}):
        raise KnownError(f"{path}: {min(doubled)} is listed twice")
    return tuple(listed)


_TOO_DEEP = "it is nested too deep to be read"
_TABLE, _NEEDED = "deviation", ("name", "reason", "signature")


def _entries(
    document: Mapping[str, Any], path: Path, read: Reader | None
) -> Iterator[KnownDeviation]:
    entries = document.get(_TABLE, [])
    if not isinstance(entries, list) or len(entries) > _MOST:
        raise KnownError(f"{path}: allowed: at most {_MOST:,} tables, [[{_TABLE}]]")
    for number, entry in enumerate(entries, start=1):
        try:
            yield _known(entry, read)
        except RecursionError:
            raise KnownError(f"{path}: {_TABLE} {number}: {_TOO_DEEP}") from None
        except KnownError as error:
            raise KnownError(f"{path}: {_TABLE} {number}: {error}") from None


def _known(entry: object, read: Reader | None) -> KnownDeviation:
    if not isinstance(entry, dict):
        raise KnownError("it is no table")
    fields = attrs.fields_dict(KnownDeviation)
    if read and (strange := sorted(set(entry) - set(fields))):
        raise KnownError(f"{strange[0]!r:.80} is no field; allowed: {', '.join(fields)}")
    given = {"sequence": "[]", **dict.fromkeys(_NEEDED), **entry}
    values = {name: _value(name, given[name]) for name in fields if name in given}
    if len(values["signature"]) < 2:  # noqa: PLR2004 - a rule and an operation
        found = list(values["signature"])
        raise KnownError(f"signature is {found!r:.80}; allowed: [rule, operation]")
    if not re.fullmatch(r"(\d{1,9}(\.\d{1,9})*)?", mended := values.get("mended", "")):
        raise KnownError(f"mended is {mended!r:.80}; allowed: a release, as 4.4.0")
    if (loses := values.get("loses", "")) and loses not in LOSSES:
        raise KnownError(f"loses is {loses!r:.80}; allowed: {', '.join(LOSSES)}")
    sequence = _commands(values.pop("sequence"), read) if read else ()
    return KnownDeviation(**{"title": values["name"], **values, "sequence": sequence})


_LISTS: Mapping[str, Callable[[list[str]], Any]] = {
    **dict.fromkeys(("signature", "difference"), tuple),
    **dict.fromkeys(("needs", "vectors", "after", "obscures"), frozenset),
}
"""The fields that are lists of texts, with what is made of each; the others are texts."""


def _value(name: str, given: Any) -> Any:  # noqa: ANN401 - as the field has it
    texts = given if name in _LISTS else [given]
    is_form = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    if not is_form or (name in _NEEDED and not given):
        allowed = "a list of texts" if name in _LISTS else "a text"
        raise KnownError(f"{name} is {given!r:.80}; allowed: {allowed}")
    return _LISTS[name](given) if name in _LISTS else given


def _commands(text: str, read: Reader) -> tuple[Any, ...]:
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise KnownError(f"the sequence is not JSON: {error}") from None
    return read(plain) if plain else ()


def read_sequence(text: str, read: Reader) -> tuple[Any, ...]:
    """Return the commands that JSON contains, as reports have them. Raises KnownError."""
    try:
        sequence = _commands(text, read)
    except RecursionError:
        raise KnownError(f"the sequence: {_TOO_DEEP}") from None
    if not sequence:
        raise KnownError("the sequence has no commands")
    return sequence


def free_name(text: str, taken: Collection[str]) -> str:
    """Return a name made of a text that no known deviation has."""
    name = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[:80]
    number = 1
    while (numbered := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return numbered


def as_toml(
    listed: Sequence[KnownDeviation], plain: Callable[[tuple[Any, ...]], Any] = list
) -> str:
    """Return a file with these deviations, as ``read_known`` reads it.

    ``plain`` returns the sequence of a kit's commands as JSON has it.
    """
    tables = ("\n".join(_lines(each, plain(each.sequence))) + "\n" for each in listed)
    head = _HEAD + (_PLAYED if any(each.sequence for each in listed) else "")
    return "\n".join((f"{head}\n", *tables))


def _lines(known: KnownDeviation, sequence: object) -> Iterator[str]:
    yield "[[deviation]]"
    for field in attrs.fields(KnownDeviation):
        value = getattr(known, field.name)
        if field.name == "sequence" or value == field.default:
            continue
        plain = value if isinstance(value, str) else list(value)
        plain = sorted(plain) if isinstance(value, frozenset) else plain
        yield f"{field.name} = {_toml(plain)}"
    if not known.sequence:
        return
    if isinstance(sequence, list):
        commands = ",\n".join(f"  {json.dumps(command)}" for command in sequence)
        literal = f"[\n{commands}\n]"
    else:
        literal = json.dumps(sequence)
    # JSON with only ASCII in it has no character that a literal string must not have; three quotes
    # in a row could only be part of a name.
    yield f"sequence = {_toml(literal)}" if "'''" in literal else f"sequence = '''{literal}'''"


def _toml(value: object) -> str:
    """Return a string or a list of strings in TOML, whose basic strings are JSON's but for DEL."""
    if isinstance(value, list):
        return f"[{', '.join(_toml(part) for part in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
