"""What a verification found, and what its report says."""

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import groupby
from operator import itemgetter

import attrs

from conformance.campaign import Campaign, Fault, Replayed
from conformance.citations import cited
from conformance.deviation import StepText
from conformance.goals import CANNOT, Coverage
from conformance.groups import FaultGroup, grouped
from conformance.kit import NEEDS, AnyKit
from conformance.known import REASON, KnownDeviation, free_name
from conformance.picture import picture
from conformance.vectors.play import Played
from judge.weighing import Evidence, too_little
from judge.words import many, printable
from report.document import (
    Block,
    Command,
    Document,
    Folded,
    Grid,
    Heading,
    ItemList,
    Prose,
    Section,
    Toned,
    fields,
    paragraph,
)


class KitVerdict(StrEnum):
    """Conforms: there is no deviation, and none was known.

    Known: every deviation is known, and none of these is gone. Deviates: one is new, or gone.
    Unknown: none is, but too little was judged, it was interrupted, or the target stopped
    responding. Unconfirmed: none of these, but a deviation showed that did not come back.
    """

    CONFORMS = "conforms"
    KNOWN = "known"
    DEVIATES = "deviates"
    UNKNOWN = "unknown"
    UNCONFIRMED = "unconfirmed"


@attrs.frozen
class Report:
    """A search, the replayed known deviations, and the deviations that none of them explains.

    ``vectors`` are the results of the test vectors, which run before the search. ``command``
    verifies the target, quoted for a shell, and ``known_option`` names the file of known
    deviations, if it must. ``title`` is the name of the command.
    """

    kit: AnyKit
    campaign: Campaign[object]
    replayed: tuple[Replayed[object], ...]
    new: tuple[Fault[object], ...]
    vectors: Played = attrs.Factory(Played)
    command: str = ""
    known_option: str = ""
    title: str = "sharespec verify"

    @property
    def groups(self) -> tuple[FaultGroup[object], ...]:
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
        return self.campaign.hello.skipped

    @property
    def bounds(self) -> tuple[str, ...]:
        """Return the numbers that the judgement takes where no document has one."""
        return self.kit.bounds(self.campaign.hello)

    @property
    def verdict(self) -> KitVerdict:
        """Return the verdict of the whole verification."""
        if self.new or self.gone:
            return KitVerdict.DEVIATES
        if self.unknown:
            return KitVerdict.UNKNOWN
        if self.campaign.unconfirmed:
            return KitVerdict.UNCONFIRMED
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
        judged = played - self.campaign.unjudged
        return self.campaign.lack or too_little(Evidence.SEQUENCES, judged, played)


def headline_text(report: Report) -> str:
    """Return the verdict in words; over known deviations nothing is called conforming."""
    if report.verdict is KitVerdict.UNCONFIRMED:
        return f"{len(report.campaign.unconfirmed)} unconfirmed, nothing else new"
    if report.verdict is not KitVerdict.KNOWN:
        return report.verdict.value
    known = len(report.replayed)
    return f"{many(known, 'known deviation')}, nothing new"


def totals_text(report: Report) -> str:
    """Return the verdict and the totals in one line."""
    campaign = report.campaign
    stopped = ", interrupted" if campaign.interrupted else ""
    stopped += ", ended early" if campaign.failure else ""
    rest = f", {campaign.unjudged} not judged to their end" if campaign.unjudged else ""
    known = len(report.replayed) - len(report.gone)
    groups = len(report.groups)
    forms = f" in {len(report.new)} forms" if groups < len(report.new) else ""
    doubts = len(campaign.unconfirmed)
    counts = f": {groups} new{forms}, {known} known, {len(report.gone)} gone"
    counts += f", {doubts} unconfirmed" if doubts else ""
    return (
        f"{headline_text(report)}{'' if report.verdict is KitVerdict.KNOWN else counts}; "
        f"{many(campaign.sequences, 'sequence')}{rest}, {many(campaign.steps, 'operation')} "
        f"in {campaign.seconds:.0f} s{stopped}"
    )


def vectors_text(vectors: Played) -> str:
    """Return the results of the test vectors in one line."""
    needing = sum(n for reason, n in vectors.skipped.items() if reason.startswith(NEEDS))
    others = {reason: n for reason, n in vectors.skipped.items() if not reason.startswith(NEEDS)}
    rest = [f"{needing} need a capability that it lacks"] if needing else []
    rest += [f"{number} not played: {reason}" for reason, number in sorted(others.items())]
    return "; ".join((f"{many(vectors.number, 'vector')}, {len(vectors.faults)} deviate", *rest))


def has_time(steps: Sequence[StepText]) -> bool:
    """Return whether time passes in a sequence, so that a report must say when."""
    return any(step.time_ms for step in steps)


