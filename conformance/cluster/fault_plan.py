"""What is done to a cluster of brokers, and when: a plan of faults, read, written and drawn.

A line of a plan is ``[t, fault, arguments]``: ms since the faults began, the name of the fault, and
an object with its arguments. Lines may have any order; empty ones are passed over.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

import attrs

from conformance.cluster.links import CLIENT
from conformance.cluster.run_state import READ_COMMITTED, READ_UNCOMMITTED
from conformance.target import TargetError

NODES = ("1", "2", "3")
GROUPS = ("g", "h")
"""The share groups, which read the same topic; plans alter the first where they name none."""
TOPIC, PARTITIONS = "t", 3
STATE_TOPIC, STATE_PARTITIONS = "__share_group_state", 3
Argument = int | str

_LEVELS = (READ_COMMITTED, READ_UNCOMMITTED)
ALTERED: Mapping[str, tuple[Argument, ...]] = {
    "delivery_count_limit": (2, 3, 5, 10),
    "partition_max_record_locks": (100, 200, 2000),
    "record_lock_duration_ms": (2000, 4000, 8000),
    "isolation_level": _LEVELS,
}
"""The settings of a group that are altered, and to what; the first number is the least."""
DEAD_LETTERS = "dlq.t"

_TOPICS = {TOPIC: PARTITIONS, STATE_TOPIC: STATE_PARTITIONS}
_LINE = '[t, fault, arguments], such as [5000, "pause", {"node": 2, "for_ms": 3000}]'
_LONGEST_MS, _MOST_LEFT = 600_000, 1_000_000
_QUIET_MS, _ALTERED_EVERY_MS = 3000, 12_000


@attrs.frozen
class PlannedFault:
    """A fault, ``ms`` after the faults began, with its arguments by name."""

    ms: int
    name: str
    arguments: Mapping[str, Argument]

    def __str__(self) -> str:
        """Return the fault in words."""
        return " ".join((self.name, *(f"{k}={v}" for k, v in self.arguments.items())))

    def line(self) -> str:
        """Return the line of a plan."""
        return json.dumps([self.ms, self.name, dict(self.arguments)])


def _one_of(names: Sequence[str], what: str) -> Callable[[object], Argument]:
    def checked(value: object) -> str:
        if isinstance(value, bool) or str(value) not in names:
            raise ValueError(f"no {what} {value!r:.40}; allowed: {', '.join(names)}")
        return str(value)

    return checked


def _number(most: int, what: str, least: int = 0) -> Callable[[object], int]:
    def checked(value: object) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"no {what} {value!r:.40}; allowed: {least:,} to {most:,}")
        return value

    return checked


_NODE, _MS = _one_of(NODES, "node"), _number(_LONGEST_MS, "time in ms")
_END = _one_of((*NODES, CLIENT), "node")
_VALUES: Mapping[str, Callable[[object], Argument]] = {
    name: _one_of(_LEVELS, name)
    if values == _LEVELS
    else _number(_LONGEST_MS, name, int(values[0]))
    for name, values in ALTERED.items()
}
_FAULTS: Mapping[str, Mapping[str, Callable[[object], Argument]]] = {
    "pause": {"node": _NODE, "for_ms": _MS},
    "kill": {"node": _NODE, "for_ms": _MS},
    "isolate": {"node": _NODE, "for_ms": _MS},
    "cut": {"source": _END, "target": _NODE, "for_ms": _MS},
    "delay": {"source": _END, "target": _NODE, "by_ms": _MS, "for_ms": _MS},
    "reset": {"source": _END, "target": _NODE},
    "move": {
        "topic": _one_of(tuple(_TOPICS), "topic"),
        "partition": _number(max(_TOPICS.values()) - 1, "partition"),
        "node": _NODE,
    },
    "move_and_return": {"partition": _number(PARTITIONS - 1, "partition"), "cut_ms": _MS},
    "delete_records": {
        "partition": _number(PARTITIONS - 1, "partition"),
        "leave": _number(_MOST_LEFT, "number of records"),
    },
    "alter": {
        "group": _one_of(GROUPS, "group"),
        "setting": _one_of(tuple(ALTERED), "setting"),
        "value": str,
    },
}
"""The faults, and what each argument of them may be.

