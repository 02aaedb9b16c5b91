"""Deviations of classes of Apache Kafka as JUnit tests, to be pasted beside its own.

How a sequence becomes statements is for each class to say.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

import attrs

from conformance.campaign import Fault, play
from conformance.citations import cited
from conformance.kit import AnyKit
from conformance.releases import read_changes, rewritten
from conformance.target import Hello
from judge.finding import Finding, FindingKind
from judge.words import printable

_FOLDER = Path(__file__).parent / "targets" / "kafka" / "junit"
OLDER = _FOLDER / "older.toml"
"""What tests of Apache Kafka say for an older release."""

_INT = 1 << 31
_CLASS = re.compile(r"[A-Z][A-Za-z0-9_]*")
_TOLD = (
    "/** Found by sharespec: each test expects what the KIPs say, and fails where it is not so. */"
)
_WIDTH = 110
_LOOP = 3
"""How many equal calls in a row are written as a loop."""


class NoTestError(Exception):
    """A deviation cannot be expressed as a test; one line says why."""


@attrs.frozen
class JavaCase:
    """One deviation: the fault, what is told of it, and the command that shows it again."""

    name: str
    fault: Fault[Any]
    told: tuple[str, ...] = ()
    command: str = ""


JavaSteps = tuple[Sequence[tuple[str, str]], Sequence[str]]
"""Statements, each with a comment or "", and the lines of the last call and of what it must do."""


@attrs.frozen
class JavaWriter:
    """How deviations of a class of Apache Kafka become tests.

    ``template``: the file that has what the statements use. ``steps`` makes statements of a stage
    that was played up to a deviation of a target, and raises NoTestError. ``older``: its tests
    compile for older releases too.
    """

    template: str
    steps: Callable[[Any, Finding, Any], JavaSteps]
    older: bool = False

    def method(
        self,
        target: object,
        kit: AnyKit,
        case: JavaCase,
        taken: Collection[str] = (),
    ) -> tuple[str, str]:
        """Play a deviation once more; return the name of a test, not one taken, and its method.

        The test expects what the rules do. Raises TargetError, and NoTestError where it cannot be
        expressed.
        """
        name = "test" + "".join(part.capitalize() for part in re.findall("[A-Za-z0-9]+", case.name))
        while name in taken:
            name += "Again"
        hello = kit.hello(target)
        wanted = attrs.evolve(case.fault.deviation, vector="")  # The rules say it, not a vector.
        stage, _at, found = play(target, hello, case.fault.sequence, kit)
        kind = wanted.signature, wanted.cause
        deviation = next((each for each in found if (each.signature, each.cause) == kind), None)
        if deviation is None:
            raise NoTestError(f"{case.name} did not show when it was played again")
        steps, asserted = self.steps(stage, deviation, hello)
        body = "\n".join(f"        {line}" for line in (*_looped(steps), *asserted))
        comment = _comment(case, deviation, hello)
        return name, f"{comment}\n    @Test\n    public void {name}() {{\n{body}\n    }}"

    def source(self, name: str, methods: Sequence[str], version: str) -> str:
        """Return the source of a class with these methods, and what they need of the template.

        ``version`` is the release for which it compiles.
        """
        template = (_FOLDER / self.template).read_text(encoding="utf-8")
        head, *members = template.split("\n\n    ")
        body = "\n\n".join(methods)
        code = re.sub(r"(?m)^    (?: \*|/\*\*).*$", "", body)
        kept = _needed(members, code)
        of_methods = (n for n, member in enumerate(kept) if member.endswith("\n    }"))
        first = next(of_methods, len(kept))
        parts = ["\n".join(kept[:first]), body, *kept[first:]]
        text = f"{_TOLD}\npublic class {name} {{\n" + "\n\n".join(filter(None, parts)) + "\n}\n"
        text = rewritten(f"{head}\n\n{text}", version, read_changes(OLDER))
        return _without_unused_imports(text)


def class_name(path: Path) -> str:
    """Return the class that a file must have. Raises NoTestError if that is no name."""
    if path.suffix != ".java" or not _CLASS.fullmatch(path.stem):
        allowed = "an upper-case letter, then letters, digits and _, as in StartOffsetTest.java"
        raise NoTestError(f"{path.name!r:.80} is no file of a Java class; allowed: {allowed}")
    return path.stem


def number(offset: int) -> str:
    """Return an offset as Java has it."""
    return f"{offset}L" if offset >= _INT else str(offset)


def java_text(text: str) -> str:
    """Return a literal of Java: its escapes are those of JSON."""
    return json.dumps(text)


def equals(expected: str, seen: str, told: str) -> Iterator[str]:
    """Yield the lines which assert that one value is the other, and else tell what it is."""
    parts = f"assertEquals({expected},", f"{seen},", f"{java_text(told)});"
    line = " ".join(parts)
    yield from [line] if len(line) < _WIDTH else [parts[0], *(f"    {part}" for part in parts[1:])]


def holds(condition: str, told: str, seen: str, *, truth: bool = True) -> Iterator[str]:
    """Yield the lines which assert that a condition has a truth, and else tell what is seen."""
    yield f"assert{truth}({condition},"
    yield f"    {told} + {seen});"


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


def _comment(case: JavaCase, deviation: Finding, hello: Hello[Any]) -> str:
    citation = cited(deviation)
    texts = [
        *case.told,
        f"Rule {deviation.name}: {deviation.sentence.rstrip('.')}.",
        f'{citation.source}: "{citation.says}"' if citation else "",
        "" if deviation.kind is FindingKind.GUARD else f"Expected: {deviation.expected}.",
        f"{hello.name} {hello.version}: {deviation.recorded}.",
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
