"""Divergences that are known: those of released Kafkas by default, others from a file.

The file is one of known deviations, as ``sharespec verify`` has them.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import attrs

import conformance
from conformance.known import CLUSTER, REASON, KnownDeviation, free_name, read_known
from judge.finding import CRASHED, Finding, FindingKind
from judge.words import many
from model.guards import Difference
from replay.verdict import Replay

KAFKA_KNOWN = Path(conformance.__file__).parent / "targets" / "kafka" / "known.toml"
CLUSTER_KNOWN = KAFKA_KNOWN.parents[1] / "kafka-cluster" / "known.toml"
KAFKA_PAGE = "docs/findings/apache-kafka.md"

NO_FAULT = "Not a fault"
"""How the reason of a deviation begins that is none of Apache Kafka."""

_SAME = {"expire": "advance_time", "skip_acquire": "acquire"}
"""Operations of a trace that a target has as another: with a real clock a timer ends locks."""

_LOST_WRITE = "CONFIRMED_IS_WRITTEN"
_OF_LOST_WRITES = {(Difference.PERSISTED.name, "initialize"), ("RECORD_IS_THE_WRITE", "")}
"""What a write that was confirmed and lost leads to: the rule and the operation of findings."""

_OF_LOST_ATTEMPTS = {Difference.WRITTEN_STATE.name, Difference.ACQUIRED.name}
"""What a request log shows of records that a fetch acquired and then failed: nobody got them."""

_SHOWN_BY = {
    "Acknowledge": {"acknowledge"},
    "AdvanceLogStart": {"advance_log_start"},
    "AdvanceTime": {"advance_time", "expire"},
    "Compact": {"compact"},
    "CompleteWrite": {"complete_write"},
    "Fetch": {"acquire"},
    "ProduceAborted": {"archive_aborted"},
    "TakeOver": {"initialize"},
}
"""By which operations a trace shows that it has what a known deviation needs."""


def known_text(known: KnownDeviation) -> str:
    """Return the name, the title and the page of a known deviation."""
    return f"{known.name}: {known.title}" + (f"; {known.page}" if known.page else "")


def explains(known: KnownDeviation, divergence: Finding) -> bool:
    """Return whether a divergence looks like a known one, and what that needs came before it."""
    rule, operation, *text = divergence.signature
    head = (rule, _SAME.get(operation, operation))
    signature = known.signature
    alike = head == (signature[0], _SAME.get(signature[1], signature[1]))
    if alike and rule == CRASHED and text:
        wanted = "".join(signature[2:])
        # A signature has the start of the text; a file may have more of it.
        alike = bool(wanted) and f": {wanted}" in f": {divergence.recorded}"
    before = set(divergence.operations_before)
    return alike and all(_SHOWN_BY.get(need, set()) & before for need in known.needs)


@attrs.frozen
class Sorted:
    """A replay, and what is known of it.

    ``faults`` are all that are known, ``gone`` those of a file that no divergence showed; ``known``
    and ``new`` count divergences.
    """

    replay: Replay
    faults: tuple[KnownDeviation, ...]
    gone: tuple[KnownDeviation, ...]
    known: int
    new: int

    def label(self, divergence: Finding) -> str:
        """Return the name, the title and the page of what a divergence is, if that is known."""
        return known_label(divergence, self.faults)

    def totals(self) -> dict[str, object]:
        """Return the totals, for a line of JSON."""
        gone = [fault.name for fault in self.gone]
        return {"known": self.known, "new": self.new, "gone": gone}

    def lines(self) -> Iterator[str]:
        """Yield the totals in words."""
        if self.known or self.new:
            yield f"{many(self.new, 'new divergence')}, {self.known:,} known"
        if self.gone:
            names = ", ".join(each.name for each in self.gone)
            yield f"known, and not shown by this trace: {names}"


def default_known(profile: str) -> tuple[KnownDeviation, ...]:
    """Return what is known of released Kafkas, under the profiles that follow them.

    What is no fault of a core, such as with states that no share coordinator answers, may be one in
    a trace of a broker.
    """
    if not profile.startswith("kafka"):
        return ()
    listed = (*read_known(KAFKA_KNOWN), *read_known(KAFKA_KNOWN.with_name("recorded.toml")))
    faults = (attrs.evolve(each, page=KAFKA_PAGE) for each in listed)
    return tuple(fault for fault in faults if not fault.reason.startswith(NO_FAULT))


def known_of(divergence: Finding, faults: Sequence[KnownDeviation]) -> KnownDeviation | None:
    """Return the first known deviation that explains a divergence."""
    return next((fault for fault in faults if explains(fault, divergence)), None)


def known_label(divergence: Finding, faults: Sequence[KnownDeviation]) -> str:
    """Return the name, the title and the page of what a divergence is, if that is known."""
    known = known_of(divergence, faults)
    return known_text(known) if known else ""


def known_in_cluster(
    finding: Finding,
    rules: Iterable[Finding] = (),
    traces: Iterable[Finding] = (),
) -> str:
    """Return the name, the title and the page of what a finding is, if that is known.

    A finding of the rules from end to end is known by its probable cause. What another judge finds
    is known where ``rules`` are findings of theirs of the same record; and what a lost write leads
    to, in its share-partition. What a request log shows of a record is known where ``traces`` have
    a known failure of a fetch that acquired it.
    """
    if finding.engine != CLUSTER:
        leads = (finding.name, finding.operation) in _OF_LOST_WRITES
        behind = (
            rule
            for rule in rules
            if _is_beside(finding, rule)
            and (finding.offset == rule.offset or (leads and rule.name == _LOST_WRITE))
        )
        failed = (trace for trace in traces if _took_an_attempt(trace, finding))
        finding = next(chain(behind, failed), finding)
    among = read_known(CLUSTER_KNOWN)
    alike = (k for k in among if (k.signature, k.difference) == (finding.signature, finding.cause))
    known = next(alike, None)
    return known_text(known) if known else known_label(finding, default_known("kafka"))


def _took_an_attempt(fetch: Finding, finding: Finding) -> bool:
    """Return whether a fetch failed that may have acquired the record of a finding in a log."""
    if fetch.signature[:2] != (CRASHED, "acquire") or finding.offset is None:
        return False
    after = json.loads(fetch.place.event)["after"]
    is_in_window = after["start_offset"] <= finding.offset < after["end_offset"]
    is_there = fetch.place.partition == finding.place.partition and is_in_window
    return is_there and finding.name in _OF_LOST_ATTEMPTS


def _is_beside(finding: Finding, rule: Finding) -> bool:
    """Return whether the rules from end to end found something in a finding's share-partition.

    In a simulation these leave out its topic.
    """
    run, _, partition = rule.place.partition.rpartition(":")
    at = finding.place.partition
    is_there = at.startswith(f"{run}:") and at.endswith(f":{partition}")
    return rule.engine == CLUSTER and is_there


def known_after(
    results: Iterable[Sorted], listed: Sequence[KnownDeviation], default: Sequence[KnownDeviation]
) -> tuple[KnownDeviation, ...]:
    """Return ``listed`` and what it lacks to explain all divergences: of ``default``, or new.

    A disagreement is an error of this project, and never known.
    """
    known = list(listed)
    verdicts = [verdict for result in results for verdict in result.replay.verdicts]
    for each in (divergence for verdict in verdicts for divergence in verdict.divergences):
        if each.kind is FindingKind.DISAGREEMENT or known_of(each, known):
            continue
        name = free_name(each.where, {fault.name for fault in known})
        new = KnownDeviation(name, each.sentence, each.signature, REASON)
        known.append(known_of(each, default) or new)
    return tuple(known)


def sorted_out(
    replay: Replay, listed: Sequence[KnownDeviation], default: Sequence[KnownDeviation]
) -> Sorted:
    """Return a replay sorted by what is known: ``listed`` in a file, and by ``default``."""
    faults = (*listed, *default)
    named = [known_of(d, faults) for verdict in replay.verdicts for d in verdict.divergences]
    shown = {each.name for each in named if each}
    known = sum(each is not None for each in named)
    gone = tuple(fault for fault in listed if fault.name not in shown)
    return Sorted(replay, faults, gone, known, len(named) - known)
