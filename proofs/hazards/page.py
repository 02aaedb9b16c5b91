"""What searches find of a hazard, in Markdown: the run, the property, and what was checked."""

from collections.abc import Iterator, Sequence

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from proofs.hazards.hazard import Absence, CaseFinding, HazardCase, HazardRun
from proofs.hazards.machine import MachineView
from proofs.hazards.world import BEGAN, HazardMove, HazardProperty, HazardWorld

_HEAD = ("| Time (ms) | What happens | Records | Durable | Lag |", "|---:|---|---|---|---|")


def page(findings: Sequence[CaseFinding]) -> str:
    """Return what was found of a hazard: a run of each case, and what the controls show."""
    lines = [line for number, each in enumerate(findings) for line in _case(each, number)]
    return "\n".join([*lines, f"**Checked.** {' '.join(_checks(findings))}"])


def property_text(holds: HazardProperty) -> str:
    """Return the property as a sentence."""
    sentence = (holds.__doc__ or "").removeprefix("Hold that ")
    return sentence[0].upper() + sentence[1:]


def run_table(run: HazardRun, broken: int | None) -> Iterator[str]:
    """Yield the rows of a run: what happens, what becomes of the records, what is durable."""
    yield from _HEAD
    yield _row(run.states[0].view, "the leader has read an untouched state", "–", "")
    for number, (act, before, after) in enumerate(
        zip(run.labels, run.states, run.states[1:], strict=False), start=1
    ):
        what = act.text
        errors = {code.name for code in after.answers} - {ErrorCode.NONE.name}
        if errors and act.move is not HazardMove.ANSWER:
            told = ", ".join(sorted(errors))
            what += f": {told}".replace(ErrorCode.PENDING.name, "not answered yet")
        mark = " **←**" if number == broken else ""
        yield _row(after.view, what, _changes(before.view, after.view), mark)


def _case(finding: CaseFinding, number: int) -> Iterator[str]:
    case, run = finding.case, finding.run
    if run is None:
        yield from ("**Not found.** No run breaks the property.", "")
        return
    reading = _readings(case)
    if number > 0:
        acts = ", ".join(act.text for act in run.labels)
        yield from (f"**Also: {case.title}** ({reading}): {acts}. So {run.reason}.", "")
        return
    if case.title:
        yield from (f"**First, {case.title}.**", "")
    yield from (*run_table(run, finding.steps), "")
    broken = property_text(case.holds).removesuffix(".")
    yield from (f"**Broken:** {broken}. Here {run.reason}. **When:** {reading}.", "")


def _readings(case: HazardCase) -> str:
    options = ", ".join(_option(name, value) for name, value in case.options.items())
    return options or "under every reading"


def _option(name: str, value: object) -> str:
    if value is True:
        return f"`{name}`"
    return f"`{name}` mended" if value is False else f"`{name}`: {value}"


def _row(view: MachineView, what: str, records: str, mark: str) -> str:
    entries = "".join(
        f", {offset}: {state.name}({count})"
        for offset, (state, count) in sorted(view.durable.entries.items())
    )
    start, complete = view.durable.start_offset, view.durable.delivery_complete_count
    durable = f"start {start}, complete {complete}{entries}"
    lag = (
        f"{view.lag}" if view.lag == view.durable_lag else f"{view.lag}, durable {view.durable_lag}"
    )
    return f"| {view.now - BEGAN:,} | {what}{mark} | {records} | {durable} | {lag} |"


def _changes(before: MachineView, after: MachineView) -> str:
    changed = [
        f"{offset}: {_name(before, offset)} → {_name(after, offset)}"
        for offset, (was, is_) in enumerate(zip(before.records, after.records, strict=True))
        if was != is_
    ]
    return "; ".join(changed) or "–"


def _name(view: MachineView, offset: int) -> str:
    shown = view.records[offset]
    if offset < view.start:
        return "passed"
    owner = "" if shown.owner is None else f" {shown.owner}"
    until = "" if shown.until is None else f" until {shown.until - BEGAN:,}"
    pending = ", pending" if shown.pending else ""
    return f"{shown.state.name}({shown.delivery_count}){owner}{until}{pending}"


def _checks(findings: Sequence[CaseFinding]) -> Iterator[str]:
    for number, finding in enumerate(findings, start=1):
        which = "" if len(findings) == 1 else f"Case {number}: "
        steps = "no run" if finding.steps is None else f"{finding.steps} steps, none shorter"
        literal = "no run" if finding.literal is None else f"{finding.literal}"
        beside = ", ".join(_option(name, value) for name, value in finding.case.beside.items())
        with_ = f" but {beside}" if beside else ""
        yield f"{which}Found by search, {steps}; {literal} with every sentence as written{with_}."
        yield from (_control(absence) for absence in finding.controls)
        yield _resolved(finding)


def _control(absence: Absence) -> str:
    verdict = "not there" if absence.problem is None else f"STILL THERE: {absence.problem}"
    return f"{absence.where} it is {verdict} ({absence.states:,} states)."


def _resolved(finding: CaseFinding) -> str:
    case, absence = finding.case, finding.resolved
    if absence.problem is not None:
        return f"UNDER `draft_resolved` IT IS THERE: {absence.problem}."
    size = f"{absence.states:,} states, all that there are with {_world(case.world)}"
    if case.bound is None:
        return f"Under `draft_resolved` it is not there: {size}."
    bound = property_text(case.bound).removesuffix(".")
    return f"Under `draft_resolved` it remains, bounded: {bound[0].lower()}{bound[1:]} ({size})."


def _world(world: HazardWorld) -> str:
    config, default = world.config, SharePartitionConfig()
    parts = [
        _many(world.records, "record"),
        _many(len(world.members), "member"),
        _many(world.fetches, "fetch", "fetches"),
    ]
    if world.config.delivery_count_limit != default.delivery_count_limit:
        parts.append(f"limit {config.delivery_count_limit}")
    if HazardMove.WAIT in world.moves:
        parts.append(f"times in steps of {world.quantum:,} ms to {world.until:,} ms")
    moves = ", ".join(
        move.name.lower().replace("_", " ") for move in HazardMove if move in world.moves
    )
    return f"{', '.join(parts)} and the moves {moves}"


def _many(number: int, singular: str, several: str = "") -> str:
    return f"{number} {singular if number == 1 else several or singular + 's'}"
