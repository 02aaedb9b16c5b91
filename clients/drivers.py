"""The protocol between the harness and a client's driver: one JSON object a line each way.

``docs/verify-client.md`` explains it for authors of drivers. What a driver answers is not believed:
it is read into events, or refused.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias

import attrs

from clients.duties import Duty
from clients.events import Completed, Delivered, Place, Returned, Settings
from conformance.cores.protocol import VERSION, capabilities, check_protocol, described
from conformance.target import Hello, TargetError
from judge.words import printable

GROUP = "g"
"""The group that a client is a member of."""
MODES = ("implicit", "explicit")
ACQUIRE_MODES = ("batch_optimized", "record_limit")
MOST_RECORDS = 100_000
"""How many records, results or offsets one answer may have."""

_LONGEST_TEXT = 300
_MOST_OFFSET = (1 << 63) - 1
_MOST_COUNT = (1 << 15) - 1

Values: TypeAlias = dict[str, Any]


class Driver(Protocol):
    """A client of some kind, which does what it is told, one command after the other."""

    def ask(self, command: Values) -> Values:
        """Carry out a command and return its answer. Raises TargetError if there is none."""

    def close(self) -> None:
        """End the client, whatever state it is in."""


@attrs.frozen
class ClientCapabilities:
    """What a client can do; modes and acquire modes that it does not have are left out.

    ``callbacks``: it tells what callbacks for acknowledgements said. ``without``: the duties of a
    call that its client does not have. ``renews``: it has RENEW. ``resubscribes``: its
    subscription may change. ``deserializes``: it fails at a value that its application refuses.
    ``recycles``: its records may share memory that is used again. ``listens``: its application may
    be a function that is given each record, which returns or throws. ``renews_itself``: unasked, it
    renews the locks of what its application has. ``throws``: its callback may throw.
    """

    callbacks: bool = False
    acquire_modes: tuple[str, ...] = ACQUIRE_MODES[:1]
    modes: tuple[str, ...] = MODES
    without: tuple[Duty, ...] = ()
    renews: bool = False
    resubscribes: bool = False
    deserializes: bool = False
    recycles: bool = False
    listens: bool = False
    renews_itself: bool = False
    throws: bool = False


ClientHello: TypeAlias = Hello[ClientCapabilities]
"""What a driver says of its client."""

_LISTS: Mapping[str, Mapping[str, Any]] = {
    "acquire_modes": {mode: mode for mode in ACQUIRE_MODES},
    "modes": {mode: mode for mode in MODES},
    "without": {duty.value: duty for duty in Duty},
}
_NAMES = tuple(field.name for field in attrs.fields(ClientCapabilities))


def hello(driver: Driver) -> ClientHello:
    """Ask a driver for its client. Raises TargetError for anything that is no description."""
    answer = driver.ask({"do": "hello", "protocol": VERSION})
    check_protocol(answer)
    given = {name: answer[name] for name in _NAMES if answer.get(name, []) != []}
    can = ClientCapabilities(**capabilities(given, _LISTS))
    return Hello(described(answer, "name"), "", "kip", can)


def opened(driver: Driver, address: str, settings: Settings) -> None:
    """Let a driver create its client. Raises TargetError if it cannot."""
    answer = driver.ask(
        {
            "do": "open",
            "bootstrap": address,
            "group": GROUP,
            "mode": "explicit" if settings.explicit else "implicit",
            "acquire_mode": "record_limit" if settings.record_limit else "batch_optimized",
            "max_poll_records": settings.max_poll_records,
            "recycles": settings.recycles,
            "listens": settings.listens,
        }
    )
    error = _error(answer.get("error"))
    if error is not None:
        raise TargetError(f"it cannot open a client: {error}")


def returned(call: str, answer: Values, at_ms: int) -> Returned:
    """Read the answer to a call. Raises TargetError that names the field that is wrong."""
    return Returned(
        at_ms,
        call,
        _error(answer.get("error")),
        tuple(_record(item) for item in _list(answer, "records")),
        tuple((_place(item), _error(item.get("error"))) for item in _list(answer, "results")),
        tuple(_completed(item) for item in _list(answer, "completed")),
    )


def _list(answer: Values, name: str) -> Iterable[Values]:
    value = answer.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise TargetError(f"its {name} is not a list of objects")
    if len(value) > MOST_RECORDS:
        raise TargetError(f"its {name} has {len(value):,} items; at most {MOST_RECORDS:,} are read")
    return value


def _error(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise TargetError(f"its error is {value!r:.80}, and not a text or null")
    return printable(value[:_LONGEST_TEXT]) or "an error without a name"


def _number(item: Values, name: str, most: int) -> int:
    value = item.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise TargetError(f"its {name} is {value!r:.80}; allowed: a whole number from 0 to {most}")
    return value


def _place(item: Values) -> Place:
    topic = item.get("topic")
    if not isinstance(topic, str):
        raise TargetError(f"its topic is {topic!r:.80}, and not a text")
    return printable(topic[:_LONGEST_TEXT]), _number(item, "partition", 1 << 31)


def _record(item: Values) -> Delivered:
    value = item.get("value")
    if value is not None and not isinstance(value, str):
        raise TargetError(f"its value is {value!r:.80}, and not a text or null")
    offset = _number(item, "offset", _MOST_OFFSET)
    return Delivered(_place(item), offset, _number(item, "delivery_count", _MOST_COUNT), value)


def _completed(item: Values) -> Completed:
    offsets = item.get("offsets")
    if not isinstance(offsets, list) or len(offsets) > MOST_RECORDS:
        raise TargetError("its offsets is not a list of whole numbers")
    checked = tuple(_number({"offset": offset}, "offset", _MOST_OFFSET) for offset in offsets)
    return Completed(_place(item), checked, _error(item.get("error")))
