"""Apache Kafka as a broker: one node of a released version."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from conformance.cores.kafka import kafka_java
from conformance.cores.process import ProcessTarget
from conformance.releases import NEWEST, check_release, is_before
from conformance.target import TargetError
from conformance.wire.admin import Admin
from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Address, Bounds, Wire
from conformance.wire.servers import HOST, free_ports
from model.config import AutoOffsetReset, SharePartitionConfig
from model.operations import AcknowledgementBatch
from model.share_messages import PartitionRequest, ShareAcknowledge, ShareFetch, TopicPartition
from report.scratch import scratch_folder

_START_SECONDS, _STOP_SECONDS, _PAUSE_S = 300, 30, 0.1
_FLAGS = "-Xms128m -Xmx512m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SWEEP_MS = 250
KRAFT = """\
process.roles=broker,controller
node.id={id}
controller.quorum.voters={voters}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners={advertised}
log.dirs={data}
auto.create.topics.enable=false
log.cleaner.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor={replicas}
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={in_sync}
share.coordinator.state.topic.num.partitions={state_partitions}
share.coordinator.state.topic.replication.factor={replicas}
share.coordinator.state.topic.min.isr={in_sync}
group.coordinator.threads=1
group.share.min.record.lock.duration.ms=1000
"""
"""The settings of a node that is both a broker and a controller, alone or with others."""

_SETTINGS = (
    "group.share.session.timeout.ms=60000",
    "group.share.record.lock.duration.ms=1000",
    "group.share.min.session.timeout.ms=1000",
    "group.share.min.heartbeat.interval.ms=500",
)
_AT_ONCE = ("group.share.min.assignment.interval.ms=0", "group.share.assignment.interval.ms=0")
_NARROW = ("group.share.delivery.count.limit=3", "group.share.partition.max.record.locks=100")
"""Settings since 4.3, and what stands before it for a group's own limits: the narrowest."""

_SINCE = "4.1.0", "since it speaks version 0 of ShareFetch alone, of early access"


@contextmanager
def kafka_broker(settings: Sequence[str] = (), version: str = NEWEST) -> Iterator[BrokerTarget]:
    """Run a broker of a release in a scratch folder, with more lines of properties.

    Raises TargetError if there is no such release that the kit can speak to, Java 17 or Maven is
    missing, Maven Central cannot be reached, or the broker does not start: then with the end of
    its standard error.
    """
    check_release(version, *_SINCE)
    java, path = kafka_java(version=version)
    settings = (*settings, *(_NARROW if is_before(version, "4.3") else _AT_ONCE))
    jar = next(Path(path.rpartition(":")[2]).parent.glob("kafka_2.13-*.jar")).stem
    with scratch_folder() as folder:
        command = f"{java} {_FLAGS} -cp '{path}' sharespec.Broker"
        with _running(command, Path(folder), settings) as address:
            target = BrokerTarget(
                str(address),
                name="Apache Kafka",
                version=jar.removeprefix("kafka_2.13-"),
                profile="kafka",
                bounds=Bounds(seconds=30),
                can={"sweep_ms": _SWEEP_MS, "throttles": True},
            )
            with closing(target):
                _warm_up(target)
                yield target


def _warm_up(target: BrokerTarget) -> None:
    """Send each request once: the first takes longer than the lock duration of sequences."""
    config = SharePartitionConfig(
        record_lock_duration_ms=1000, auto_offset_reset=AutoOffsetReset.EARLIEST
    )
    place = target.open(config, 1)
    target.produce(place, 0, [(1, 2)])
    topic_partition = TopicPartition(place.topic_id, 0)
    version = target.hello().capabilities.fetch_versions[1]
    asked = place.group, "m", 0, (PartitionRequest(topic_partition),)
    target.ask(place, ShareFetch(*asked, max_wait_ms=5000, version=version), "m")
    accept = PartitionRequest(topic_partition, (AcknowledgementBatch(0, 0, (1,)),))
    target.ask(place, ShareAcknowledge(place.group, "m", 1, (accept,), version=version), "m")
    target.describe(place, 0)
    target.delete_records(place, 0, 1)
    target.finish(place)


def write_alone(properties: Path, settings: Sequence[str]) -> int:
    """Write the settings of a node that is a cluster alone, these too; return its port."""
    port, controller = free_ports(2)
    fixed = KRAFT.format(
        id=1,
        host=HOST,
        voters=f"1@{HOST}:{controller}",
        port=port,
        controller=controller,
        advertised=f"PLAINTEXT://{HOST}:{port}",
        data=properties.with_name("data"),
        **dict.fromkeys(("replicas", "in_sync", "state_partitions"), 1),
    )
    properties.write_text(fixed + "\n".join(settings))
    return port


@contextmanager
def _running(command: str, folder: Path, settings: Sequence[str]) -> Iterator[Address]:
    """Run the broker; it ends with its standard input, even if this process is killed."""
    properties = folder / "server.properties"
    port = write_alone(properties, (*_SETTINGS, *settings))
    process = ProcessTarget(f"{command} '{properties}'")
    try:
        address = Address(HOST, port)
        _await(process, address)
        yield address
    finally:
        process.end(_STOP_SECONDS)


def _await(process: ProcessTarget, address: Address) -> None:
    """Wait until the broker answers."""
    until = time.monotonic() + _START_SECONDS
    with closing(Wire(address, Bounds(seconds=1))) as wire:
        while True:
            with suppress(TargetError):
                Admin(wire).check_alone()
                return
            if process.has_ended or time.monotonic() > until:
                what = "" if process.has_ended else ", it does not answer"
                raise process.trouble(f"Apache Kafka did not start{what}")
            time.sleep(_PAUSE_S)