def numbered_steps(steps: Sequence[StepText]) -> Iterator[tuple[str, StepText]]:
    """Yield each step with its number; of equal ones in a row the first, with all their numbers."""
    for step, equal in groupby(enumerate(steps, start=1), key=itemgetter(1)):
        numbers = [str(number) for number, _ in equal]
        yield "–".join(dict.fromkeys((numbers[0], numbers[-1]))), step


def plain_steps(fault: Fault[object]) -> Iterator[str]:
    """Yield the steps of a deviation as lines of text."""
    timed = has_time(fault.steps)
    for number, step in numbered_steps(fault.steps):
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
    if fault.deviation.vector:
        return f"{report.command} --vector {shlex.quote(fault.deviation.vector)}"
    return f"{report.command} --play {shlex.quote(_short(report.kit, fault))}"


def _short(kit: AnyKit, fault: Fault[object]) -> str:
    return json.dumps(kit.plain(fault.sequence, short=True), separators=(",", ":"))


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
            vectors[reason.removeprefix(NEEDS).split()[0]] += count
    texts = []
    for name in sorted(goals.keys() | vectors.keys()):
        counts = [_counted(goals[name], "goal"), _counted(vectors[name], "vector")]
        texts.append(f"{name} {', '.join(filter(None, counts))}")
    return f"skipped for want of: {'; '.join(texts)}" if texts else ""


def _counted(count: int, name: str) -> str:
    return many(count, name) if count else ""


def unconfirmed_text(fault: Fault[object]) -> str:
    """Return how often a deviation showed and its sequences were played again without it."""
    return (
        f"unconfirmed: {_counted(fault.seen, 'random sequence')} showed it, and played again "
        f"{_counted(fault.in_vain, 'time')} they did not"
    )


def form_text(fault: Fault[object]) -> str:
    """Return in one line how a deviation shows: the vector, or the commands of the sequence."""
    deviation, steps = fault.deviation, f"{len(fault.steps)} steps"
    if deviation.vector:
        return f"vector {deviation.vector}, in {deviation.operation}, {steps}"
    met = f"met {fault.seen}×, {steps}: {', '.join(fault.kinds)}"
    return f"{deviation.where}, {met}"


def rule_text(fault: Fault[object]) -> str:
    """Return the broken rule and its sentence, and what a vector pins."""
    deviation = fault.deviation
    pins = f" (vector {deviation.vector}, which pins {', '.join(deviation.pins)})"
    sentence = f"{deviation.name}: {deviation.sentence}"
    return sentence + (pins if deviation.pins else "")


def document(report: Report) -> Document:
    """Return the report: new deviations by cause, then gone and known ones, then what was asked."""
    hello = report.campaign.hello
    told = (
        f"Profile {hello.profile}, seed {report.campaign.seed}",
        vectors_text(report.vectors) if report.vectors.number or report.vectors.skipped else "",
        skipped_text(report),
        report.unknown,
        totals_text(report),
    )
    new = (_group_section(report, n, group) for n, group in enumerate(report.groups, start=1))
    doubts = (_doubt_section(report, fault) for fault in report.campaign.unconfirmed)
    gone = (_gone_section(each.known) for each in report.gone)
    known = (_known_section(report, e.known, e.fault) for e in report.replayed if e.fault)
    return Document(
        report.title,
        f"{hello.name} {hello.version}".strip(),
        Toned(headline_text(report), report.verdict.value),
        tuple(paragraph(text) for text in told if text),
        (*new, *doubts, *gone, *known),
        tuple(_others(report)),
    )


def known_section(known: KnownDeviation, fault: Fault[object] | None) -> Section:
    """Return a known deviation with its steps, or that it no longer shows."""
    if fault is None:
        return _gone_section(known)
    return Heading(f"{known.name}: {known.title}", "known"), *_fault_blocks(fault, "", known)


def _group_section(report: Report, number: int, group: FaultGroup[object]) -> Section:
    return (
        Heading(f"{number}. {group.title}", "new"),
        paragraph(f"Shown by {group.often}."),
        *_fault_blocks(group.first, reproducing(report, group.first)),
        *(
            Folded(form_text(fault), _fault_blocks(fault, reproducing(report, fault)))
            for fault in group.forms[1:]
        ),
    )


def _doubt_section(report: Report, fault: Fault[object]) -> Section:
    deviation = fault.deviation
    return (
        Heading(f"{deviation.where}: {deviation.sentence}", "unconfirmed"),
        paragraph(f"It is {unconfirmed_text(fault)}. It does not fail the run."),
        *_fault_blocks(fault, reproducing(report, fault)),
    )


