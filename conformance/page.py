"""The report of a verification as one HTML page without other files; no script is needed."""

from collections import Counter
from collections.abc import Iterator, Sequence

from conformance.campaign import Fault
from conformance.citations import cited
from conformance.goals import Coverage, Group
from conformance.known import Known
from conformance.picture import CODES, Cell, Picture, Row, picture
from conformance.report import (
    KitVerdict,
    Report,
    form_text,
    has_time,
    headline_text,
    reproducing,
    rule_text,
    skipped_text,
    step_columns,
    step_row,
    totals_text,
    vectors_text,
)
from judge.words import printable
from report.page import Child, Markup, joined, own_text, page_text, tag

MAX_BYTES = 2_000_000
"""The maximum size of a page; it counts the deviations that do not fit."""


def as_html(report: Report, max_bytes: int = MAX_BYTES) -> str:
    """Return a page of at most ``max_bytes`` bytes: the verdict, each deviation, what was tried."""
    title = f"{report.campaign.hello.name} {report.campaign.hello.version}"
    head, tail = _top(report, title), _bottom(report)
    remaining = max_bytes - len(_page(title, head, tail).encode()) - _RESERVE
    articles: list[Markup] = []
    links: list[Markup] = []
    left_out = 0
    for number, (name, article, forms) in enumerate(_articles(report), start=1):
        link = tag("li", tag("a", name, href=f"#deviation-{number}"))
        shown, size = _fitting(forms, remaining - _size(article) - _size(link) - _RESERVE)
        remaining -= _size(link) + _size(article) + size + _RESERVE
        if left_out or remaining < 0:
            left_out += 1
            continue
        links.append(link)
        articles.append(tag("article", article, shown, id=f"deviation-{number}"))
    contents = [tag("nav", tag("h2", "Deviations"), tag("ol", links))] if links else []
    if left_out:
        text = (
            f"{left_out:,} more deviations are left out: the page would exceed {max_bytes:,} bytes."
        )
        contents.append(tag("p", text, class_="note"))
    return _page(title, head, contents, articles, tail)


def _fitting(forms: Sequence[Markup], remaining: int) -> tuple[list[Markup], int]:
    """Return the first forms that fit in so many bytes, with a note on the others."""
    shown: list[Markup] = []
    size = 0
    for form in forms:
        if size + _size(form) > remaining:
            text = f"{len(forms) - len(shown):,} more forms are left out: the page is too large."
            return [*shown, tag("p", text, class_="note")], size
        shown.append(form)
        size += _size(form)
    return shown, size


_RESERVE = 1000
"""Bytes reserved for the note about omitted deviations, and for the list of links."""


def _size(markup: Markup) -> int:
    return len(markup.text.encode())


def _page(title: str, *body: Child) -> str:
    style, script = (own_text(__package__, name) for name in ("page.css", "page.js"))
    return page_text(f"sharespec verify: {title}", body, style=style, script=script)


def _top(report: Report, title: str) -> Markup:
    campaign = report.campaign
    numbers = {
        "new": f"{len(report.groups):,}",
        "known": f"{len(report.replayed) - len(report.gone):,}",
        "gone": f"{len(report.gone):,}",
        "sequences": f"{campaign.sequences:,}",
        "operations": f"{campaign.steps:,}",
        "seconds": f"{campaign.seconds:.0f}",
    }
    tiles = [tag("div", tag("dt", name), tag("dd", value)) for name, value in numbers.items()]
    verdict = report.verdict.value
    stopped = " The search was interrupted." if campaign.interrupted else ""
    stopped += f" {_sentence(report.unknown)}" if campaign.failure else ""
    return tag(
        "header",
        tag("p", "sharespec verify", class_="kicker"),
        tag("h1", title),
        tag(
            "p",
            tag("strong", headline_text(report), class_=f"verdict {verdict}"),
            f" {_meaning(report)}",
        ),
        tag("dl", tiles, class_="tiles"),
        tag(
            "p", f"Profile {campaign.hello.profile}, seed {campaign.seed}.{stopped}", class_="note"
        ),
        tag("p", f"{vectors_text(report.vectors)}.", class_="note") if report.vectors.names else "",
        tag("p", _sentence(skipped), class_="note") if (skipped := skipped_text(report)) else "",
    )


