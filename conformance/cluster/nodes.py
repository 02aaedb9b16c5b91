"""Three nodes of Apache Kafka on this machine, in KRaft mode, with recorder and request log.

Whatever becomes of this process, they end: each with its input, and those that are stopped by a
guard, which also removes their folder.
"""

import os
import shutil
import signal
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TypeVar

import attrs

from conformance.cluster.fault_plan import NODES, STATE_PARTITIONS
from conformance.cluster.links import CLIENT, Links, has_socket
from conformance.cores.kafka import kafka_java, recorder_jar
from conformance.target import TargetError
from conformance.wire.admin import Admin
from conformance.wire.connection import Address, Bounds, Wire
from conformance.wire.kafka_broker import KRAFT
from conformance.wire.servers import HOST, free_ports

CONTROLLER = "/controller"
"""What follows the id of a node in the target of a link to its controller."""

LOG, TRACE = "kafka-request.log", "trace"
"""What a node says, its requests among it, and the folder of its recorder's files."""

T = TypeVar("T")
_START_SECONDS, _PAUSE_S, _TAIL_BYTES, _ANSWER_SECONDS, _TOUCH_S = 300, 0.2, 2000, 5, 5
_FLAGS = (
    *("-Xms64m", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    *("-Djava.net.preferIPv4Stack=true", "-Duser.timezone=UTC"),
    "-Dorg.slf4j.simpleLogger.log.kafka.request.logger=debug",
    "-Dorg.slf4j.simpleLogger.log.kafka.server.share.SharePartitionManager=debug",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
)
_SETTINGS = """\
auto.leader.rebalance.enable=false
broker.session.timeout.ms=6000
default.replication.factor=3
min.insync.replicas=2
replica.lag.time.max.ms=10000
num.network.threads=2
num.io.threads=4
share.coordinator.state.topic.prune.interval.ms=86400000
group.share.min.assignment.interval.ms=0
group.share.assignment.interval.ms=0
group.share.min.session.timeout.ms=6000
group.share.session.timeout.ms=6000
group.share.min.heartbeat.interval.ms=1000
group.share.heartbeat.interval.ms=1000
group.share.min.partition.max.record.locks=100
"""
_GUARD = (
    'while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -KILL $pids 2>/dev/null; '
    'rm -rf "$0" || { sleep 1; rm -rf "$0"; }'
)
"""Waits for the end of its input, kills the processes of its last line, removes the folder."""


@attrs.define
class ClusterNode:
    """A node: its folder, its port, and its process, if it runs."""

    id: str
    folder: Path
    port: int
    process: "subprocess.Popen[bytes] | None" = None
    paused_at: float | None = None


def cluster_id() -> str:
    """Return an id for a cluster; kafka-storage would read a dash at its start as an option."""
    return urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).decode().rstrip("=")


