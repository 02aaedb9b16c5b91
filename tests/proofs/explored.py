"""Small worlds, explored in this process."""

from proofs.exploration.end_to_end import PROPERTIES, ExploredProperty
from proofs.exploration.leaders import Leaders
from proofs.exploration.network import Network
from proofs.exploration.product import Explored, Product
from proofs.exploration.world import SmallWorld

TINY = SmallWorld(offsets=1)
"""One record: every transition of a record, of two members, and every failure."""


def explored(
    world: SmallWorld,
    depth: int | None = None,
    properties: tuple[ExploredProperty, ...] = PROPERTIES,
) -> tuple[Product, Explored]:
    network = Network(world.late)
    product = Product(world, Leaders(world, network), network, properties)
    return product, product.explore(most_depth=depth)


def parts_of(product: Product, packed: int) -> tuple[bytes, object, object]:
    """Return the leader's normal form, the durable state and the late writes of a state."""
    state = product.state(packed)
    durable = product.coordinator.states[state.durable]
    known = (
        durable.start_offset,
        durable.delivery_complete_count,
        tuple(sorted(durable.entries.items())),
    )
    return product.leaders.keys[state.leader], known, product.network.states[state.network]
