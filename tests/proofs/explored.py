"""Small worlds, explored with every property looked at."""

from proofs.exploration.end_to_end import PROPERTIES, ExploredProperty, Watch, judged_under
from proofs.exploration.explorer import Explorer, WorldSearch
from proofs.exploration.world import SmallWorld

TINY = SmallWorld(offsets=1)
"""One record: every transition of a record, of two members, and every failure."""


def explored(
    world: SmallWorld,
    depth: int | None = None,
    properties: tuple[ExploredProperty, ...] = PROPERTIES,
) -> tuple[Explorer, Watch, WorldSearch]:
    explorer, watch = Explorer(world), Watch(judged_under(world.profile, properties))
    return explorer, watch, explorer.explore(watch.check, depth)
