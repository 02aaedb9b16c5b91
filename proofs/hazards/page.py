"""A hazard as a page for the draft's authors, in Markdown."""

from collections.abc import Iterator

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from proofs.hazards.figures import figures
from proofs.hazards.hazard import Absence, CaseFinding, HazardCase, HazardFinding, Run
from proofs.hazards.machine import MachineView, Shown
from proofs.hazards.world import BEGAN, Act, HazardMove, HazardProperty, HazardWorld

_HEAD = (
    "| Time (ms) | What happens | Records | Durable | Lag |",
    "|---:|---|---|---|---|",
)
_DONE = {
    HazardMove.FETCH: "{m} fetches",
    HazardMove.MARK: "{m} marks {o}",
    HazardMove.OLD_MARK: "{m} marks {o}, for its former delivery",
    HazardMove.ACCEPT: "{m} accepts {o}",
    HazardMove.RELEASE: "{m} releases {o}",
    HazardMove.REJECT: "{m} rejects {o}",
    HazardMove.LEAVE: "{m} leaves",
    HazardMove.RETURN: "{m} comes back",
    HazardMove.ANSWER: "the write is answered {answer}",
    HazardMove.WAIT: "{number:,} ms pass",
    HazardMove.FAIL_OVER: "a new leader takes over",
    HazardMove.READ_AGAIN: "the leader reads the state again",
    HazardMove.DOWNGRADE: "a leader of an older version takes over",
    HazardMove.CALL_MARK: "{m} calls markInProgress({o})",
    HazardMove.POLL: "{m} calls poll()",
}


def page(finding: HazardFinding) -> str:
    """Return the page of a hazard: what goes wrong, why, a run of it, and what would mend it."""
    hazard = finding.hazard
    lines = [f"### {hazard.name}. {hazard.title}", "", hazard.wrong, ""]
    for section, sentence in hazard.quotes:
        lines += [f"> {section}: “{sentence}”", ">"]
    lines[-1] = ""
    for number, case in enumerate(finding.cases):
        lines += _case(case, in_full=number == 0)
    if hazard.note:
        lines += [hazard.note.format(**figures()), ""]
    lines += [f"**Smallest change of the text.** {hazard.rule}", ""]
    lines += [f"**Checked.** {' '.join(_checks(finding))}", ""]
    return "\n".join(lines)


def property_text(holds: HazardProperty) -> str:
    """Return the property as a sentence."""
    sentence = (holds.__doc__ or "").removeprefix("Hold that ")
    return sentence[0].upper() + sentence[1:]


def steps_table(run: Run) -> Iterator[str]:
    """Yield the rows of a run: what happens, what becomes of the records, what is durable."""
    yield from _HEAD
    yield _row(run.states[0].view, "the leader has read an untouched state", "–", "")
    for number, (act, before, after) in enumerate(
        zip(run.acts, run.states, run.states[1:], strict=False), start=1
    ):
        what = _done(act)
        errors = [code.name for code in after.answers if code is not ErrorCode.NONE]
        if errors and act.move is not HazardMove.ANSWER:
            what += f": {'not answered yet' if errors == ['PENDING'] else ', '.join(errors)}"
        mark = " **←**" if number == run.broken else ""
        yield _row(after.view, what, _changes(before.view, after.view), mark)


def _case(finding: CaseFinding, *, in_full: bool) -> Iterator[str]:
    case, run = finding.case, finding.run
    if run is None:
        yield from ("**Not found.** No run breaks the property.", "")
        return
    reading = _readings(case)
    if not in_full:
        acts = ", ".join(_done(act) for act in run.acts)
        yield f"**Also: {case.title}** ({reading}): {acts}. So {run.reason}."
        yield ""
        return
    if case.title:
        yield from (f"**First, {case.title}.**", "")
    yield from steps_table(run)
    yield ""
    broken = property_text(case.holds).removesuffix(".")
    yield f"**Broken:** {broken}. Here {run.reason}. **When:** {reading}."
    yield ""


def _done(act: Act) -> str:
    offset = act.given.offset if act.given else ""
    return _DONE[act.move].format(m=act.member, o=offset, answer=act.answer.name, number=act.number)


def _readings(case: HazardCase) -> str:
    if not case.options:
        return "under every reading"
    return ", ".join(_option(name, value) for name, value in case.options.items())


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
    shown: Shown = view.records[offset]
    if offset < view.start:
        return "passed"
    owner = "" if shown.owner is None else f" {shown.owner}"
    until = "" if shown.until is None else f" until {shown.until - BEGAN:,}"
    pending = ", pending" if shown.pending else ""
    return f"{shown.state.name}({shown.delivery_count}){owner}{until}{pending}"


def _checks(finding: HazardFinding) -> Iterator[str]:
    for number, case in enumerate(finding.cases, start=1):
        which = "" if len(finding.cases) == 1 else f"Case {number}: "
        steps = "no run" if case.run is None else f"{case.run.broken} steps, none shorter"
        literal = "no run" if case.literal is None else f"{case.literal}"
        beside = ", ".join(_option(name, value) for name, value in case.case.beside.items())
        with_ = f" but {beside}" if beside else ""
        yield f"{which}Found by search, {steps}; {literal} with every sentence as written{with_}."
        yield from (_control(absence) for absence in case.controls)
        yield _resolved(case)


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