def _gone_section(known: KnownDeviation) -> Section:
    return Heading(f"{known.name}: {known.title}", "gone"), paragraph("It does not show any more.")


def _known_section(report: Report, known: KnownDeviation, fault: Fault[object]) -> Section:
    command = reproducing(report, fault, known.name)
    met = report.campaign.met.get(known.name, 0)
    often = (paragraph(f"Shown by {_counted(met, 'random sequence')}."),) if met else ()
    brief = (*often, *((Command(command),) if command else ()))
    blocks = (*often, *_fault_blocks(fault, command, known))
    return (Folded(f"{known.name}: {known.title}", blocks, "known", brief, level=2),)


def _fault_blocks(
    fault: Fault[object], command: str, known: KnownDeviation | None = None
) -> tuple[Block, ...]:
    citation, shown = cited(fault.deviation), picture(fault)
    words = fields(
        ("observed", fault.deviation.recorded),
        ("expected", fault.deviation.expected),
        ("rule", rule_text(fault)),
        ("rests on", f"{citation.source}: {citation.says}" if citation else ""),
        ("shown by", "" if known else form_text(fault)),
        ("verdict", Prose(known.reason if known else "")),
        ("means", Prose(known.consequence if known else "")),
        ("cause", Prose(known.cause if known else "")),
        ("explained in", known.page if known else ""),
    )
    commands = (Command(command),) if command else ()
    return (_steps(fault.steps), words, *((shown,) if shown else ()), *commands)


def _steps(steps: Sequence[StepText]) -> Grid:
    timed = has_time(steps)
    clock = ("clock (ms)",) if timed else ()
    rows = [
        (number, *((str(s.time_ms or 0),) if timed else ()), s.asked, s.answered, s.after)
        for number, s in numbered_steps(steps)
    ]
    return Grid(("", *clock, "operation", "answer", "state after it"), tuple(rows), kind="steps")


def _others(report: Report) -> Iterator[Section]:
    """Yield what was asked and covered, and what bounds the judgement."""
    asked: dict[str, list[str]] = {}
    for what, count in report.campaign.asked.items():
        operation, status = what.split(" ", 1)
        asked.setdefault(operation, []).append(f"{status} {count:,}")
    rows = tuple((operation, ", ".join(answers)) for operation, answers in asked.items())
    if rows:
        yield Heading("What was asked"), Grid(("operation", "answers, and how often"), rows)
    if report.coverage.covered:
        yield _covered(report.coverage)
    for title, texts in ("What could not be asked", report.cannot), ("Judged by", report.bounds):
        if texts:
            yield Heading(title), ItemList(texts)


def _covered(coverage: Coverage) -> Section:
    totals = tuple(f"{number} of {of} {group.value}" for group, number, of in coverage.totals())
    missed = tuple(goal.name for goal in coverage.missed)
    skipped = tuple(f"{goal.name}: {reason}" for goal, reason in coverage.skipped)
    others = Counter(why for _goal, why in coverage.skipped if not why.startswith(CANNOT))
    reasons = tuple(f"{number} skipped: {reason}" for reason, number in others.items())
    covered = tuple(f"{goal.name}: {count:,}" for goal, count in coverage.covered)
    brief = (ItemList(reasons),) if reasons else ()
    return (
        Heading("What was covered"),
        ItemList(totals),
        Heading(f"Not covered: {len(missed)}", level=3),
        ItemList(missed) if missed else paragraph("Nothing is left."),
        Folded(f"{len(skipped)} goals", (ItemList(skipped),), "skipped", brief),
        Folded(f"{len(covered)} goals, and how often", (ItemList(covered),), "covered"),
    )


def known_now(report: Report) -> tuple[KnownDeviation, ...]:
    """Return the known deviations that still show, and one for each way in which a new one does.

    The forms of a cause that have the same rule and operation are one: its sequence is the
    simplest, and it names the vectors. With these the same run has nothing new.
    """
    listed = [each.known for each in report.replayed if each.fault is not None]
    for group in report.groups:
        ways: dict[tuple[str, ...], list[Fault[object]]] = {}
        for fault in group.forms:
            signature = attrs.evolve(fault.deviation, vector="").signature
            ways.setdefault(signature, []).append(fault)
        for signature, forms in ways.items():
            operation = forms[0].deviation.operation
            title = f"{group.title.split(' in ')[0]} {operation}"
            known = KnownDeviation(
                name=free_name(title, {known.name for known in listed}),
                title=f"{group.title} ({operation})",
                signature=signature,
                reason=REASON,
                sequence=forms[0].sequence,
                vectors=frozenset(f.deviation.vector for f in forms if f.deviation.vector),
                difference=forms[0].deviation.probable_cause,
            )
            listed.append(known)
    return tuple(listed)
