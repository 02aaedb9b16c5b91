"""What a verification found, and the words that every report of it shares."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

import attrs

from conformance.campaign import Campaign, Fault
from conformance.deviation import StepText
from conformance.goals import CANNOT, Coverage
from conformance.groups import Group, grouped
from conformance.known import Replayed, sequence_text
from conformance.vectors.play import NEEDS, Played
from judge.weighing import Given, too_little
from judge.words import printable


class KitVerdict(StrEnum):
    """Conforms: there is no deviation, and none was known.

    Known: every deviation is known, and none of these is gone. Deviates: one is new, or gone.
    Unknown: none is, but too little was judged, it was interrupted, or the target stopped
    responding.
    """

    CONFORMS = "conforms"
    KNOWN = "known"
    DEVIATES = "deviates"
    UNKNOWN = "unknown"


@attrs.frozen
class Report:
    """A search, the replayed known deviations, and the deviations that none of them explains.

    ``vectors`` are the results of the test vectors, which run before the search. ``bounds`` are
    the numbers that the judgement takes where the KIPs have none. ``command`` verifies the target,
    quoted for a shell, and ``known_option`` names the file of known deviations, if it must.
    """

    campaign: Campaign[object]
    replayed: tuple[Replayed[object], ...]
    new: tuple[Fault[object], ...]
    vectors: Played = attrs.Factory(Played)
    bounds: tuple[str, ...] = ()
    command: str = ""
    known_option: str = ""

    @property
    def groups(self) -> tuple[Group[object], ...]:
        """Return the new deviations by their probable cause, the gravest and simplest first."""
        return grouped(self.new)

    @property
    def gone(self) -> tuple[Replayed[object], ...]:
        """Return the known deviations that no longer show."""
        return tuple(each for each in self.replayed if each.fault is None)

    @property
    def coverage(self) -> Coverage:
        """Return which goals the search covered; no goals at all where it counted none."""
        return self.campaign.coverage

    @property
    def cannot(self) -> tuple[str, ...]:
        """Return what the kit cannot ask of a broker, each with the reason."""
        return tuple(getattr(self.campaign.hello, "skipped", ()))

    @property
    def verdict(self) -> KitVerdict:
        """Return the verdict of the whole verification."""
        if self.new or self.gone:
            return KitVerdict.DEVIATES
        if self.unknown:
            return KitVerdict.UNKNOWN
        return KitVerdict.KNOWN if self.replayed else KitVerdict.CONFORMS

    @property
    def unknown(self) -> str:
        """Return why the verification is incomplete; empty if it is not."""
        if self.campaign.failure:
            return f"it could not be driven any further: {printable(self.campaign.failure)}"
        if self.campaign.interrupted:
            return "it was interrupted"
        if not (self.campaign.steps or self.vectors.number):
            return "nothing was tried, so nothing is known"
        played = self.campaign.sequences
        if self.new or self.gone or not played:
            return ""
        return too_little(Given.SEQUENCES, played - self.campaign.unjudged, played)


def headline_text(report: Report) -> str:
    """Return the verdict in words; over known deviations nothing is called conforming."""
    if report.verdict is not KitVerdict.KNOWN:
        return report.verdict.value
    known = len(report.replayed)
    return f"{known} known deviation{'s' if known > 1 else ''}, nothing new"


def totals_text(report: Report) -> str:
    """Return the verdict and the totals in one line."""
    campaign = report.campaign
    stopped = ", interrupted" if campaign.interrupted else ""
    stopped += ", ended early" if campaign.failure else ""
    rest = f", {campaign.unjudged} not judged to their end" if campaign.unjudged else ""
    known = len(report.replayed) - len(report.gone)
    groups = len(report.groups)
    forms = f" in {len(report.new)} forms" if groups < len(report.new) else ""
    counts = f": {groups} new{forms}, {known} known, {len(report.gone)} gone"
    return (
        f"{headline_text(report)}{'' if report.verdict is KitVerdict.KNOWN else counts}; "
        f"{campaign.sequences:,} sequences{rest}, {campaign.steps:,} operations "
        f"in {campaign.seconds:.0f} s{stopped}"
    )


def vectors_text(vectors: Played) -> str:
    """Return the results of the test vectors in one line."""
    needing = sum(n for reason, n in vectors.skipped.items() if reason.startswith(NEEDS))
    others = {reason: n for reason, n in vectors.skipped.items() if not reason.startswith(NEEDS)}
    rest = [f"{needing} need a capability that it lacks"] if needing else []
    rest += [f"{number} not played: {reason}" for reason, number in sorted(others.items())]
    return "; ".join((f"{vectors.number} vectors, {len(vectors.faults)} deviate", *rest))


def has_time(steps: Sequence[StepText]) -> bool:
    """Return whether time passes in a sequence, so that a report must say when."""
    return any(step.time_ms for step in steps)


def step_row(step: StepText, *, timed: bool) -> tuple[str, ...]:
    """Return the texts of a step, where time matters after the clock."""
    clock = "" if step.time_ms is None else str(step.time_ms)
    return (*((clock,) if timed else ()), step.asked, step.answered, step.after)


def step_columns(*, timed: bool) -> tuple[str, ...]:
    """Return the names of the columns of ``step_row``."""
    return (*(("clock (ms)",) if timed else ()), "operation", "answer", "state after it")


def plain_steps(fault: Fault[object]) -> Iterator[str]:
    """Yield the steps of a deviation as lines of text."""
    timed = has_time(fault.steps)
    for number, step in enumerate(fault.steps, start=1):
        clock = f"at {step.time_ms} ms: " if timed and step.time_ms is not None else ""
        yield f"{number}. {clock}{step.asked}"
        yield from (f"   {reason}" for reason in (step.answered, step.after) if reason)


def reproducing(report: Report, fault: Fault[object], known: str = "") -> str:
    """Return a command that shows one deviation again, quoted for a shell; empty if unknown.

    ``known`` is its name, where it is known.
    """
    if not report.command:
        return ""
    if known:
        return f"{report.command}{report.known_option} --only {shlex.quote(known)}"
    if fault.deviation.rule:
        return f"{report.command} --vector {shlex.quote(fault.deviation.name)}"
    return f"{report.command} --play {shlex.quote(sequence_text(fault.sequence))}"


def skipped_text(report: Report) -> str:
    """Return in one line which capabilities the target lacks, and what was skipped for each."""
    goals = Counter(
        name
        for _goal, reason in report.coverage.skipped
        if reason.startswith(CANNOT)
        for name in reason.removeprefix(CANNOT).split(", ")
    )
    vectors = Counter[str]()
    for reason, count in report.vectors.skipped.items():
        if reason.startswith(NEEDS):
            capability, *values = reason.removeprefix(NEEDS).split()
            is_mode = capability == "acquire_modes"
            vectors[values[0] if is_mode else capability] += count
    texts = []
    for name in sorted(goals.keys() | vectors.keys()):
        counts = [_counted(goals[name], "goal"), _counted(vectors[name], "vector")]
        texts.append(f"{name} {', '.join(filter(None, counts))}")
    return f"skipped for want of: {'; '.join(texts)}" if texts else ""


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'s' if count > 1 else ''}" if count else ""


def form_text(fault: Fault[object]) -> str:
    """Return in one line how a deviation shows: the vector, or the commands of the sequence."""
    deviation, steps = fault.deviation, f"{len(fault.steps)} steps"
    if deviation.rule:
        return f"vector {deviation.name}, in {deviation.operation}, {steps}"
    met = f"met {fault.seen}×, {steps}: {', '.join(fault.kinds)}"
    return f"{deviation.name} in {deviation.operation}, {met}"


def rule_text(fault: Fault[object]) -> str:
    """Return the broken rule and its sentence, and what a vector pins."""
    deviation = fault.deviation
    pins = f" (vector {deviation.name}, which pins {', '.join(deviation.pins)})"
    sentence = f"{deviation.broken}: {deviation.sentence}"
    return sentence + (pins if deviation.pins else "")
