"""What the judges say of a run of a cluster: rules from end to end, traces, request logs."""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path

import attrs

from clients.cluster_history import (
    LATE_MS,
    MadeHistory,
    NodeRow,
    StarvedMember,
    made_history,
    starved_members,
)
from clients.duties import RULES, Duty
from clients.work import COMPACTED, MemberPolled, RecordProduced
from conformance.cluster.fault_plan import NODES, TOPIC
from conformance.cluster.history import (
    FaultsOver,
    GroupAltered,
    GroupSettings,
    Happening,
    LeaderAtRest,
    LeaderReads,
    LeaderWrites,
    LettersAnswered,
    LettersGiven,
    MemberLeft,
    ReadAnswered,
    RecordsAborted,
    RecordsCompacted,
    RecordsDeleted,
    read_history,
)
from conformance.cluster.nodes import LOG, TRACE
from conformance.cluster.rules import judge_history
from conformance.cluster.run_state import FENCED, LATEST, READ_COMMITTED, READ_UNCOMMITTED, keys_of
from conformance.deviation import target_finding
from conformance.target import TargetError
from judge.finding import Finding, FindingPlace
from judge.weighing import Evidence, too_little
from replay.observed.inputs import sorted_out
from replay.observed.run import JudgedLogs, judge_inputs
from replay.observed.settings import Assumed
from replay.request_log.entry import MARK
from replay.sources import SUFFIXES, Line, read_lines
from replay.verdict import PartitionVerdict, Replay, Verdict, light
from sharespec.cluster_groups import ClusterRun, GroupRun
from sharespec.cluster_run import DUMP
from sharespec.dump import observed_dump
from sharespec.known_faults import known_in_cluster
from sharespec.leader_traces import replay_leaders

HISTORY = "history.jsonl"
"""The file with the history of a run, as ``conformance.cluster.history`` has it."""


@attrs.frozen
class JudgedCluster:
    """A run, and what was wrong in it.

    ``rules`` are findings of the rules from end to end over ``history``, and ``causes`` all that
    they would find if they reported more than one in a share-partition; ``unseen`` records were
    confirmed to the producer and reached no member. ``said`` is why nodes gave up share-partitions,
    ``starved`` to which members records went in vain.
    """

    run: ClusterRun
    history: MadeHistory
    rules: tuple[Finding, ...]
    traces: Replay
    logs: JudgedLogs
    unseen: int
    said: tuple[str, ...] = ()
    starved: tuple[StarvedMember, ...] = ()
    causes: tuple[Finding, ...] = ()

    @property
    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong by any judge."""
        yield from self.rules
        yield from map(_starved_finding, self.starved)
        for replay in (self.traces, self.logs):
            for verdict in replay.verdicts:
                yield from verdict.divergences

    @property
    def counts(self) -> tuple[tuple[str, int, int], ...]:
        """Return what was judged: its name, how much, and of how much."""
        told, traces, logs = self.history.told, self.traces.counts, self.logs.counts
        return (
            (
                "answers to members, by the rules from end to end",
                told - self.history.unmatched,
                told,
            ),
            ("events of the leaders' traces", traces.checked, traces.events),
            ("requests and writes of the request logs", logs.checked, logs.events),
        )

    @property
    def lack(self) -> str:
        """Return why what was judged bears no verdict; empty if it does.

        A request that a fault cut off is in no request log, and what follows undetermined there:
        traces and rules stand without it.
        """
        told, unmatched = self.history.told, self.history.unmatched
        if reason := too_little(Evidence.EVENTS, told - unmatched, told):
            return f"answers to members: {reason}"
        for verdict in self.traces.verdicts:
            if reason := light(verdict):
                return f"traces of {verdict.partition}: {reason}"
        if not self.logs.counts.checked:
            return "no request of a log was judged"
        return "; ".join(self.run.troubles)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return of which share-partitions traces or request logs do not tell enough, and why."""
        verdicts: list[tuple[str, PartitionVerdict]] = [
            *(("traces", verdict) for verdict in self.traces.verdicts),
            *(("request logs", verdict) for verdict in self.logs.verdicts),
        ]
        return tuple(
            f"{verdict.partition}, {what}: {verdict.verdict}, {verdict.reason}"
            for what, verdict in verdicts
            if verdict.verdict not in {Verdict.CONFORMS, Verdict.DIVERGES}
        )

    def known(self, finding: Finding) -> str:
        """Return the name, the title and the page of what a finding is, if that is known."""
        traces = (each for verdict in self.traces.verdicts for each in verdict.divergences)
        return known_in_cluster(finding, self.causes, traces)


