"""Groups that are joined while their deletion waits for a share coordinator that moves."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest

from conformance.cluster.fault_plan import NODES, STATE_TOPIC
from conformance.wire.admin import Resource
from conformance.wire.messages import request
from model.share_messages import ShareFetch
from tests.kafka.test_failed_write import cluster
from tests.serve.served import Client, acquired, clients_of, part

pytestmark = [pytest.mark.slow, pytest.mark.broker, pytest.mark.long]

GROUPS = [f"g{number}" for number in range(24)]
APART_S, JOINS_AFTER_S, BEATS, VERSION, LONGEST_MS = 0.06, 0.3, 15, 2, 60_000


@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "kept"])
def test_a_group_that_is_joined_while_it_is_deleted_may_be_left_without_state(
    tmp_path: Path, *, is_deleted: bool
) -> None:
    """The deletion is tried again after the initialization, which was asked for later."""
    with (
        cluster(tmp_path, 30_000) as nodes,
        clients_of(nodes.bootstrap) as clients,
        ThreadPoolExecutor(2 * len(GROUPS)) as pool,
    ):
        admin = clients[0].admin
        admin.check_cluster(len(NODES))
        topic = UUID(admin.create_topic("t", 1, len(NODES)))
        leader = admin.leaders("t")[0]
        clients[leader - 1].fill("t", 5)
        for group in GROUPS:
            admin.configure(Resource.GROUP, group, {"share.auto.offset.reset": "earliest"})
        coordinator = clients[admin.find_coordinator(GROUPS[0]) - 1]
        for group in GROUPS:
            coordinator.admin.join(group, "m", "t", str(topic), 1)
            coordinator.admin.leave(group, "m")
        address = str(coordinator.wire.address)
        lives = [pool.submit(live, pool, address, nth, is_deleted) for nth in range(len(GROUPS))]
        admin.move_leader(STATE_TOPIC, 0, other(admin.leaders(STATE_TOPIC)[0]))
        told = [life.result() for life in lives]
        # The next leader reads the state.
        admin.move_leader("t", 0, other(leader))
        stuck = [group for group in GROUPS if not given(clients[other(leader) - 1], group, topic)]
    assert bool(stuck) == is_deleted, told


def other(node: int) -> int:
    return node % len(NODES) + 1


def live(pool: ThreadPoolExecutor, address: str, nth: int, is_deleted: bool) -> int:  # noqa: FBT001 - passed on
    """Delete a group, and join it soon after; return what the deletion is answered."""
    time.sleep(APART_S * nth)
    deletion = pool.submit(deleted, address, GROUPS[nth] if is_deleted else "none")
    time.sleep(JOINS_AFTER_S)
    epoch = 0
    with clients_of(address) as (client,):
        for _beat in range(BEATS):
            answer = client.beat(epoch, None if epoch else ["t"], "m", GROUPS[nth])
            epoch = epoch if answer.error_code else answer.member_epoch
            time.sleep(1)
    return deletion.result()


def deleted(address: str, group: str) -> int:
    with clients_of(address) as (client,):
        asked = request("delete_groups", VERSION, groups_names=[group])
        (answer,) = client.send(asked, wait_ms=LONGEST_MS).results
    return int(answer.error_code)


def given(client: Client, group: str, topic: UUID) -> bool:
    """Whether a member is given records by the first fetches of a share session."""
    for epoch in range(4):
        parts = () if epoch else (part(topic),)
        if acquired(client.share(ShareFetch(group, "m", epoch, parts, max_wait_ms=1000))):
            return True
    return False