def _meaning(report: Report) -> str:
    if report.new:
        return "It does what no rule allows and nobody knew of."
    if report.gone:
        return "A deviation that is known does not show any more."
    if report.verdict is KitVerdict.UNKNOWN:
        told = report.campaign.failure or report.campaign.interrupted
        return "" if told else _sentence(report.unknown)
    return "" if report.replayed else "Nothing was found."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _articles(report: Report) -> Iterator[tuple[str, Markup, Sequence[Markup]]]:
    """Yield each deviation with its name and its further forms: new, gone, known."""
    for group in report.groups:
        heading = _heading("new", group.title)
        often = tag("p", f"Shown by {group.often}.", class_="note")
        article = joined(heading, often, _deviation(group.first, reproducing(report, group.first)))
        yield group.title, article, [_form(report, fault) for fault in group.forms[1:]]
    for each in report.gone:
        text = tag("p", "Its sequence was played again and shows nothing any more.")
        yield each.known.title, joined(_heading("gone", each.known.title), text), ()
    for each in report.replayed:
        if each.fault:
            heading = _heading("known", each.known.title)
            command = reproducing(report, each.fault, each.known.name)
            article = joined(heading, _deviation(each.fault, command, each.known))
            yield each.known.title, article, ()


def _heading(kind: str, title: str) -> Markup:
    return tag("h3", tag("span", kind, class_=f"badge {kind}"), f" {title}")


def _form(report: Report, fault: Fault[object]) -> Markup:
    shown = _deviation(fault, reproducing(report, fault))
    return tag("details", tag("summary", form_text(fault)), shown, class_="form")


def _deviation(fault: Fault[object], command: str, known: Known[object] | None = None) -> Markup:
    deviation, citation = fault.deviation, cited(fault.deviation)
    facts: list[tuple[str, Child]] = [
        ("Observed", deviation.recorded),
        ("Expected", deviation.expected),
        ("Rule", rule_text(fault)),
    ]
    if citation:
        facts.append(("Rests on", [tag("cite", citation.source), f" — {citation.says}"]))
    if not known:
        facts.append(("Shown by", form_text(fault)))
    if known:
        facts += [
            ("Verdict", _prose(known.reason)),
            ("It means", _prose(known.consequence)),
            ("Cause", _prose(known.cause)),
        ]
    shown = picture(fault)
    return joined(
        tag(
            "dl",
            [(tag("dt", name), tag("dd", text)) for name, text in facts if text],
            class_="facts",
        ),
        _drawn(shown) if shown else (),
        _steps(fault),
        _command(command) if command else (),
    )


def _command(command: str) -> Markup:
    """Return a command, and a button that copies it, which shows where scripts run."""
    button = tag("button", "Copy", type="button", hidden="", class_="copy")
    return tag("p", "Again: ", tag("code", command), " ", button, class_="again")


def _prose(text: str) -> list[Child]:
    """Return text with code between backticks as code elements."""
    parts = text.split("`")
    return [tag("code", part) if place % 2 else part for place, part in enumerate(parts) if part]


def _steps(fault: Fault[object]) -> Markup:
    timed = has_time(fault.steps)
    names = [name[0].upper() + name[1:] for name in step_columns(timed=timed)]
    head = tag("tr", [tag("th", name) for name in ("", *names)])
    rows = [
        tag("tr", tag("td", number), [tag("td", text) for text in step_row(step, timed=timed)])
        for number, step in enumerate(fault.steps, start=1)
    ]
    return _scrolling(tag("table", tag("thead", head), tag("tbody", rows), class_="steps"))


def _scrolling(*children: Child) -> Markup:
    return tag("div", *children, class_="scroll")


# The picture.


def _drawn(shown: Picture) -> Markup:
    """Return offsets as columns and states as rows; letters repeat what colours show."""
    head = tag(
        "tr", tag("th", "offset"), [tag("th", offset, scope="col") for offset in shown.offsets]
    )
    rows = [_row(row) for row in shown.rows]
    used = {cell.record.state for row in shown.rows for cell in row.cells if cell.record}
    legend = [
        tag("span", tag("b", CODES[state], class_=f"key {CODES[state]}"), f" {state.name} ")
        for state in sorted(used)
    ]
    marks = "the end offset is exclusive; × delivery count, … being written, ≠ differs"
    cut = shown.more_before or shown.more_after
    more = " Offsets further away are left out." if cut else ""
    return joined(
        _scrolling(tag("table", tag("thead", head), tag("tbody", rows), class_="picture")),
        tag("p", legend, f"{marks}.{more}", class_="legend"),
    )


