"""Settings: those of groups can be read and altered, those of the broker and of topics read."""

from types import SimpleNamespace

from kio.schema.errors import ErrorCode as KafkaError

from model.config_table import Scope, Value
from model.errors import InvalidValueError
from serve.asked import Call, Values
from serve.batches import RefusedError
from serve.node import Node
from serve.settings import described, group_values
from serve.topics import reconfigure, settings_of

_NONE = KafkaError.none
_TOPIC, _BROKER, _GROUP = 2, 4, 32
_SET, _DELETE = 0, 1
_DEFAULT_SOURCE, _GROUP_SOURCE, _STATIC_SOURCE = 5, 8, 4
_STRING, _BOOLEAN, _LONG = 2, 1, 5
_LONGEST_VALUE = 1000


def describe_configs(node: Node, asked: Call) -> Values:
    """Describe the settings of share groups: of the broker, of a group; topics have none."""
    return {"results": [_result(node, one) for one in asked.body.resources]}


def _result(node: Node, wanted: SimpleNamespace) -> Values:
    answer = {"resource_type": wanted.resource_type, "resource_name": wanted.resource_name}
    try:
        values, own = _values(node, wanted.resource_type, wanted.resource_name)
    except RefusedError as refused:
        return {**answer, "error_code": refused.error, "error_message": refused.why}
    keys = wanted.configuration_keys
    listed = [name for name in sorted(values) if keys is None or name in keys]
    configs = [_config(name, values[name], own.get(name, _DEFAULT_SOURCE)) for name in listed]
    return {**answer, "configs": configs}


def _values(node: Node, kind: int, name: str) -> tuple[dict[str, Value], dict[str, int]]:
    """Return settings with their values, and the source of each that is set. RefusedError."""
    options = node.cluster.options
    if kind == _TOPIC:
        if name in node.cluster.topics:
            return {}, {}
        raise RefusedError(KafkaError.unknown_topic_or_partition, "no such topic")
    if kind == _BROKER:
        if name not in ("", str(node.id)):
            raise RefusedError(KafkaError.invalid_request, f"the broker is {node.id}")
        values = described(options.broker, {}, options.profile, Scope.BROKER)
        return values, dict.fromkeys(options.broker, _STATIC_SOURCE)
    if kind == _GROUP:
        own = settings_of(node.cluster, name)
        values = described(options.broker, own, options.profile, Scope.GROUP)
        return values, dict.fromkeys(own, _GROUP_SOURCE)
    raise RefusedError(KafkaError.invalid_request, f"resources of type {kind} have no settings")


def _config(name: str, value: Value, source: int) -> Values:
    kind = {bool: _BOOLEAN, int: _LONG, str: _STRING}[type(value)]
    return {
        "name": name,
        "value": str(value).lower() if isinstance(value, bool) else str(value),
        "config_source": source,
        "config_type": kind,
    }


def incremental_alter_configs(node: Node, asked: Call) -> Values:
    """Alter the settings of groups."""
    responses = []
    for resource in asked.body.resources:
        error, why = _NONE, None
        try:
            _alter(node, resource, only_check=asked.body.validate_only)
        except RefusedError as refused:
            error, why = refused.error, refused.why
        except InvalidValueError as wrong:
            error, why = KafkaError.invalid_config, str(wrong)
        responses.append(
            {
                "error_code": error,
                "error_message": why,
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
            }
        )
    return {"responses": responses}


def _alter(node: Node, resource: SimpleNamespace, *, only_check: bool) -> None:
    group, options = resource.resource_name, node.cluster.options
    if resource.resource_type != _GROUP or not group:
        raise RefusedError(KafkaError.invalid_request, "only the settings of groups can change")
    if group not in node.cluster.settings and len(node.cluster.settings) >= options.limits.settings:
        text = f"the settings of {options.limits.settings} groups are kept"
        raise RefusedError(KafkaError.policy_violation, text)
    after = dict(node.cluster.settings.get(group, {}))
    for config in resource.configs:
        if config.config_operation == _DELETE:
            after.pop(config.name, None)
        elif config.config_operation == _SET and config.value is not None:
            after[config.name] = config.value[:_LONGEST_VALUE]
        else:
            text = f"{config.name[:100]} can be set or deleted, and is no list"
            raise RefusedError(KafkaError.invalid_config, text)
    group_values(options.broker, {**options.group, **after}, options.profile)
    if only_check:
        return
    if after:
        node.cluster.settings[group] = after
    else:
        node.cluster.settings.pop(group, None)
    reconfigure(node.cluster, group)