``move_and_return``: the connections from the leader of a partition to the node of its share
coordinator are reset, and cut for ``cut_ms``, while leadership moves to another node and back.
``delete_records``: the log start offset of a partition goes up to its last ``leave`` offsets.
``alter``: a setting of a group has another value.
"""


def read_plan(lines: Iterable[str], name: str, seconds: float) -> tuple[PlannedFault, ...]:
    """Return the faults of a plan in the order of their times.

    Raises TargetError with one line for what is no fault, node or time, and for a time past the
    ``seconds`` of the run.
    """
    faults = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                faults.append(_fault(json.loads(line), int(seconds * 1000)))
            except (ValueError, RecursionError) as wrong:
                text = f"allowed: {_LINE}" if isinstance(wrong, json.JSONDecodeError) else wrong
                raise TargetError(f"{name}, line {number}: {text}") from None
    return tuple(sorted(faults, key=lambda fault: fault.ms))


def _fault(row: object, most_ms: int) -> PlannedFault:
    match row:
        case [ms, str(name), dict(arguments)]:
            pass
        case _:
            raise ValueError(f"allowed: {_LINE}")
    at_ms = _number(most_ms, "time in this run, in ms:")(ms)
    if name not in _FAULTS:
        raise ValueError(f"no fault {name!r:.40}; allowed: {', '.join(_FAULTS)}")
    wanted = _FAULTS[name]
    if "group" in wanted:
        arguments.setdefault("group", GROUPS[0])
    if arguments.keys() != wanted.keys():
        raise ValueError(
            f"{name} has {', '.join(arguments) or 'none'}; needed: {', '.join(wanted)}"
        )
    given = {key: of(arguments[key]) for key, of in wanted.items()}
    if name == "alter":
        given["value"] = _VALUES[str(given["setting"])](arguments["value"])
    return PlannedFault(at_ms, name, given)


_MIXTURE = {
    "move_and_return": 6,
    "pause": 2,
    "kill": 1,
    "isolate": 1,
    "cut": 2,
    "delay": 2,
    "reset": 2,
    "move": 2,
    "delete_records": 1,
}
_DISABLING = ("pause", "kill", "isolate")


def drawn_plan(random: Random, seconds: float) -> tuple[PlannedFault, ...]:
    """Draw the faults of a run of so many seconds, one about every five of them.

    Half of the plans begin as soon as a member has a record: what follows is not durable yet.
    No two nodes are stopped or cut off at a time, so that a majority remains. Between the faults of
    a third of the plans limits of the first group are altered, and of a third for each group its
    isolation level.
    """
    faults: list[PlannedFault] = []
    ms, whole_from, most = random.choice((0, _QUIET_MS)), 0, int(seconds * 1000)
    while ms < most - _QUIET_MS:
        names = [name for name in _MIXTURE if ms >= whole_from or name not in _DISABLING]
        name = random.choices(names, [_MIXTURE[name] for name in names])[0]
        fault = PlannedFault(ms, name, _drawn(random, name, most - ms))
        faults.append(fault)
        if name in _DISABLING:
            whole_from = ms + int(fault.arguments["for_ms"]) + 10_000
        ms += random.randrange(2000, 8000)
    *limits, level = ALTERED
    # Levels are drawn last, so that what else the plan of a seed has does not change.
    for group, names in ((GROUPS[0], limits), *((each, [level]) for each in GROUPS)):
        times = range(0, most, _ALTERED_EVERY_MS) if not random.randrange(3) else ()
        faults += (_drawn_alteration(random, begin, most, group, names) for begin in times)
    return tuple(sorted(faults, key=lambda fault: fault.ms))


def _drawn_alteration(
    random: Random, begin_ms: int, most_ms: int, group: str, names: Sequence[str]
) -> PlannedFault:
    setting = random.choice(names)
    ms = min(most_ms, begin_ms + random.randrange(_ALTERED_EVERY_MS))
    value = random.choice(ALTERED[setting])
    return PlannedFault(ms, "alter", {"group": group, "setting": setting, "value": value})


def _drawn(random: Random, name: str, most_ms: int) -> dict[str, Argument]:
    """Draw arguments; what lasts ends before the run does."""
    lasts = min(most_ms, math.ceil(2000 * 1.15 ** random.randrange(18)))
    node, other = random.sample(NODES, 2)
    topic = random.choice(list(_TOPICS))
    given: dict[str, Argument] = {
        "node": node,
        "source": random.choice((other, other, CLIENT)),
        "target": node,
        "topic": topic,
        "partition": random.randrange(_TOPICS[topic]),
        "for_ms": lasts,
        "by_ms": random.choice((20, 100, 400)),
        "cut_ms": random.choice((0, 0, 0, 300, 1500, 4000)),
        "leave": random.choice((0, 5, 50, 500)),
    }
    return {key: given[key] for key in _FAULTS[name]}
