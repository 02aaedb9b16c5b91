"""Small worlds, explored with every property looked at."""

import re
import shlex
from functools import cache
from pathlib import Path

import attrs

from model.profile import profile_named
from proofs.exploration.end_to_end import PROPERTIES, ExploredProperty, PropertyWatch, judged_under
from proofs.exploration.explorer import Explorer, WorldSearch
from proofs.exploration.search import search
from proofs.exploration.world import SmallWorld
from sharespec.commands.explore import explore_command

DOCUMENT = (Path(__file__).parents[2] / "docs" / "exploration.md").read_text()
TINY = SmallWorld(offsets=1)
"""One record: every transition of a record, of two members, and every failure."""

_SIZES = [field.name for field in attrs.fields(SmallWorld)]
_ROW = re.compile(
    r"^\| (?:none|`(?P<options>--.*)`) \| (?P<covers>.*) \| (?P<states>[\d,]+) "
    r"\| (?P<transitions>[\d,]+) \| (?P<depth>\d+) \| (?P<fails>.*) \|$",
    re.MULTILINE,
)


@attrs.frozen
class VisitedWorld:
    """A world as docs/exploration.md lists it.

    ``sizes``: states, transitions and depth; ``expected``: the properties that fail, and after how
    many steps.
    """

    covers: str
    world: SmallWorld
    sizes: tuple[int, int, int]
    expected: dict[str, int]


@cache
def visited_worlds() -> tuple[VisitedWorld, ...]:
    """Return the worlds of the document."""
    names = [known.name for known in PROPERTIES if known.why_not]
    found = []
    for row in _ROW.finditer(DOCUMENT):
        arguments = shlex.split(row["options"] or "")
        given = explore_command.make_context("explore", arguments).params
        given["profile"] = profile_named(given["profile"])
        sizes = (int(row[name].replace(",", "")) for name in ("states", "transitions", "depth"))
        fails = zip(names, row["fails"].split(", "), strict=True)
        found.append(
            VisitedWorld(
                row["covers"],
                SmallWorld(**{name: given[name] for name in _SIZES}),
                (next(sizes), next(sizes), next(sizes)),
                {name: int(steps) for name, steps in fails if steps != "–"},
            )
        )
    return tuple(found)


def explored(
    world: SmallWorld,
    depth: int | None = None,
    properties: tuple[ExploredProperty, ...] = PROPERTIES,
) -> tuple[Explorer, PropertyWatch, WorldSearch]:
    explorer, watch = Explorer(world), PropertyWatch(judged_under(world.profile, properties))
    found = search([explorer.begin()], explorer.successors, watch.check, most_depth=depth)
    return explorer, watch, found
