"""The nodes of a cluster are processes, which can be stopped for a while."""

import shutil
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from conformance.cluster.nodes import ClusterNode, Nodes, cluster_id
from conformance.target import TargetError


def test_no_id_of_a_cluster_is_read_as_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(bytes=b"\xf8" * 16))
    assert cluster_id() == "APj4-Pj4-Pj4-Pj4-Pj4-A"


@pytest.mark.parametrize("ends", ["resume", "kill"])
def test_how_long_a_node_was_paused_is_measured(ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [5.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    nodes, node = object.__new__(Nodes), ClusterNode("1", Path(), 0)
    process = subprocess.Popen([shutil.which("sleep") or "sleep", "60"])
    node.process, nodes.paused_ms = process, 0
    monkeypatch.setattr(nodes, "_nodes", {"1": node}, raising=False)
    monkeypatch.setattr(nodes, "_tell_guard", lambda: None)
    try:
        nodes.resume("1")
        for then in (6.0, 9.0):  # The second finds it stopped.
            now[0] = then
            nodes.pause("1")
        now[0] = 50.0  # Not when the plan has it: another fault took longer.
        getattr(nodes, ends)("1")
        nodes.resume("1")
    finally:
        process.kill()
        process.wait()
    assert nodes.paused_ms == 44_000


def test_each_node_that_runs_is_asked_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = [100.0], list[str]()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    nodes = object.__new__(Nodes)
    some = {id_: ClusterNode(id_, Path(), 0) for id_ in "12"}
    monkeypatch.setattr(nodes, "_nodes", some, raising=False)
    monkeypatch.setattr(nodes, "_touched", 0.0, raising=False)

    def ask(_question: object, id_: str) -> None:
        asked.append(id_)
        raise TargetError(f"node {id_} does not answer")

    monkeypatch.setattr(nodes, "ask", ask)
    for then in (100.0, 104.9, 105.0):
        now[0] = then
        nodes.touch()
    assert asked == ["1", "2", "1", "2"]
