from pathlib import Path

from click.testing import CliRunner

from conformance.wire.messages import Message
from serve.node import Options
from serve.running import EARLIEST
from sharespec.cli import cli
from tests.serve.served import client_of, part


def lived(trace: Path, **how: Message) -> None:
    """Let a group live through much of what can happen to it, and trace it."""
    with client_of(Options(group={**EARLIEST}), trace=trace, **how) as client:
        topic = client.join(3, 2)
        client.fetch(0, part(topic))
        client.acknowledge(1, part(topic, (0, 1, 1), (2, 3, 2), (4, 4, 3)))
        client.fill("t", 4)
        client.fetch(2, max_wait_ms=10)
        client.acknowledge(3, part(topic, (2, 2, 9)))
        client.fetch(0, part(topic), member="n", connection="n")
        client.wire.disconnect("n")
        client.admin.delete_records("t", 0, 3)
        client.acknowledge(-1, part(topic, (3, 3, 2)))
        client.fill("t", 2)
        client.fetch(0, part(topic))
        client.acknowledge(-1)
        client.beat(-1)
        client.admin.alter_offset("g", "t", 0, 4)
        client.beat(0, ["t"])
        client.fetch(0, part(topic))
        client.acknowledge(-1)
        client.beat(-1)
        client.admin.delete_group("g")
        client.beat(0, ["t"])
        client.fetch(0, part(topic))


def judged(trace: Path) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["replay", str(trace), "--against", "impl"])
    return result.exit_code, result.output


def test_what_was_served_conforms(tmp_path: Path) -> None:
    lived(tmp_path / "t.jsonl")
    status, output = judged(tmp_path / "t.jsonl")
    assert status == 0, output
    assert "2 conform" in output
    assert "g:t:0" in output
    assert "g:t:0~1" in output