def _starved_finding(starved: StarvedMember) -> Finding:
    """Return that a client keeps from its application what leaders give it."""
    rule = RULES[Duty.NONE_DROPPED]
    found = target_finding(Duty.NONE_DROPPED.value, "", rule.check, str(starved), "records")
    cause = "after a renewal" if starved.renewed else "without a renewal"
    place = FindingPlace(partition=starved.member)
    return attrs.evolve(found, engine="client", cause=(found.name, cause), place=place)


def judge_cluster(run: ClusterRun) -> JudgedCluster:
    """Judge a run by what its nodes and members left in its folder. Raises TargetError."""
    said = tuple(_said(run))
    killed = {int(str(f.arguments["node"])) for f in run.plan if f.name == "kill"}
    rows = {group.name: list(_rows(run, group)) for group in run.groups}
    made = [_made_history(group, rows[group.name], said, killed) for group in run.groups]
    history = MadeHistory(
        tuple(line for each in made for line in each.lines),
        sum(each.told for each in made),
        sum(each.unmatched for each in made),
    )
    readable = {group.name: readable_records(group) for group in run.groups}
    (run.folder / HISTORY).write_text("".join(f"{line}\n" for line in history.lines))
    return JudgedCluster(
        run,
        history,
        tuple(judge_history(read_history(history.lines))),
        replay_leaders(list(_trace_folders(run)), run.paused_ms + _SWEEP_MS),
        _judged_logs(run),
        sum(len(readable[group.name] - _polled(group)) for group in run.groups),
        tuple(line for line in said if any(mark in line for mark in _GIVES_UP)),
        tuple(
            member
            for group in run.groups
            for member in starved_members(rows[group.name], group.work, readable[group.name])
        ),
        tuple(judge_history(read_history(history.lines), once=False)),
    )


def _made_history(
    group: GroupRun, rows: Sequence[NodeRow], said: Sequence[str], killed: Collection[int]
) -> MadeHistory:
    """Return the history of a group, a run of its own, as no rule speaks of several groups."""
    others = [
        *happened_to_judge(group),
        *letters_given_up(group, said),
        *fenced_reads(group, said),
        *emptied_nodes(group, said),
    ]
    name = f"{group.name}:{TOPIC}"
    history = made_history(name, rows, group.work, group.committed, others, killed)
    if group.committed:
        return history
    # Nothing tells what was written, so nothing is missing.
    events = read_history(history.lines)
    lines = (event.line for event in events if not isinstance(event.what, LeaderWrites))
    return attrs.evolve(history, lines=tuple(lines))


def settings_to_judge(group: GroupRun) -> GroupSettings:
    """Return the settings, of those that were altered the value that forbids least.

    A node learns of an alteration when it does. The lock is as short as it may be, seen from the
    row that grants it.
    """
    every = _every(group)
    return attrs.evolve(
        group.settings,
        delivery_count_limit=max(each.delivery_count_limit for each in every),
        partition_max_record_locks=max(each.partition_max_record_locks for each in every),
        record_lock_duration_ms=min(each.record_lock_duration_ms for each in every) - LATE_MS,
        isolation_level=_levels(group)[-1],
    )


