"""A file of request-log lines, or a part of it, as observations and facts."""

import re
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path

import attrs

from model.errors import InvalidValueError
from replay.observed.gaps import LOST_MS, SILENT_MS, STEP_MS, stepped_back
from replay.observed.observation import (
    EpochRun,
    Lapse,
    ListedBroker,
    LogExtent,
    NamedTopic,
    Observation,
    SentRun,
)
from replay.request_log.bodies import APIS, NEEDED, OF_COORDINATOR, Seen, observed
from replay.request_log.entry import Entry, Other, Unusable, entries
from replay.sources import Bad, Line
from replay.verdict import Problem

MAX_LOG_LINE_BYTES = 64 << 20
MOST_PROBLEMS = 100
"""How many unusable lines of one file are described; all are counted."""

STALL_MS = 50
"""After how long without a line a broker may have stalled, so that its next lines are late (ms)."""

BURST_MS = 20
"""How long after the first line after a stall others may be late by it (ms)."""

MOST_RUNS, MOST_CLIENTS = 2000, 1000
"""How many runs of correlation ids are followed of a client; of more, nothing is said to miss. Of
how many clients, besides those that send to share coordinators."""

_ROTATED = re.compile(r"^(.*?\.log)(?:[.-].*)?$")

_WRONG = (LookupError, TypeError, AttributeError, StopIteration, ValueError, ArithmeticError)


@attrs.define
class FileTally:
    """What a file held besides observations of share-partitions, which its ``facts`` are not."""

    source: str
    lines: int = 0
    requests: int = 0
    others: int = 0
    unusable: int = 0
    backward: int = 0
    troubles: list[Problem] = attrs.field(factory=list)
    facts: list[Seen] = attrs.field(factory=list)

    def cannot_use(self, line: int, message: str) -> None:
        """Count a line that cannot be used."""
        self.unusable += 1
        if len(self.troubles) < MOST_PROBLEMS:
            self.troubles.append(Problem(self.source, line, message))


@lru_cache(maxsize=1024)
def broker_of(source: str, host: str) -> str:
    """Return the broker whose log a line is of: the host that answered, and the log's own name."""
    path = Path(source)
    name = _ROTATED.match(path.name)
    return f"{host}@{path.parent / (name[1] if name else path.name)}"


def scan(lines: Iterable[Line | Bad], source: str, tally: FileTally) -> Iterator[Observation]:
    """Yield what lines of a file show of share-partitions; the rest goes to the tally.

    No content of a file makes it fail.
    """
    stage = _Scan(source, tally)
    for line in lines:
        if isinstance(line, Bad):
            stage.lost(line.number or tally.lines + 1, Unusable(line.message))
            continue
        tally.lines = line.number
        for entry in entries(line.content, APIS):
            yield from stage.take(entry, line.number)
    stage.finish()


