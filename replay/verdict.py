"""The results of a replay: a verdict on each share-partition, and the totals."""

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import ClassVar, TypeVar

import attrs

from judge.finding import Finding
from judge.weighing import Evidence, too_little
from judge.words import printable


class Verdict(StrEnum):
    """The verdict on one share-partition.

    Unknown: nothing is wrong, but too little of what was given could be judged
    (``judge.weighing``). Undetermined: of a request log, only something unseen explains it. Not
    checked: it was not asked for, or not reached.
    """

    CONFORMS = "conforms"
    DIVERGES = "diverges"
    UNREADABLE = "unreadable"
    UNDETERMINED = "undetermined"
    UNKNOWN = "unknown"
    UNCHECKED = "not checked"


ORDER = (*list(Verdict)[1:], Verdict.CONFORMS)
"""The verdicts as reports list them: what needs a look first."""


class LogKnowledge(StrEnum):
    """What a trace tells of the log, against which it is checked that a read loses no record."""

    ALL = "all"
    FROM_FIRST_EVENT = "from its first event on"
    NOTHING = "nothing"


@attrs.frozen
class Problem:
    """Why something could not be read. ``line`` counts lines, or rows of Parquet, from 1.

    ``partition`` is None where it is not known.
    """

    source: str
    line: int | None
    message: str
    partition: str | None = None


@attrs.frozen
class PartitionVerdict:
    """The verdict on one share-partition; ``checked`` of its ``events`` were compared.

    A gap is no event, whoever wrote it.
    ``divergence`` is the first and ``more`` are those after it; ``repeats`` are events at which
    nothing but a count is still wrong. ``log`` says against how much of the log they were compared.
    ``gaps`` are the places among them where events are missing, ``lost`` so many as is known;
    ``believed`` are the events behind gaps, which tell the state from which the check goes on.
    ``latest_ms`` is how long after it was due the latest timer ended a lock, None if no timer did.
    """

    given: ClassVar[Evidence] = Evidence.EVENTS

    partition: str
    verdict: Verdict
    events: int
    checked: int
    reason: str = ""
    divergence: Finding | None = None
    problem: Problem | None = None
    log: LogKnowledge = LogKnowledge.ALL
    gaps: int = 0
    lost: int = 0
    latest_ms: int | None = None
    more: tuple[Finding, ...] = ()
    repeats: int = 0
    believed: int = 0

    @property
    def divergences(self) -> tuple[Finding, ...]:
        """Return all divergences, in order."""
        return (self.divergence, *self.more) if self.divergence else ()


@attrs.frozen
class Totals:
    """Totals. ``unreadable`` counts share-partitions and, where none is known, files.

    In ``log_unknown`` share-partitions nothing is known of the log; in ``log_partly`` nothing of
    what it held before the first event. ``gaps`` are places where events are missing, ``lost`` so
    many as is known. ``latest_ms`` is how late the latest timer ended a lock; None if none did.
    """

    events: int
    checked: int
    partitions: int
    conforms: int
    diverged: int
    unreadable: int
    unchecked: int
    unknown: int = 0
    log_unknown: int = 0
    log_partly: int = 0
    gaps: int = 0
    lost: int = 0
    latest_ms: int | None = None


@attrs.frozen
class Recording:
    """The headers and trailers of files, what trailers count, and last lines that were cut.

    A file with more headers than trailers is that of a broker that died, or still writes.
    ``sampled`` of the headers say that not every share-partition was recorded. ``broker`` is the id
    of the broker in the first of them, "" if there is none.
    """

    headers: int = 0
    trailers: int = 0
    dropped: int = 0
    faults: int = 0
    cut: int = 0
    sampled: int = 0
    broker: str = attrs.field(default="", kw_only=True)

    @property
    def is_unfinished(self) -> bool:
        """Return whether the recorder did not close the file."""
        return self.headers > self.trailers

    def __add__(self, other: "Recording") -> "Recording":
        """Return the sum of both."""
        numbers = (a + b for a, b in zip(_numbers(self), _numbers(other), strict=True))
        return Recording(*numbers, broker=self.broker or other.broker)


def _numbers(recording: Recording) -> tuple[int, ...]:
    return attrs.astuple(recording)[:-1]


