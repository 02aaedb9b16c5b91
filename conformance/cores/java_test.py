"""Deviations of Apache Kafka's SharePartition as JUnit tests, to be pasted beside its own."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

import attrs

from conformance.campaign import Fault
from conformance.citations import cited
from conformance.cores import asks
from conformance.cores.java_calls import NoTestError, statements
from conformance.cores.java_expected import LastStep, asserted
from conformance.cores.scene import Exchanged
from conformance.cores.target import Target
from conformance.kit import AnyKit
from conformance.releases import read_changes, rewritten
from judge.finding import FindingKind
from judge.words import printable

_FOLDER = Path(__file__).parents[1] / "targets" / "kafka" / "junit"
OLDER = _FOLDER / "older.toml"
"""What tests of Apache Kafka say for an older release."""

_CLASS = re.compile(r"[A-Z][A-Za-z0-9_]*")
_TOLD = (
    "/** Found by sharespec: each test expects what the KIPs say, and fails where it is not so. */"
)
_WIDTH = 110
_LOOP = 3
"""How many equal calls in a row are written as a loop."""


@attrs.frozen
class JavaCase:
    """One deviation: the fault, what is told of it, and the command that shows it again."""

    name: str
    fault: Fault[Any]
    told: tuple[str, ...] = ()
    command: str = ""


def class_name(path: Path) -> str:
    """Return the class that a file must have. Raises NoTestError if that is no name."""
    if path.suffix != ".java" or not _CLASS.fullmatch(path.stem):
        allowed = "an upper-case letter, then letters, digits and _, as in StartOffsetTest.java"
        raise NoTestError(f"{path.name!r:.80} is no file of a Java class; allowed: {allowed}")
    return path.stem


def java_method(
    target: Target, kit: AnyKit, case: JavaCase, taken: Collection[str] = ()
) -> tuple[str, str]:
    """Play a deviation once more; return the name of a test, not one taken, and its method.

    The test expects what the rules do. Raises TargetError, and NoTestError where it cannot be
    expressed.
    """
    name = "test" + "".join(part.capitalize() for part in re.findall("[A-Za-z0-9]+", case.name))
    while name in taken:
        name += "Again"
    return name, _method(name, case, *_played(target, kit, case))


def java_class(name: str, methods: Sequence[str], version: str) -> str:
    """Return the source of a class with these methods, and with what they need of the template.

    ``version`` is the release for which it compiles.
    """
    head, *members = (_FOLDER / "Template.java").read_text(encoding="utf-8").split("\n\n    ")
    body = "\n\n".join(methods)
    code = re.sub(r"(?m)^    (?: \*|/\*\*).*$", "", body)
    kept = _needed(members, code)
    first = next((n for n, member in enumerate(kept) if _is_method(member)), len(kept))
    parts = ["\n".join(kept[:first]), body, *kept[first:]]
    text = f"{_TOLD}\npublic class {name} {{\n" + "\n\n".join(filter(None, parts)) + "\n}\n"
    text = rewritten(f"{head}\n\n{text}", version, read_changes(OLDER))
    return _without_unused_imports(text)


def _needed(members: Sequence[str], body: str) -> list[str]:
    """Return the members of the template that the methods use, and what these use in turn."""
    pruned: list[str] = []
    while True:
        text = body + "\n".join(pruned)
        now = [
            _lines_for(f"    {member.rstrip()}", body)
            for member in members
            if re.search(rf"\b{_name(member)}\b", text)
        ]
        if now == pruned:
            return now
        pruned = now


def _name(member: str) -> str:
    """Return the name that a member of the template declares."""
    lines = (line for line in member.splitlines() if line.strip()[:1] not in {"/", "*", "@"})
    found = re.search(r"(\w+)(?:\(| =|;)", next(lines))
    assert found is not None  # noqa: S101 - the template is the project's own
    return found[1]


def _is_method(member: str) -> bool:
    return member.endswith("\n    }")


def _lines_for(member: str, body: str) -> str:
    """Return a member without the lines that are for tests with a word which these have not."""
    lines = []
    for line in member.splitlines():
        kept, _, condition = line.partition("  // with")
        word = condition.rpartition(" ")[2]
        if not condition or bool(re.search(rf"\b{word}\b", body)) is not condition.startswith(
            "out"
        ):
            lines.append(kept)
    return "\n".join(lines)


def _without_unused_imports(text: str) -> str:
    code = re.sub(r"(?m)^import .*\n", "", text)

    def used(found: re.Match[str]) -> str:
        return found[0] if re.search(rf"\b{found[1]}\b", code) else ""

    return re.sub(r"(?m)^import .*\.(\w+);\n", used, text)


def _played(target: Target, kit: AnyKit, case: JavaCase) -> tuple[list[Exchanged], LastStep]:
    """Play a sequence up to its deviation; compactions are exchanges that ask for nothing."""
    hello = target.hello()
    scene = kit.stage(target, hello)
    exchanges: list[Exchanged] = []
    for ask in case.fault.sequence:
        before, log, known = scene.partition, list(scene.log), len(scene.exchanges)
        deviation = scene.ask(ask)
        asked = scene.exchanges[known:]
        if isinstance(ask, asks.ProduceAborted):
            asked = [attrs.evolve(e, operation={**e.operation, "op": "abort"}) for e in asked]
        exchanges += asked
        if deviation is not None:
            return exchanges, LastStep(deviation, exchanges[-1], before, scene, hello)
        if isinstance(ask, asks.Compact):
            gone = [batch for batch in log if batch not in scene.log]
            exchanges.append(Exchanged(-1, {"op": "compact", "gone": gone}, (), {}))
    raise NoTestError(f"{case.name} did not show when it was played again")


def _method(name: str, case: JavaCase, exchanges: Sequence[Exchanged], last: LastStep) -> str:
    awaited = [done.seq for done in last.scene.expected.completed]
    *before, (setup, call, _) = statements(exchanges, last.hello, awaited)
    steps: list[tuple[str, str]] = []
    for lines, called, seen in before:
        steps += ((line, "") for line in lines)
        steps += [(f"{called};", seen)] if called else []
    lines = [*_looped(steps), *setup, *asserted(last, call)]
    body = "\n".join(f"        {line}" for line in lines)
    return f"{_comment(case, last)}\n    @Test\n    public void {name}() {{\n{body}\n    }}"


def _comment(case: JavaCase, last: LastStep) -> str:
    deviation, citation = last.deviation, cited(last.deviation)
    texts = [
        *case.told,
        f"Rule {deviation.name}: {deviation.sentence.rstrip('.')}.",
        f'{citation.source}: "{citation.says}"' if citation else "",
        "" if deviation.kind is FindingKind.GUARD else f"Expected: {deviation.expected}.",
        f"{last.hello.name} {last.hello.version}: {deviation.recorded}.",
        case.command,
    ]
    wrapper = TextWrapper(_WIDTH, break_long_words=False, break_on_hyphens=False)
    lines = [f"     * {line}" for text in texts for line in wrapper.wrap(_harmless(text))]
    return "\n".join(("    /**", *lines, "     */"))


def _harmless(text: str) -> str:
    """Return text that ends no comment and is no Unicode escape of Java."""
    plain = text.replace("*/", "* /").replace("→", "->").replace("–", "-")
    return printable(plain.replace("\\", "/")).replace("\\", "/")


def _looped(steps: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield each line with its comment, equal lines in a row as a loop."""
    for line, run in groupby(steps, key=itemgetter(0)):
        same = list(run)
        if len(same) < _LOOP:
            yield from (line + comment for _, comment in same)
            continue
        yield f"for (int i = 0; i < {len(same)}; i++) {{"
        yield f"    {line}"
        yield "}"