class _Scan:
    def __init__(self, source: str, tally: FileTally) -> None:
        self._source, self._tally = source, tally
        self._broker = ""
        self._last: float | None = None
        self._told: set[NamedTopic | ListedBroker] = set()
        self._shown: set[str] = set()
        self._logs: dict[str, list[LogExtent]] = {}
        self._sent: dict[str, dict[int, SentRun]] = {}
        self._leaders: set[str] = set()
        self._stall, self._stalled_until = 0.0, float("-inf")
        self._runs: dict[tuple[str, str, str], EpochRun] = {}

    def take(self, entry: Entry | Other | Unusable, line: int) -> Iterator[Observation]:
        tally = self._tally
        if isinstance(entry, Unusable):
            self.lost(line, entry)
            return
        self._time(entry.end)
        tally.requests += 1
        self._count(entry)
        if isinstance(entry, Other):
            tally.others += 1
            if entry.local:
                self._extend(broker_of(self._source, entry.local), entry.end)
            return
        self._broker = broker_of(self._source, entry.local)
        self._shown.add(self._broker)
        self._extend(self._broker, entry.end)
        try:
            source, late = self._source, self._late(entry)
            seen = observed(
                attrs.evolve(entry, broker=self._broker, source=source, line=line, late=late)
            )
        except InvalidValueError as error:
            self.lost(line, Unusable(str(error), entry.api, entry.end))
            return
        except _WRONG as error:
            text = f"{entry.api} is not as the protocol has it: {error!r}"
            self.lost(line, Unusable(text[:200], entry.api, entry.end))
            return
        self._follow(entry)
        for each in seen:
            if isinstance(each, Observation) and not each.named:
                yield each
            elif not isinstance(each, NamedTopic | ListedBroker):
                tally.facts.append(each)
            elif each not in self._told:  # Every answer to Metadata has them.
                self._told.add(each)
                tally.facts.append(each)

    def lost(self, line: int, unusable: Unusable) -> None:
        """Note a line that cannot be used; what it may have shown is missing."""
        tally = self._tally
        tally.cannot_use(line, unusable.message)
        if unusable.api is not None and unusable.api not in NEEDED:
            return
        end = unusable.end if unusable.end is not None else self._last
        if end is not None:
            tally.facts.append(Lapse(self._broker, end - LOST_MS, end, "a line cannot be used"))

    def _extend(self, broker: str, end: float) -> None:
        """Note that a broker's log goes on, or begins again after silence."""
        extents = self._logs.setdefault(broker, [])
        last = extents.pop() if extents and end - extents[-1].last <= SILENT_MS else None
        first, reached = (min(last.first, end), max(last.last, end)) if last else (end, end)
        extents.append(LogExtent(broker, first, reached))

    def _time(self, end: float) -> None:
        tally = self._tally
        last = end if self._last is None else self._last
        self._last = max(last, end)
        if end < last:
            tally.backward += 1
        if end < last - STEP_MS:
            tally.facts.append(stepped_back(self._broker, end, last))
            self._last = end
        if end - last > STALL_MS:
            self._stall, self._stalled_until = end - last, end + BURST_MS

    def _late(self, entry: Entry) -> float:
        """Return how late its line may have been written, as far as the log shows a stall (ms).

        Nothing was written for so long before it, or it waited for threads for so long itself.
        """
        return max(entry.waited, self._stall if entry.end <= self._stalled_until else 0)

    def _count(self, entry: Entry | Other) -> None:
        """Note the correlation ids of a client that sends to share coordinators, or may do so."""
        if entry.sender is None:
            return
        client, number = entry.sender
        if isinstance(entry, Other):
            begin, follows = entry.end, client in self._sent or len(self._sent) < MOST_CLIENTS
        else:
            begin, follows = entry.begin, entry.api in OF_COORDINATOR
            if follows:
                self._leaders.add(client)
        if not follows:
            return
        runs = self._sent.setdefault(client, {})
        digest = f"{zlib.crc32(client.encode()):08x}"
        run = runs.pop(number - 1, None) or SentRun(digest, number, number, begin, begin)
        if len(runs) < MOST_RUNS:
            runs[number] = attrs.evolve(run, last=number, end=begin)

    def _follow(self, entry: Entry) -> None:
        """Note the session epoch of a request that succeeded: a missing one is a missing line."""
        if entry.api not in ("SHARE_FETCH", "SHARE_ACKNOWLEDGE") or entry.response["errorCode"]:
            return
        epoch = entry.request["shareSessionEpoch"]
        key = entry.request["groupId"], entry.request["memberId"], self._broker
        run = self._runs.get(key)
        if run is not None and epoch == run.last + 1 and epoch > 0:
            self._runs[key] = attrs.evolve(run, last=epoch, end=entry.end)
            return
        if run is not None:
            self._tally.facts.append(run)
        self._runs[key] = EpochRun(*key, epoch, epoch, entry.begin, entry.end)

    def finish(self) -> None:
        """Hand over what was being followed."""
        extents = (some for broker, some in self._logs.items() if broker in self._shown)
        of_clients = (
            attrs.evolve(run, to_coordinator=client in self._leaders)
            for client, runs in self._sent.items()
            for run in runs.values()
        )
        self._tally.facts += chain(self._runs.values(), chain.from_iterable(extents), of_clients)
