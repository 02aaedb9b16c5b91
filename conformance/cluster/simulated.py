"""Clusters of Apache Kafka's own classes on one virtual clock, each drawn from a seed and judged.

``kafka.server.share.Simulation`` runs them: its nodes have Kafka's SharePartitionManager,
SharePartition, DefaultStatePersister, PersisterStateManager and ShareCoordinatorService; the
network, the logs, the members and the faults are the simulation's.
"""

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from io import StringIO
from itertools import count
from pathlib import Path
from queue import SimpleQueue

import attrs

from conformance.cluster.history import (
    ClusterEvent,
    InjectedFault,
    MemberJoined,
    StateBegun,
    read_history,
)
from conformance.cluster.rules import judge_history
from conformance.cores.kafka import kafka_java, recorder_jar
from conformance.cores.malformed import error_text
from conformance.cores.process import ProcessTarget
from conformance.shrink import with_fewest
from conformance.target import TargetError
from judge.finding import Finding
from model.guards import Difference

# Without hashCode=2 the hashes of enums differ with what a process ran before, and so does the
# order in which Kafka's classes send what they have in maps by them.
_FLAGS = (
    "--add-opens=java.base/java.lang=ALL-UNNAMED -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockExperimentalVMOptions -XX:hashCode=2 "
    "-Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=off"
)
_TRIES, _SECONDS = count(), 120.0
_MAIN = "kafka.server.share.Simulation"


@attrs.frozen
class JudgedTraces:
    """What is wrong in the traces of a run's leaders; ``compared`` of ``events`` were judged."""

    events: int = 0
    compared: int = 0
    findings: tuple[Finding, ...] = ()


TraceJudge = Callable[[Path, int], JudgedTraces]
"""Judges the traces in a folder, given by how many ms pauses may have made timers late."""


@attrs.frozen
class SimulatedRun:
    """A run, what was wrong in it, and how often each kind of event is in its history.

    ``without`` are the numbers of faults that were left out, of ``faults`` that were drawn;
    ``events`` those of what clients did, of ``scripted``, if not all were wanted: ``done`` says of
    each that was done when, in ms, and what.
    ``digest`` is the hash of the history, the same whenever the run is repeated. ``traces`` is
    the folder with those of the leaders, and ``judged`` what came of them, if they were wanted.
    """

    seed: int
    without: frozenset[int]
    faults: int
    digest: str
    happenings: Counter[str]
    injected: tuple[InjectedFault, ...]
    findings: tuple[Finding, ...]
    history: Path
    traces: Path
    judged: JudgedTraces = JudgedTraces()
    events: tuple[int, ...] | None = None
    scripted: int = 0
    done: tuple[tuple[int, str], ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the lines of its history."""
        with self.history.open() as file:
            yield from file

    def discard(self) -> None:
        """Remove what was written of it."""
        self.history.unlink()
        shutil.rmtree(self.traces, ignore_errors=True)

    def like(self, finding: Finding) -> Finding | None:
        """Return a finding of this run that probably has the same cause, if there is one.

        Where nobody takes part nothing is: records then stay for want of members.
        """
        if self.events is not None and not self.happenings[MemberJoined.__name__]:
            return None
        same = (each for each in self.findings if each.probable_cause == finding.probable_cause)
        return next(same, None)


class Simulator:
    """A process that runs clusters; histories go to ``folder``."""

    def __init__(self, folder: Path, judge_traces: TraceJudge | None = None) -> None:
        """Start it, and build it first if a source changed. Raises TargetError if it cannot be.

        With ``judge_traces`` the leaders are recorded, too, and what they did is judged by it.
        """
        java, path = kafka_java()
        self._folder = folder
        self._judge_traces = judge_traces
        agent = f" '-javaagent:{recorder_jar()}=runs'" if judge_traces else ""
        self._target = ProcessTarget(f"{java}{agent} {_FLAGS} -cp '{path}' {_MAIN}", _SECONDS)

    def run(
        self,
        seed: int,
        without: Sequence[int] = (),
        plant: str = "",
        *,
        masked: bool = False,
        events: Sequence[int] | None = None,
    ) -> SimulatedRun:
        """Run the cluster of a seed and judge it. Raises TargetError if it stops responding.

        ``plant`` names a fault of ``kafka.server.share.Plants`` to put in; ``masked`` hides two
        that are known of Apache Kafka, as without them a plant would not show. Of what clients do
        in that run until faults are over they do ``events`` alone, if given, by their numbers.
        """
        name = "-".join(str(number) for number in (seed, *sorted(without)))
        name += "" if events is None else f"-events-{next(_TRIES)}"
        history, traces = self._folder / f"{name}.jsonl", self._folder / "traces" / name
        request = {"do": "run", "seed": seed, "without": sorted(without), "history": str(history)}
        request |= {"plant": plant, "masked": masked, "events": events and list(events)}
        if self._judge_traces:
            shutil.rmtree(traces, ignore_errors=True)
            request["traces"] = str(traces)
        reply = self._target.ask(request)
        if "error" in reply:
            raise TargetError(f"the cluster of seed {seed} stopped: {error_text(reply)[:400]}")
        content = history.read_bytes()
        happened = tuple(read_history(StringIO(content.decode())))
        injected = tuple(e.what for e in happened if isinstance(e.what, InjectedFault))
        judged = JudgedTraces()
        if self._judge_traces:
            judged = self._judge_traces(traces, sum(fault.paused_ms for fault in injected))
        return SimulatedRun(
            seed=seed,
            without=frozenset(without),
            faults=int(str(reply["faults"])),
            digest=hashlib.sha256(content).hexdigest(),
            happenings=Counter(type(event.what).__name__ for event in happened),
            injected=injected,
            findings=(*judge_history(happened), *trusted(happened, judged.findings)),
            history=history,
            traces=traces,
            judged=judged,
            events=None if events is None else tuple(sorted(events)),
            scripted=int(str(reply.get("events", 0))),
            done=tuple((int(ms), str(text)) for ms, text in reply.get("done", ())),
        )

    def close(self) -> None:
        """End the process."""
        self._target.close()


def trusted(events: Iterable[ClusterEvent], findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings of traces, which do not tell that a state was deleted, and begins again."""
    ended = (e.what for e in events if isinstance(e.what, StateBegun) and e.what.state_epoch < 0)
    deleted = {str(each.partition) for each in ended}
    for each in findings:
        is_beginning = (each.name, each.operation) == (Difference.PERSISTED.name, "initialize")
        if not is_beginning or str(each.place.partition).rpartition(":")[2] not in deleted:
            yield each


def simulated(  # noqa: PLR0913, PLR0917 - what a search is given
    folder: Path,
    seeds: Sequence[int],
    without: Sequence[int],
    workers: int,
    tell: Callable[[SimulatedRun], None],
    judge_traces: TraceJudge | None = None,
    events: Sequence[int] | None = None,
) -> None:
    """Run the clusters of some seeds, in several processes, and tell of each as it ends.

    What was written of a run in which nothing is wrong is removed. Raises TargetError.
    """
    with ExitStack() as stack:
        idle: SimpleQueue[Simulator] = SimpleQueue()
        for _ in range(min(workers, len(seeds))):
            idle.put(stack.enter_context(closing(Simulator(folder, judge_traces))))
        pool = stack.enter_context(ThreadPoolExecutor(workers))
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)

        def one(seed: int) -> SimulatedRun:
            simulator = idle.get()
            try:
                return simulator.run(seed, without, events=events)
            finally:
                idle.put(simulator)

        for run in pool.map(one, seeds):
            if not run.findings:
                run.discard()
            tell(run)


