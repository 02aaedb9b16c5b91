"""The second stage: one share-partition against the specification and the implementation."""

import hashlib
from collections.abc import Iterator

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from impl.kernel import KernelResult, replay_partition
from judge.engine import engines_for
from judge.finding import Finding, FindingKind
from judge.follower import DISAGREEMENT, follow
from model.config import SharePartitionConfig
from model.errors import InvalidValueError
from model.operations import Initialize
from model.outcome import Outcome
from model.profile import Profile, profile_named
from model.snapshot import DurableState, SharePartitionSnapshot
from model.trace import TraceEvent
from model.trace_arrow import SCHEMA, table_from_rows
from model.trace_codec import row_from_event
from model.trace_json import line_from_row
from replay.lag_file import LagFile, Observed, lag_table
from replay.load import BEGINS_LATE, BucketTask, OrderedTask, PartitionRows, loaded
from replay.tables import BadRow, BadRowError, events_of, row_of
from replay.verdict import Divergence, LogKnowledge, PartitionVerdict, Problem, Verdict

MAX_EVENT_TEXT = 4000
"""How much of an event's JSON a divergence carries, in characters."""


@attrs.frozen
class Plan:
    """How to check: the profile's name, what to check against, and the details of it.

    ``against`` is spec, impl or both; invariants are checked after every ``invariants_every``
    events, 0 for never; ``lag_folder`` is where lag is written, if anywhere. ``offered_within``
    replaces the profile's bound on the fetches that an available record may wait for.
    """

    profile: str = "kafka"
    against: tuple[str, ...] = ("spec", "impl")
    sample: float = 1.0
    invariants_every: int = 1
    lag_folder: str | None = None
    offered_within: int | None = None

    @property
    def rules(self) -> Profile:
        """Return the profile, with the bound of this plan."""
        profile = profile_named(self.profile)
        if self.offered_within is None:
            return profile
        return attrs.evolve(profile, offered_within=self.offered_within)


def is_sampled(partition: str, fraction: float) -> bool:
    """Say whether a share-partition is among the fraction to check, the same in every run."""
    digest = hashlib.blake2b(partition.encode(), digest_size=8).digest()
    return int.from_bytes(digest) < fraction * 2**64


def compile_ahead(plan: Plan) -> None:
    """Compile what the plan needs, so that the workers of this machine find it in the cache."""
    if "impl" in plan.against:
        start = Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0))
        event = TraceEvent("-", 0, 0, start, Outcome(), SharePartitionSnapshot(0, 0, 0, ()))
        replay_partition(table_from_rows([row_from_event(event)]), plan.rules)


def run_task(task: BucketTask | OrderedTask, plan: Plan) -> Iterator[PartitionVerdict]:
    """Yield the verdict on each share-partition of a task."""
    lag_file = LagFile(plan.lag_folder, task.number)
    for rows in loaded(task):
        yield check_partition(rows, plan, lag_file)
    lag_file.close()


def check_partition(rows: PartitionRows, plan: Plan, lag_file: LagFile) -> PartitionVerdict:
    """Return the verdict on one share-partition."""
    if not rows.table.num_rows:
        return _verdict(rows, 0, None)
    if rows.table.column("op")[0].as_py() != "initialize":
        reason = BEGINS_LATE
        return PartitionVerdict(
            rows.partition,
            Verdict.UNREADABLE if rows.problem else Verdict.UNCHECKED,
            rows.events,
            0,
            reason,
            problem=rows.problem,
        )
    kernel = None
    if "impl" in plan.against:
        rows, kernel = _through_kernel(rows, plan)
    row, finding = None, None
    if "spec" in plan.against:
        rows, row, finding = _through_engines(rows, plan, plan.against, lag_file)
    if kernel:
        row, finding = _with_kernel(rows, plan, kernel, row, finding)
        if lag_file.wanted:
            lag_file.write(lag_table(rows.partition, rows.table, kernel))
    checked = rows.table.num_rows if row is None else row + 1
    return _verdict(rows, checked, _divergence(rows, row or 0, finding) if finding else None)


def _through_kernel(rows: PartitionRows, plan: Plan) -> tuple[PartitionRows, KernelResult]:
    """Replay the columns; return the rows before the first that holds no event."""
    kernel = replay_partition(rows.table.select(SCHEMA.names), plan.rules)
    if kernel.unreadable:
        row = kernel.events
        rows = _cut(rows, BadRow(row, _reason(rows.table.slice(row, 1)) or kernel.unreadable))
    return rows, kernel


def _reason(row: pa.Table) -> str | None:
    """Return why a row holds no event; None if it does and its place in the trace is wrong."""
    try:
        list(events_of(row))
    except BadRowError as error:
        return error.bad.message
    return None