def happened_to_judge(group: GroupRun) -> Iterator[tuple[int, Happening]]:
    """Yield what happened, with the delivery limits that there were once all nodes know of them.

    Until faults are over a record may be acquired as often as the highest of them; and may have
    been passed after as few attempts as the lowest. Aborted records may be acquired as long as a
    node, or a fetch that waits there, may be at another isolation level, and need not be.
    """
    settings = settings_to_judge(group)
    lock = settings.record_lock_duration_ms
    yield from ((0, attrs.evolve(settings, isolation_level=level)) for level in _levels(group))
    for ms, what in group.happened:
        if not isinstance(what, GroupAltered):
            yield ms, what
        if isinstance(what, FaultsOver) and (altered := _altered(group)):
            limits = [each.delivery_count_limit for each in _every(group)]
            last = attrs.evolve(altered[-1], record_lock_duration_ms=lock)
            unsure = attrs.evolve(last, isolation_level=settings.isolation_level)
            yield from ((ms, attrs.evolve(unsure, delivery_count_limit=limit)) for limit in limits)
            yield ms + _LEARNT_MS, last


def _every(group: GroupRun) -> list[GroupSettings | GroupAltered]:
    return [group.settings, *_altered(group)]


def _altered(group: GroupRun) -> list[GroupAltered]:
    return [what for _ms, what in group.happened if isinstance(what, GroupAltered)]


def _levels(group: GroupRun) -> list[str]:
    """Return the isolation levels that a group had; the last one forbids least."""
    levels = {each.isolation_level for each in _every(group)}
    return [each for each in (READ_COMMITTED, READ_UNCOMMITTED) if each in levels]


_LEARNT_MS = 5000
"""When after faults are over each node, and each fetch that it answers, has the last settings."""

_SWEEP_MS = 5000
"""How late timers may be besides pauses, as the profile has it."""


def _trace_folders(run: ClusterRun) -> Iterator[Path]:
    for id_ in NODES:
        folder = run.folder / f"node-{id_}" / TRACE
        if any(folder.glob(f"*{SUFFIXES[1]}")):
            yield folder


def _rows(run: ClusterRun, group: GroupRun) -> Iterator[NodeRow]:
    """Yield the rows of all traces of a group's share-partitions; the last may be cut."""
    for folder in _trace_folders(run):
        for path in sorted(folder.glob(f"*{SUFFIXES[1]}")):
            for line in read_lines(str(path), compressed=True):
                row = json.loads(line.content) if isinstance(line, Line) and line.content else {}
                is_own = row.get("partition", "").startswith(f"{group.name}:")
                if is_own and row.get("op", "gap") != "gap":
                    yield NodeRow(int(folder.parent.name.removeprefix("node-")), row)


def _said(run: ClusterRun) -> Iterator[str]:
    """Yield what nodes said of objects that failed, and of share sessions."""
    marks = (*_GIVES_UP, _BEGUN, _ENDED)
    for id_ in NODES:
        path = run.folder / f"node-{id_}" / LOG
        if not path.exists():
            continue
        with path.open(encoding="utf-8", errors="replace") as log:
            for line in log:
                if MARK.decode() not in line and any(mark in line for mark in marks):
                    yield f"node {id_}: {line.strip()}"


_NO_LETTER, _NO_STATE = "Failed to write to DLQ", "Failed to initialize the share partition"
_GIVES_UP = (_NO_STATE, "is fenced:", _NO_LETTER)
"""Marks of what nodes say of objects that failed, for which a later one may be removed."""
_BEGUN, _ENDED = "A new share session will be started", "Removed share session"


def _place_of(line: str) -> tuple[int, int]:
    """Return which node said a line, and when, in ms."""
    node, day, clock = line.removeprefix("node ").split(" ", 3)[:3]
    time = datetime.fromisoformat(f"{day} {clock.replace(',', '.')}")
    return int(node.rstrip(":")), int(time.timestamp() * 1000)


