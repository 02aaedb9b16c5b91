"""Known violations of a client: a TOML file, each with a script that shows it."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from clients.duties import Duty
from clients.scripts import Do, Script, ScriptError, from_json

_FIELDS = ("name", "title", "duty", "after", "page", "script")
_MOST = 1000


class KnownError(Exception):
    """A file of known violations cannot be read; the text says where and what is allowed."""


@attrs.frozen
class Known:
    """A known violation of one duty.

    A script with one of the steps ``after``, or any script where there are none, is taken to show
    this one where it violates the duty. ``script`` is one that does; ``page`` is where it is
    explained.
    """

    name: str
    title: str
    duty: Duty
    script: Script
    after: frozenset[Do] = frozenset()
    page: str = ""

    def covers(self, duty: Duty, script: Script) -> bool:
        """Whether a violation of that duty in that script is taken for this one."""
        steps = {do for do, _ in script.steps}
        return duty is self.duty and (not self.after or bool(self.after & steps))


def covering(known: Sequence[Known], duty: Duty, script: Script) -> Known | None:
    """Return the known violation for which one in a script is taken, or None: it is new."""
    return next((each for each in known if each.covers(duty, script)), None)


def read_known(path: Path) -> tuple[Known, ...]:
    """Return the violations of a file. Raises KnownError."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("violation", [])
    except RecursionError:
        raise KnownError(f"{path}: it is nested too deep to be read") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise KnownError(f"{path}: {error}") from None
    if not isinstance(entries, list) or len(entries) > _MOST:
        raise KnownError(f"{path}: allowed: at most {_MOST:,} tables, [[violation]]")
    listed = []
    for number, entry in enumerate(entries, start=1):
        try:
            listed.append(_known(entry))
        except (KnownError, ScriptError) as error:
            raise KnownError(f"{path}: violation {number}: {error}") from None
    names = [known.name for known in listed]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise KnownError(f"{path}: {min(doubled)} is listed twice")
    return tuple(listed)


def _known(entry: object) -> Known:
    if not isinstance(entry, dict):
        raise KnownError("it is no table")
    if strange := sorted(set(entry) - set(_FIELDS)):
        raise KnownError(f"{strange[0]!r:.80} is no field; allowed: {', '.join(_FIELDS)}")
    duties = {duty.value: duty for duty in Duty}
    duty, after = _text(entry, "duty"), entry.get("after", [])
    if duty not in duties:
        raise KnownError(f"duty is {duty!r:.80}; allowed: {', '.join(duties)}")
    steps = {do.value: do for do in Do}
    if not isinstance(after, list) or any(str(step) not in steps for step in after):
        raise KnownError(f"after is {after!r:.80}; allowed: a list of {', '.join(steps)}")
    return Known(
        _text(entry, "name"),
        _text(entry, "title"),
        duties[duty],
        from_json(_text(entry, "script")),
        frozenset(steps[str(step)] for step in after),
        _text(entry, "page", ""),
    )


def _text(entry: dict[str, Any], name: str, default: str | None = None) -> str:
    value = entry.get(name, default)
    if not isinstance(value, str) or (not value and default is None):
        raise KnownError(f"{name} is {value!r:.80}; allowed: a text")
    return value