@attrs.frozen
class Replay:
    """The result of a replay. ``problems`` are those of files and lines; ``seconds`` elapsed.

    ``generated``: an input comes from ``sharespec generate``. ``interrupted``: the replay was
    stopped before its end. ``recordings`` is what a recorder says of the files that it wrote.
    ``runner`` is what ran it: this process or Spark.
    """

    verdicts: tuple[PartitionVerdict, ...]
    problems: tuple[Problem, ...]
    seconds: float
    passed_over: tuple[str, ...] = ()
    generated: bool = False
    interrupted: bool = False
    recordings: tuple[Recording, ...] = ()
    runner: str = ""

    @cached_property
    def counts(self) -> Totals:
        """The totals over all share-partitions, and the problems that belong to none."""
        return counted(self.verdicts, self.problems)


V = TypeVar("V", bound=PartitionVerdict)


NOT_SAMPLED = "not in the sample"
"""Why a share-partition is not checked that was left out on purpose."""


def not_checked(
    partition: str, events: int, reason: str, problem: Problem | None
) -> PartitionVerdict:
    """Return the verdict on a share-partition that nobody checked, with its problem, if any."""
    if problem:
        return PartitionVerdict(partition, Verdict.UNREADABLE, events, 0, problem=problem)
    return PartitionVerdict(partition, Verdict.UNCHECKED, events, 0, reason)


def weighed(verdict: V) -> V:
    """Return a verdict that says "conforms" only where nearly all that was given was judged."""
    if verdict.verdict is not Verdict.CONFORMS or not (reason := light(verdict)):
        return verdict
    reasons = "; ".join(filter(None, (reason, verdict.reason)))
    return attrs.evolve(verdict, verdict=Verdict.UNKNOWN, reason=reasons)


def light(verdict: PartitionVerdict) -> str:
    """Return why too little of a share-partition was judged; empty if enough was."""
    return too_little(verdict.given, verdict.checked, verdict.events, verdict.believed)


def counted(verdicts: Sequence[PartitionVerdict], problems: Sequence[Problem]) -> Totals:
    """Return the totals over all share-partitions and the problems that belong to none."""
    per = dict.fromkeys(Verdict, 0)
    for verdict in verdicts:
        per[verdict.verdict] += 1
    return Totals(
        events=sum(verdict.events for verdict in verdicts),
        checked=sum(verdict.checked for verdict in verdicts),
        partitions=len(verdicts),
        conforms=per[Verdict.CONFORMS],
        diverged=per[Verdict.DIVERGES],
        unreadable=per[Verdict.UNREADABLE] + len({p.source for p in problems if not p.partition}),
        unchecked=per[Verdict.UNCHECKED],
        unknown=per[Verdict.UNKNOWN] + per[Verdict.UNDETERMINED],
        log_unknown=sum(v.log is LogKnowledge.NOTHING for v in verdicts),
        log_partly=sum(v.log is LogKnowledge.FROM_FIRST_EVENT for v in verdicts),
        gaps=sum(v.gaps for v in verdicts),
        lost=sum(v.lost for v in verdicts),
        latest_ms=max((v.latest_ms for v in verdicts if v.latest_ms is not None), default=None),
    )


def merged(
    verdicts: Sequence[PartitionVerdict], events: int, bad: Problem | None = None
) -> PartitionVerdict:
    """Return the verdict on a share-partition with so many events from those on its parts.

    ``bad`` is a line of it that could not be read, in whatever part.
    """
    last = verdicts[-1]
    if len(verdicts) == 1 and not bad and events == last.events:
        return last
    is_unread = bad and last.verdict in {Verdict.CONFORMS, Verdict.UNKNOWN}
    return attrs.evolve(
        last,
        verdict=Verdict.UNREADABLE if is_unread else last.verdict,
        problem=bad or last.problem,
        events=events,
        checked=sum(each.checked for each in verdicts),
        gaps=sum(each.gaps for each in verdicts),
        lost=sum(each.lost for each in verdicts),
        latest_ms=max((v.latest_ms for v in verdicts if v.latest_ms is not None), default=None),
        believed=sum(each.believed for each in verdicts),
    )


def place(source: str, line: int | None) -> str:
    """Return a file and line as text, relative to the working folder if the file is in it."""
    path = Path(source)
    here = Path.cwd()
    shown = str(path.relative_to(here)) if path.is_relative_to(here) else source
    return printable(shown if line is None else f"{shown}:{line}")