def fewest(
    simulator: Simulator, run: SimulatedRun, finding: Finding, most: int
) -> tuple[SimulatedRun, Finding]:
    """Leave out faults, then what clients do, while the finding remains; return what is left.

    What clients do is left out in ``most`` runs at most: by time, and then by who does what. Where
    some of it was chosen nothing is left out.
    """
    best = run, finding

    def replaced(
        play: Callable[[Sequence[int]], SimulatedRun],
    ) -> Callable[[tuple[int, ...], int, int], tuple[int, ...] | None]:
        def tried(done: tuple[int, ...], first: int, end: int) -> tuple[int, ...] | None:
            nonlocal best
            kept = (*done[:first], *done[end:])
            try:
                shown = play(kept)
            except TargetError:
                return None  # An application that waits for ever shows nothing.
            same = shown.like(finding)
            worse, best = (shown, best) if same is None else (best[0], (shown, same))
            if worse.events is not None or not worse.findings:
                worse.discard()
            return None if same is None else kept

        return tried

    if run.events is not None:
        return best
    drawn = set(range(run.faults))
    with_fewest(
        sorted(drawn - run.without),
        replaced(lambda kept: simulator.run(run.seed, sorted(drawn - set(kept)))),
    )
    without = sorted(best[0].without)

    def some(kept: Sequence[int]) -> SimulatedRun:
        return simulator.run(run.seed, without, events=kept)

    bare = some(())
    bare.discard()
    left = iter(range(most))
    leave_out = replaced(some)
    kept = tuple(range(bare.scripted))
    for order in (lambda number: number, lambda number: (bare.done[number][1], number)):
        kept = with_fewest(
            sorted(kept, key=order),
            lambda done, first, end: (
                None if next(left, None) is None else leave_out(done, first, end)
            ),
        )
    return best