class Nodes:
    """The nodes of a cluster, and the links between them. All errors are TargetError."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        """Start them in a folder, which is removed at the end, with these settings besides."""
        self._java, self._path = kafka_java()
        self._agent = recorder_jar()
        self._cluster = cluster_id()
        self._folder = folder
        self._guard = subprocess.Popen(  # noqa: S603 - fixed arguments
            [shutil.which("sh") or "/bin/sh", "-c", _GUARD, str(folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self.links = Links(self._node_of)
        self.paused_ms = 0
        self._touched = 0.0
        ports = free_ports(2 * len(NODES))
        self._nodes = {
            id_: ClusterNode(id_, folder / f"node-{id_}", port)
            for id_, port in zip(NODES, ports, strict=False)
        }
        controllers = dict(zip(NODES, ports[len(NODES) :], strict=True))
        self._proxies = {id_: self.links.listen(id_, self._nodes[id_].port) for id_ in NODES}
        voters = {id_: self.links.listen(id_ + CONTROLLER, controllers[id_]) for id_ in NODES}
        for node in self._nodes.values():
            proxies = {"PLAINTEXT": self._proxies[node.id], "CONTROLLER": voters[node.id]}
            text = KRAFT.format(
                id=node.id,
                host=HOST,
                voters=",".join(f"{id_}@{HOST}:{port}" for id_, port in voters.items()),
                port=node.port,
                controller=controllers[node.id],
                advertised=",".join(f"{name}://{HOST}:{port}" for name, port in proxies.items()),
                data=node.folder / "data",
                replicas=len(NODES),
                in_sync=2,
                state_partitions=STATE_PARTITIONS,
            )
            node.folder.mkdir(parents=True)
            more = "".join(f"{name}={value}\n" for name, value in settings.items())
            (node.folder / "server.properties").write_text(text + _SETTINGS + more)

    @property
    def bootstrap(self) -> str:
        """Return the addresses for clients: those of the proxies."""
        return ",".join(f"{HOST}:{port}" for port in self._proxies.values())

    def start(self, id_: str) -> None:
        """Start a node, or start it again; it need not be ready yet."""
        node = self._nodes[id_]
        trace = f"-javaagent:{self._agent}=dir={node.folder / TRACE},min_free=0"
        main = ("sharespec.Broker", str(node.folder / "server.properties"), self._cluster)
        with (node.folder / LOG).open("ab") as log:
            node.process = subprocess.Popen(  # noqa: S603 - fixed arguments
                [self._java, trace, *_FLAGS, "-cp", self._path, *main],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self._tell_guard()

    def await_all(self) -> None:
        """Wait until every node knows all; one that does not start is named, with its log's end."""
        until = time.monotonic() + _START_SECONDS
        for node in self._nodes.values():
            while not self._answers(node):
                ended = node.process.poll() if node.process else None
                if ended is not None or time.monotonic() > until:
                    what = "it does not answer" if ended is None else f"exit status {ended}"
                    end = self.log_end(node.id)
                    raise TargetError(f"node {node.id} did not start, {what}; its log ends: {end}")
                time.sleep(_PAUSE_S)

    def log_end(self, id_: str) -> str:
        """Return the end of what a node said."""
        data = (self._nodes[id_].folder / LOG).read_bytes()[-_TAIL_BYTES:]
        return data.decode(errors="replace").strip()

    def ask(self, question: Callable[[Admin], T], id_: str | None = None) -> T:
        """Ask a node, or the first that answers."""
        refused = TargetError("no node runs")
        for node in self._nodes.values():
            if id_ not in (None, node.id) or node.process is None or node.paused_at:
                continue
            with ExitStack() as stack:
                wire = Wire(Address(HOST, node.port), Bounds(seconds=_ANSWER_SECONDS))
                admin = Admin(stack.enter_context(closing(wire)))
                try:
                    admin.check_cluster(1)
                    return question(admin)
                except TargetError as error:
                    refused = error
        raise refused

    def touch(self) -> None:
        """Ask each node that runs, now and then: a log without a line may have lost some."""
        if time.monotonic() < self._touched + _TOUCH_S:
            return
        for node in self._nodes.values():
            with suppress(TargetError):
                self.ask(lambda _admin: None, node.id)
        self._touched = time.monotonic()

    def pause(self, id_: str) -> None:
        """Stop a node as it is."""
        self._signal(id_, signal.SIGSTOP)
        node = self._nodes[id_]
        node.paused_at = node.paused_at or time.monotonic()

    def resume(self, id_: str) -> None:
        """Let a node go on."""
        self._signal(id_, signal.SIGCONT)
        self._note_resumed(self._nodes[id_])

    def kill(self, id_: str) -> None:
        """End a node as a crash does."""
        node = self._nodes[id_]
        if node.process is not None:
            node.process.kill()
            node.process.communicate()
            node.process = None
            self._note_resumed(node)
            self._tell_guard()

    def is_down(self, id_: str) -> bool:
        """Return whether a node does not run."""
        process = self._nodes[id_].process
        return process is None or process.poll() is not None

    def end_recordings(self) -> None:
        """Let the recorders end their files."""
        for node in self._nodes.values():
            with suppress(OSError):
                (node.folder / TRACE / "off").touch()

    def stop(self) -> None:
        """End all nodes; what they wrote stays. Never raises."""
        for id_ in NODES:
            self.kill(id_)

    def close(self) -> None:
        """End all nodes, the links and the guard, which removes the folder. Never raises."""
        self.stop()
        self.links.close()
        self._guard.communicate()

    def _note_resumed(self, node: ClusterNode) -> None:
        if node.paused_at is not None:
            self.paused_ms += round((time.monotonic() - node.paused_at) * 1000)
            node.paused_at = None

    def _signal(self, id_: str, number: signal.Signals) -> None:
        process = self._nodes[id_].process
        if process is not None and process.poll() is None:
            process.send_signal(number)

    def _answers(self, node: ClusterNode) -> bool:
        with suppress(TargetError):
            self.ask(lambda admin: admin.check_cluster(len(NODES)), node.id)
            return True
        return False

    def _tell_guard(self) -> None:
        running = [str(n.process.pid) for n in self._nodes.values() if n.process is not None]
        assert self._guard.stdin is not None  # noqa: S101 - opened above
        with suppress(OSError):
            os.write(self._guard.stdin.fileno(), f"{' '.join(running)}\n".encode())

    def _node_of(self, inode: str) -> str:
        for node in self._nodes.values():
            if node.process is not None and has_socket(node.process.pid, inode):
                return node.id
        return CLIENT