def _row(row: Row) -> Markup:
    state = row.state
    numbers = f"start {state.start_offset}, end {state.end_offset}"
    complete = f"complete {state.delivery_complete_count}"
    title = tag("th", tag("b", row.title), [tag("small", text) for text in (numbers, complete)])
    return tag("tr", title, [_cell(row, cell) for cell in row.cells])


def _cell(row: Row, cell: Cell) -> Markup:
    state, record = row.state, cell.record
    ends = {"start": state.start_offset, "end": state.end_offset}
    marks = [name for name, offset in ends.items() if offset == cell.offset]
    lines: list[Child] = [tag("i", "≠ " * cell.differs, " ".join(marks))]
    code = ""
    if record:
        code = CODES[record.state]
        waiting = "…" if record.pending else ""
        lines += [tag("b", code), tag("small", f"×{record.delivery_count}{waiting}")]
        lines.append(tag("small", printable(record.owner or "", 12)))
    elif state.records is None and cell.place == "inside":
        lines.append(tag("b", "?"))
    else:
        lines.append(tag("b", {"below": "–", "inside": "·", "after": ""}[cell.place]))
    classes = ["cell", cell.place, code, "differs" if cell.differs else ""]
    return tag("td", lines, class_=" ".join(name for name in classes if name))


# What was covered.


def _bottom(report: Report) -> Markup:
    coverage = report.coverage
    parts = [
        tag("section", tag("h2", "What was asked"), _asked(report)),
        tag("section", tag("h2", "What was covered"), _covered(coverage))
        if coverage.covered
        else "",
        tag("section", tag("h2", "What could not be asked"), _listed(report.cannot))
        if report.cannot
        else "",
        tag("section", tag("h2", "Judged by"), _listed(report.bounds)) if report.bounds else "",
        tag("footer", tag("p", totals_text(report)), tag("p", "Written by sharespec verify.")),
    ]
    return joined(parts)


def _asked(report: Report) -> Markup:
    rows: dict[str, list[str]] = {}
    for what, count in report.campaign.asked.items():
        operation, status = what.split(" ", 1)
        rows.setdefault(operation, []).append(f"{status} {count:,}")
    cells = [tag("tr", tag("td", name), tag("td", ", ".join(a))) for name, a in rows.items()]
    head = tag("tr", tag("th", "Operation"), tag("th", "Answers, and how often"))
    return _scrolling(tag("table", tag("thead", head), tag("tbody", cells)))


def _covered(coverage: Coverage) -> Markup:
    bars = [_bar(group, met, of) for group, met, of in coverage.totals()]
    missed = [goal.name + (" (optional)" if goal.optional else "") for goal in coverage.missed]
    reasons = Counter(reason for _goal, reason in coverage.skipped)
    skipped = [
        [tag("h4", f"Skipped, {number}: {reason}"), _listed(_named(coverage, reason))]
        for reason, number in reasons.items()
    ]
    covered = [f"{goal.name}: {count:,}" for goal, count in coverage.covered]
    return joined(
        tag("dl", bars, class_="bars"),
        tag("h3", f"Not covered: {len(missed)}"),
        _listed(missed) if missed else tag("p", "Nothing is left."),
        skipped,
        tag("details", tag("summary", f"Covered, and how often: {len(covered)}"), _listed(covered)),
    )


def _bar(group: Group, met: int, of: int) -> Markup:
    meter = tag("meter", f"{met} of {of}", min="0", max=str(max(of, 1)), value=str(met))
    return tag("div", tag("dt", group.value), tag("dd", meter, f" {met} of {of}"))


def _listed(names: Sequence[str]) -> Markup:
    return tag("ul", [tag("li", name) for name in names], class_="columns")


def _named(coverage: Coverage, reason: str) -> list[str]:
    return [goal.name for goal, why in coverage.skipped if why == reason]
