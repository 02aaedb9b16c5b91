"""The results of a replay: a verdict on each share-partition, and the totals."""

from enum import StrEnum
from pathlib import Path

import attrs

from judge.finding import FindingKind
from judge.words import printable


class Verdict(StrEnum):
    """The verdict on one share-partition."""

    CONFORMS = "conforms"
    DIVERGES = "diverges"
    UNREADABLE = "unreadable"
    UNCHECKED = "not checked"


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
class Divergence:
    """The first event of a share-partition that no rule allows, and the states around it.

    ``name`` and ``sentence`` are those of the guard, invariant or kind of difference; ``before``
    and ``after`` are the states that were expected.
    """

    partition: str
    seq: int
    source: str
    line: int
    engine: str
    kind: FindingKind
    name: str
    sentence: str
    event: str
    recorded: str
    expected: str
    before: str
    after: str
    offset: int | None = None


@attrs.frozen
class PartitionVerdict:
    """The verdict on one share-partition; ``checked`` of its ``events`` were compared.

    ``log`` says against how much of the log they were.
    """

    partition: str
    verdict: Verdict
    events: int
    checked: int
    reason: str = ""
    divergence: Divergence | None = None
    problem: Problem | None = None
    log: LogKnowledge = LogKnowledge.ALL


@attrs.frozen
class Counts:
    """Totals. ``unreadable`` counts share-partitions and, where none is known, files.

    In ``log_unknown`` share-partitions nothing is known of the log; in ``log_partly`` nothing of
    what it held before the first event.
    """

    events: int
    checked: int
    partitions: int
    conforms: int
    diverged: int
    unreadable: int
    unchecked: int
    log_unknown: int = 0
    log_partly: int = 0


@attrs.frozen
class Replay:
    """The result of a replay. ``problems`` are those of files and lines; ``seconds`` elapsed.

    ``generated``: an input comes from ``sharespec generate``. ``interrupted``: the replay was
    stopped before its end.
    """

    verdicts: tuple[PartitionVerdict, ...]
    problems: tuple[Problem, ...]
    counts: Counts
    seconds: float
    passed_over: tuple[str, ...] = ()
    generated: bool = False
    interrupted: bool = False


def counted(verdicts: list[PartitionVerdict], problems: list[Problem]) -> Counts:
    """Return the totals over all share-partitions and the problems that belong to none."""
    per = dict.fromkeys(Verdict, 0)
    for verdict in verdicts:
        per[verdict.verdict] += 1
    return Counts(
        events=sum(verdict.events for verdict in verdicts),
        checked=sum(verdict.checked for verdict in verdicts),
        partitions=len(verdicts),
        conforms=per[Verdict.CONFORMS],
        diverged=per[Verdict.DIVERGES],
        unreadable=per[Verdict.UNREADABLE] + len({p.source for p in problems if not p.partition}),
        unchecked=per[Verdict.UNCHECKED],
        log_unknown=sum(v.log is LogKnowledge.NOTHING for v in verdicts),
        log_partly=sum(v.log is LogKnowledge.FROM_FIRST_EVENT for v in verdicts),
    )


def place(source: str, line: int | None) -> str:
    """Return a file and line as text, relative to the working folder if the file is in it."""
    path = Path(source)
    here = Path.cwd()
    shown = str(path.relative_to(here)) if path.is_relative_to(here) else source
    return printable(shown if line is None else f"{shown}:{line}")