def letters_given_up(group: GroupRun, said: Iterable[str]) -> Iterator[tuple[int, Happening]]:
    """Yield that any record may be missing among dead letters, if nodes gave some up.

    Nodes do not say which.
    """
    rests = (what for _ms, what in group.happened if isinstance(what, LeaderAtRest))
    for rest in rests if any(_NO_LETTER in line for line in said) else ():
        yield 0, LettersGiven(rest.partition, rest.partition, 0, 0, rest.log_end_offset)
        yield 0, LettersAnswered(rest.partition, _NO_LETTER)


def fenced_reads(group: GroupRun, said: Iterable[str]) -> Iterator[tuple[int, Happening]]:
    """Yield the fenced reads of states to begin with: no trace has a row of one that fails."""
    failed = re.compile(rf"{_NO_STATE}: {group.name}-\S+:{TOPIC}-(\d+)\. .*errorCode=74,")
    for id_, line in enumerate(said, 1):
        if found := failed.search(line):
            node, ms = _place_of(line)
            yield ms, LeaderReads(-id_, int(found[1]), node, -1)
            yield ms, ReadAnswered(-id_, FENCED)


def emptied_nodes(group: GroupRun, said: Iterable[str]) -> Iterator[tuple[int, Happening]]:
    """Yield when the last session of a group at a node ended; whose that was plays no part."""
    key = re.compile(rf"ShareSessionKey\[groupId={group.name}, memberId=(\S+)\]")
    there: dict[int, set[str]] = defaultdict(set)
    for line in said:
        if found := key.search(line):
            node, ms = _place_of(line)
            if _BEGUN in line:
                there[node].add(found[1])
            elif there[node] == {found[1]}:
                yield ms, MemberLeft("", node, "its session ended", 0)
            if _ENDED in line:
                there[node].discard(found[1])


def _judged_logs(run: ClusterRun) -> JudgedLogs:
    logs, _others = sorted_out(run.folder / f"node-{id_}" / LOG for id_ in NODES)
    if not logs:
        raise TargetError("no node has logged a request")
    widest = [settings_to_judge(group) for group in run.groups]
    limits = {each.delivery_count_limit for group in run.groups for each in _every(group)}
    usual = Assumed()
    settings = Assumed(
        sweep_ms=usual.sweep_ms + run.paused_ms,
        quiet_ms=usual.quiet_ms + run.paused_ms,
        delivery_limit=min(limits) if len(limits) == 1 else None,
        max_record_locks=max(each.partition_max_record_locks for each in widest),
        compacted=run.log == COMPACTED,
    )
    is_told = any(group.committed for group in run.groups)
    dump = observed_dump(str(run.folder / DUMP)) if is_told else nullcontext()
    with dump as durable:
        return judge_inputs([*logs, durable] if durable else logs, settings)


def readable_records(group: GroupRun) -> set[tuple[int, int]]:
    """Return the confirmed records, (partition, offset), that the group is owed."""
    records = {(e.partition, e.offset) for e in group.work if isinstance(e, RecordProduced)}
    if group.settings.auto_offset_reset == LATEST:
        first = dict(sorted(_polled(group), reverse=True))
        records = {each for each in records if each >= (each[0], first.get(each[0], 1 << 63))}
    committed_only = READ_COMMITTED in _levels(group)
    gone = (RecordsCompacted, RecordsAborted) if committed_only else RecordsCompacted
    for _ms, what in group.happened:
        if isinstance(what, gone):
            records -= keys_of(what.partition, what.ranges)
        elif isinstance(what, RecordsDeleted):
            records -= keys_of(what.partition, [(0, what.log_start_offset - 1)])
    return records


def _polled(group: GroupRun) -> set[tuple[int, int]]:
    polls = (e.records for e in group.work if isinstance(e, MemberPolled))
    return {(each.place[1], each.offset) for records in polls for each in records}