def _through_engines(
    rows: PartitionRows, plan: Plan, against: tuple[str, ...], lag_file: LagFile | None = None
) -> tuple[PartitionRows, int | None, Finding | None]:
    """Replay the events one by one; return the row of the first that is wrong, and what is."""
    engines = engines_for(against, plan.rules)
    observed = Observed() if lag_file and lag_file.wanted and "impl" not in against else None
    counted = _Counted(rows.table)
    finding = None
    try:
        finding = follow(counted.events(), engines, plan.invariants_every, observed)
    except BadRowError as error:
        rows = _cut(rows, error.bad)
    except InvalidValueError as error:
        rows = _cut(rows, BadRow(counted.row, str(error)))
    if observed and lag_file:
        lag_file.write(observed.table())
    return rows, counted.row if finding else None, finding


class _Counted:
    """The events of a table, and the row of the one that was yielded last."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.row = 0

    def events(self) -> Iterator[TraceEvent]:
        for row, event in enumerate(events_of(self._table)):
            self.row = row
            yield event


def _with_kernel(
    rows: PartitionRows, plan: Plan, kernel: KernelResult, row: int | None, finding: Finding | None
) -> tuple[int | None, Finding | None]:
    """Return what the engines and the kernel find together; that they differ is a finding too."""
    found = kernel.divergence
    if found and found.row >= rows.table.num_rows:
        found = None
    if found and "spec" not in plan.against:
        start = attrs.evolve(rows, table=rows.table.slice(0, found.row + 1))
        _, row, finding = _through_engines(start, plan, ("impl",))
    if finding and finding.kind is FindingKind.INVARIANT:
        agreed = found is None or (row is not None and found.row >= row)
    elif finding and finding.kind is FindingKind.DISAGREEMENT:
        agreed = True
    else:
        agreed = (found and (found.row, found.kind.name)) == (finding and (row, finding.name))
    if agreed:
        return row, finding
    rows_found = [row, found.row if found else None]
    place = min(r for r in rows_found if r is not None)
    return place, _kernel_disagreement(place, kernel, row, finding)


def _kernel_disagreement(
    place: int, kernel: KernelResult, row: int | None, finding: Finding | None
) -> Finding:
    found = kernel.divergence
    of_kernel = f"{found.kind.name} at event {found.row}" if found else "no divergence"
    of_engines = f"{finding.name} at event {row}" if finding else "no divergence"
    return Finding(
        place,
        "impl kernel, " + (finding.engine if finding else "the other engines"),
        FindingKind.DISAGREEMENT,
        DISAGREEMENT,
        "the columnar kernel and the replay event by event give different answers",
        finding.recorded if finding else "",
        f"kernel: {of_kernel} — but — event by event: {of_engines}",
        finding.before if finding else "",
        finding.after if finding else "",
        finding.offset if finding else None,
    )


def _cut(rows: PartitionRows, bad: BadRow) -> PartitionRows:
    """Return the rows before a bad one, which becomes the problem."""
    problem = Problem(*rows.place(bad.row), bad.message, rows.partition)
    return attrs.evolve(rows, table=rows.table.slice(0, bad.row), problem=problem)


def _verdict(rows: PartitionRows, checked: int, divergence: Divergence | None) -> PartitionVerdict:
    verdict = Verdict.CONFORMS
    if divergence:
        verdict = Verdict.DIVERGES
    elif rows.problem:
        verdict = Verdict.UNREADABLE
    return PartitionVerdict(
        rows.partition,
        verdict,
        rows.events,
        checked,
        divergence=divergence,
        problem=rows.problem,
        log=_log_knowledge(rows.table),
    )


def _log_knowledge(table: pa.Table) -> LogKnowledge:
    """Return what the trace tells of the log, without which no read can be checked against it."""
    if pc.any(pc.invert(table.column("log_known"))).as_py():
        return LogKnowledge.NOTHING
    start, end = (table.column(f"log_{name}_offset") for name in ("start", "end"))
    if table.num_rows and start[0].as_py() != end[0].as_py():
        return LogKnowledge.FROM_FIRST_EVENT
    return LogKnowledge.ALL


def _divergence(rows: PartitionRows, row: int, finding: Finding) -> Divergence:
    source, line = rows.place(row)
    event = line_from_row(row_of(rows.table, row)).decode().rstrip()
    return Divergence(
        partition=rows.partition,
        seq=finding.seq,
        source=source,
        line=line,
        engine=finding.engine,
        kind=finding.kind,
        name=finding.name,
        sentence=finding.sentence,
        event=event[:MAX_EVENT_TEXT],
        recorded=finding.recorded,
        expected=finding.expected,
        before=finding.before,
        after=finding.after,
        offset=finding.offset,
    )
