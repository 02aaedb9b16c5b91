"""Messages of a driver: valid ones, and the errors for all others."""

import json
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest

from conformance.cores import protocol
from conformance.cores.protocol import decoded, encoded, hello_from
from conformance.cores.target import Capabilities
from conformance.target import TargetError
from model.errors import ErrorCode

HELLO = {"protocol": 1, "name": "x", "version": "2", "profile": "kip"}
SCHEMA = json.loads(Path(protocol.__file__).with_name("protocol.schema.json").read_text())


def test_a_message_is_a_line() -> None:
    line = encoded({"do": "hello"})
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decoded(line) == {"do": "hello"}


@pytest.mark.parametrize("line", [b"", b"nonsense", b"[1]", b"\xff", b"[" * 100_000], ids=repr)
def test_an_invalid_message_is_quoted(line: bytes) -> None:
    with pytest.raises(TargetError, match="its answer is not"):
        decoded(line)


def test_the_document_lists_every_capability_with_its_default() -> None:
    text = (Path(__file__).parents[3] / "docs" / "verify.md").read_text()
    for field in attrs.fields(Capabilities):
        default = {True: "true", False: "false", (): "none"}.get(field.default, "both")
        assert f"\n| `{field.name}` | {default} | " in text


def test_a_hello_describes_capabilities() -> None:
    can = {"acquire_modes": ["record_limit"], "renew": False, "write_errors": ["PENDING"]}
    hello = hello_from({**HELLO, "capabilities": can}, Capabilities)
    assert hello.capabilities.acquire_modes == ("record_limit",)
    assert not hello.capabilities.renew
    assert hello.capabilities.write_errors == (ErrorCode.PENDING,)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"protocol": 2}, "it speaks protocol 2, and not 1"),
        ({"name": ""}, "its hello has no name"),
        ({"version": 4}, "its hello has no version"),
        ({"profile": "best"}, "its profile is 'best', and not one of"),
        ({"capabilities": 1}, "its capabilities are not an object"),
        ({"capabilities": {"fly": True}}, "it claims 'fly'; capabilities are"),
        ({"capabilities": {"renew": 1}}, "its capability renew is 1, and not true or false"),
        ({"capabilities": {"write_errors": ["OOPS"]}}, "its capability write_errors is"),
        ({"capabilities": {"acquire_modes": "all"}}, "its capability acquire_modes is 'all'"),
        ({"capabilities": {"acquire_modes": []}}, "its capability acquire_modes is []; allowed"),
        ({"capabilities": {"acquire_modes": [[1]]}}, "its capability acquire_modes is [[1]]"),
        ({"capabilities": {"write_errors": [{}]}}, "its capability write_errors is [{}]"),
        ({"protocol": True}, "it speaks protocol True, and not 1"),
        ({"protocol": 1.0}, "it speaks protocol 1.0, and not 1"),
        ({"protocol": [[]] * 99}, "it speaks protocol [[], [], [], "),
    ],
    ids=str,
)
def test_an_invalid_hello_is_reported_in_one_line(change: dict[str, Any], text: str) -> None:
    with pytest.raises(TargetError) as error:
        hello_from({**HELLO, **change}, Capabilities)
    assert str(error.value).startswith(text)


def _valid(kind: str, message: object) -> None:
    jsonschema.validate(message, {**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{kind}"}]})


def test_any_name_is_printable() -> None:
    hello = hello_from({**HELLO, "name": "x\ud800\x1b[2J", "version": "1" * 500}, Capabilities)
    assert hello.name == "x\\ud800\\x1b[2J"
    assert len(hello.version) == 201


def test_the_schema_accepts_what_begins_and_what_fails() -> None:
    """Requests and replies of every operation are in the vectors."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    _valid("request", {"do": "hello", "protocol": 1})
    _valid("hello", HELLO)
    _valid("reply", {"error": "broken"})


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("request", {"do": "dance"}),
        ("request", {"do": "apply", "seq": 0, "operation": {"op": "dance"}, "answers": []}),
        ("hello", {**HELLO, "protocol": 2}),
        ("reply", {"result": {}}),
    ],
)
def test_the_schema_refuses_other_messages(kind: str, message: object) -> None:
    with pytest.raises(jsonschema.ValidationError):
        _valid(kind, message)
