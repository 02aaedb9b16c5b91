"""Request logs of a correct broker as a busy host, its clock or a lossy collector leave them."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from random import Random

import attrs

_LINE = re.compile(r"\[(\S+ \S+),(\d{3})\]")
_TOTAL = re.compile(r'"totalTimeMs"\s*:\s*([0-9.]+)')
_CONNECTION = re.compile(r'"connection"\s*:\s*"([^"]+)"')
_WRITE = '"requestApiKeyName":"WRITE_SHARE_GROUP_STATE"'


@attrs.frozen
class Line:
    """A line: when it was written, how long its request took (ms), and over which connection."""

    end: float
    total: float
    connection: str
    text: str

    def moved(self, end: float, total: float | None = None) -> "Line":
        """Return the line as it is written at another time, of a request that took so long."""
        return attrs.evolve(self, end=end, total=self.total if total is None else total)

    def __str__(self) -> str:
        """Return the line as it is in a log."""
        clock = datetime.fromtimestamp(int(self.end) // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        text = _LINE.sub(f"[{clock},{int(self.end) % 1000:03}]", self.text, count=1)
        return _TOTAL.sub(f'"totalTimeMs":{json.dumps(round(self.total, 3))}', text, count=1)


Lines = list[Line]
Disturbance = Callable[[Lines, Random], Lines]


def parsed(text: str) -> Line | None:
    """Return a line of a request; None for another."""
    stamp, total, connection = _LINE.match(text), _TOTAL.search(text), _CONNECTION.search(text)
    if stamp is None or total is None or connection is None:
        return None
    clock = datetime.fromisoformat(stamp[1]).replace(tzinfo=UTC).timestamp()
    return Line(clock * 1000 + int(stamp[2]), float(total[1]), connection[1], text)


def busy(lines: Lines, dice: Random) -> Lines:
    """Let the broker pause, up to 1 s, and single threads be late with a line, up to 300 ms."""
    for _ in range(dice.randint(1, 8)):
        at = dice.randrange(len(lines))
        time, length = lines[at].end, 10 ** dice.uniform(1, 3)
        if dice.random() < 0.5:
            lines = [_paused(line, time, length, late=dice.random() < 0.5) for line in lines]
        else:
            lines = _late(lines, at, min(length, 300))
    return sorted(lines, key=lambda line: line.end)


def _paused(line: Line, time: float, length: float, *, late: bool) -> Line:
    """Return a line after a pause; it may have been about to be written, its time taken."""
    if line.end < time - 5 or (line.end < time and not late):
        return line
    if line.end < time:
        return line.moved(time + length)
    under_way = line.end - line.total < time
    return line.moved(line.end + length, line.total + length if under_way else None)


def _late(lines: Lines, at: int, length: float) -> Lines:
    """Write one line later, as long as its connection has no other request."""
    line = lines[at]
    after = [
        other.end - other.total
        for other in lines
        if other.connection == line.connection and other.end > line.end
    ]
    late = min([length, *(max(0, begin - line.end) for begin in after)])
    return [*lines[:at], line.moved(line.end + late), *lines[at + 1 :]]


def stepped(by: float, lines: Lines, dice: Random) -> Lines:
    """Set the clock, by so many ms."""
    at = dice.randrange(len(lines))
    return [*lines[:at], *(line.moved(line.end + by) for line in lines[at:])]


def lossy(lines: Lines, dice: Random) -> Lines:
    """Lose 3 % of the lines."""
    return [line for line in lines if dice.random() >= 0.03]


def without_writes(lines: Lines, dice: Random) -> Lines:
    """Lose every write to the share coordinator, and a random beginning."""
    kept = [line for line in lines if _WRITE not in line.text.replace(" ", "")]
    return kept[dice.randrange(len(kept) // 3) :]


def half(lines: Lines, dice: Random) -> Lines:
    """Lose half of the lines: the first or the last of them, around the middle, or any."""
    kind, middle = dice.randrange(4), len(lines) // 2
    if kind == 3:
        return [line for line in lines if dice.random() < 0.5]
    begin = (0, middle, dice.randrange(middle))[kind]
    return lines[begin : begin + middle]


DISTURBANCES: dict[str, Disturbance] = {
    "busy host": busy,
    "clock steps back": partial(stepped, -2000),
    "clock steps forward": partial(stepped, 10_000),
    "lost lines": lossy,
    "no writes": without_writes,
    "half a log": half,
}


def disturbed(text: list[str], disturbance: str, seed: int) -> list[str]:
    """Return the lines of a log as a disturbance leaves them."""
    lines = [line for line in map(parsed, text) if line is not None]
    changed = DISTURBANCES[disturbance](lines, Random(f"{disturbance}:{seed}"))  # noqa: S311 - no secret
    return [str(line) for line in changed]
