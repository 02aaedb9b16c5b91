"""The APIs that are served, in which versions; what is not here is not advertised."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from serve import config_api, fetch_api, group_api, produce_api, share_api, topic_api
from serve.asked import Call, Values
from serve.node import Node

Answer: TypeAlias = Values | None
Handler: TypeAlias = Callable[[Node, Call], Answer | Awaitable[Answer]]

API_VERSIONS = 18


@attrs.frozen
class Api:
    """An API by its name in kio, its lowest and highest version (inclusive), and who serves it."""

    name: str
    lowest: int
    highest: int
    handler: Handler


def api_versions(_node: Node, _asked: Call) -> Values:
    """Advertise what is served."""
    return advertised(KafkaError.none)


def advertised(error: KafkaError) -> Values:
    """Return the versions of every API, with an error if the client asked in an unknown one."""
    return {
        "error_code": error,
        "api_keys": [
            {"api_key": key, "min_version": api.lowest, "max_version": api.highest}
            for key, api in APIS.items()
        ],
        "supported_features": [_SHARE_VERSION],
        "finalized_features_epoch": 0,
        "finalized_features": [_SHARE_LEVEL],
    }


_SHARE_VERSION = {"name": "share.version", "min_version": 0, "max_version": 1}
_SHARE_LEVEL = {"name": "share.version", "max_version_level": 1, "min_version_level": 1}

APIS: Mapping[int, Api] = {
    0: Api("produce", 3, 13, produce_api.produce_records),
    1: Api("fetch", 4, 17, fetch_api.fetch),
    2: Api("list_offsets", 1, 10, topic_api.list_offsets),
    3: Api("metadata", 0, 13, topic_api.metadata),
    10: Api("find_coordinator", 0, 5, group_api.find_coordinator),
    16: Api("list_groups", 0, 5, group_api.list_groups),
    API_VERSIONS: Api("api_versions", 0, 4, api_versions),
    19: Api("create_topics", 2, 7, topic_api.create_topics),
    20: Api("delete_topics", 1, 6, topic_api.delete_topics),
    21: Api("delete_records", 0, 2, topic_api.delete_old_records),
    22: Api("init_producer_id", 0, 5, produce_api.init_producer_id),
    32: Api("describe_configs", 1, 4, config_api.describe_configs),
    42: Api("delete_groups", 0, 2, group_api.delete_groups),
    44: Api("incremental_alter_configs", 0, 1, config_api.incremental_alter_configs),
    60: Api("describe_cluster", 0, 2, topic_api.describe_cluster),
    76: Api("share_group_heartbeat", 1, 1, group_api.share_group_heartbeat),
    77: Api("share_group_describe", 1, 1, group_api.share_group_describe),
    78: Api("share_fetch", 1, 2, share_api.share_fetch),
    79: Api("share_acknowledge", 1, 2, share_api.share_acknowledge),
    90: Api("describe_share_group_offsets", 0, 1, group_api.describe_share_group_offsets),
    91: Api("alter_share_group_offsets", 0, 0, group_api.alter_share_group_offsets),
    92: Api("delete_share_group_offsets", 0, 0, group_api.delete_share_group_offsets),
}
