"""What an operator may do follows from what the cluster reports."""

import attrs

from conformance.wire.cluster import SeenCluster, SeenNode, StateTopic
from conformance.wire.connection import Address
from sharespec.recipes import Access, Recipe, recipes

BOTH = frozenset({"READ", "ALTER_CONFIGS"})
CLUSTER = SeenCluster(
    "c",
    (SeenNode(1, Address("a", 1), "WARN"), SeenNode(2, Address("b", 1), "DEBUG")),
    (1, 2),
    {"share.version": 1},
    BOTH,
    StateTopic(50, BOTH),
    {},
    ("g",),
)


def of(cluster: SeenCluster, access: Access | None = None) -> dict[str, Recipe]:
    return {recipe.name: recipe for recipe in recipes(cluster, access or Access("a:1"))}


def permitted(cluster: SeenCluster) -> list[bool | None]:
    return [recipe.permitted for recipe in of(cluster).values()]


def test_all_that_the_cluster_permits() -> None:
    assert permitted(CLUSTER) == [True, True, None]


def test_only_the_brokers_that_do_not_log_are_changed() -> None:
    commands = of(CLUSTER)["request log"].commands
    assert [c for c in commands if "--entity-name 2" in c] == []
    changes = [c.partition("--alter ")[2] for c in commands if "--entity-name 1" in c]
    assert changes == [
        "--add-config kafka.request.logger=DEBUG",
        "--delete-config kafka.request.logger",
    ]


def test_a_user_without_rights_is_told_so() -> None:
    none = frozenset({"DESCRIBE"})
    poor = attrs.evolve(CLUSTER, may=none, state_topic=StateTopic(50, none))
    assert permitted(poor) == [False, False, None]
    assert "may not READ" in of(poor)["state topic"].because[0]
    silent = attrs.evolve(CLUSTER, may=frozenset(), state_topic=StateTopic(50, frozenset()))
    assert permitted(silent) == [None, None, None]
    recording = attrs.evolve(poor, nodes=CLUSTER.nodes[1:])
    assert of(recording)["request log"].permitted is True


def test_a_cluster_without_a_state_topic_or_loggers() -> None:
    mute = attrs.evolve(CLUSTER, state_topic=None, nodes=(SeenNode(1, Address("a", 1), "", "no"),))
    assert permitted(mute) == [None, False, None]
    refused = attrs.evolve(CLUSTER, state_topic="TOPIC_AUTHORIZATION_FAILED")
    assert of(refused)["state topic"].because[0].endswith("TOPIC_AUTHORIZATION_FAILED")


def test_without_share_groups_nothing_can_be_recorded() -> None:
    assert permitted(attrs.evolve(CLUSTER, share_fetch=None)) == [False] * 3
    assert permitted(attrs.evolve(CLUSTER, features={"share.version": 0})) == [False] * 3


def test_the_commands_are_those_of_the_release_and_quoted() -> None:
    access = Access("a:1", "my file")
    new, old = of(CLUSTER, access), of(attrs.evolve(CLUSTER, share_fetch=(1, 1)), access)
    assert "--command-config 'my file'" in new["state topic"].commands[0]
    assert "--consumer.config 'my file'" in old["state topic"].commands[0]
    assert [one["agent"].permitted for one in (new, old)] == [None, False]
