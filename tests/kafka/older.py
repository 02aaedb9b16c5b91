"""``python -m tests.kafka.older 4.2.1``: the tests of faults for an older Apache Kafka.

Imports and the arguments of constructors differ; the steps and what is asserted do not.
"""

import re
import shutil
import sys
from pathlib import Path

PROJECT = Path(__file__).parent
_PARTITION = "org.apache.kafka.server.share"
_REGISTER = """new BrokerTopicStats());
        when(replicas.getPartitionOrException(PARTITION.topicPartition())).thenReturn(led);
        when(led.isLeader()).thenReturn(true);"""
_IMAGE = """var delta = new org.apache.kafka.image.MetadataDelta.Builder()
            .setImage(org.apache.kafka.image.MetadataImage.EMPTY).build();
        delta.replay(new org.apache.kafka.common.metadata.TopicRecord()
            .setName("topic").setTopicId(TOPIC));
        delta.replay(new org.apache.kafka.common.metadata.PartitionRecord()
            .setTopicId(TOPIC).setPartitionId(0).setReplicas(List.of(0)).setIsr(List.of(0))
            .setLeader(0).setDirectories(List.of(Uuid.ZERO_UUID)));
        var provenance = org.apache.kafka.image.MetadataProvenance.EMPTY;
        shard.onNewMetadataImage(delta.apply(provenance), delta);"""

_BEFORE_4_4 = {
    r"utils\.internals\.LogContext": "utils.LogContext",
    rf"import {_PARTITION}\.(PartitionMetadataProvider|LogReader|dlq\.\w+);\n": "",
    r"group\.modern\.share\.ShareGroupConfigProvider": "group.GroupConfigManager",
    r"ShareGroupConfigProvider config = .*\n(\s*when\(config.*\n)+": (
        "GroupConfigManager config = mock(GroupConfigManager.class);\n"
    ),
    r"mock\(PartitionMetadataProvider\.class\), key -> \{ \}, config": (
        "mock(kafka.server.ReplicaManager.class), config"
    ),
    r"PartitionListener\.class\), \(\) -> false, new \w+\(\)\)": "PartitionListener.class))",
    r"private final PartitionMetadataProvider .*": (
        "private final ReplicaManager replicas = mock(ReplicaManager.class);\n"
        "    private final kafka.cluster.Partition led = mock(kafka.cluster.Partition.class);"
    ),
    r"metadata\.leaderEpoch\(PARTITION\)": "led.getLeaderEpoch()",
    r"mock\(ReplicaManager\.class\), mock\(LogReader.*": "replicas,",
    r"new BrokerTopicStats\(\), .*": _REGISTER,
    r"mock\(ShareFetchMetricsManager\.class\), Time": "Time",
}
_BEFORE_4_3 = {
    r"common\.record\.internal\.": "common.record.",
    r"scheduleWriteOperation\(any\(\)": "scheduleWriteOperation(any(), any()",
    r"call\.getArgument\(2\)": "call.getArgument(3)",
    r"mock\(PartitionWriter\.class\)": "mock(PartitionWriter.class), () -> true",
}
_BEFORE_4_2 = {
    r"org\.apache\.kafka\.server\.partition\.PartitionListener": "kafka.cluster.PartitionListener",
    r"import .*\.(ShareAcquireMode|CoordinatorMetadataImage);\n": "",
    r"ShareAcquireMode\.BATCH_OPTIMIZED(\.id\(\))?, ": "",
    r"0, leaderEpoch, 0, 0,": "0, leaderEpoch, 0,",
    r"(?s)    /\*\* The control that puts the start.*?\n    }\n\n": "",
    r"(?s)CoordinatorMetadataImage\.TopicMetadata topic.*?shard\.onLoaded\(image\);": _IMAGE,
}
"""Patterns with what stands for them before each version."""


def main(version: str) -> Path:
    """Write the tests for a version of Apache Kafka, and return their folder."""
    folder = Path("out", f"kafka-{version}")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PROJECT / "src", folder / "src")
    pom = (PROJECT / "pom.xml").read_text()
    (folder / "pom.xml").write_text(
        pom.replace("<kafka.version>4.4.0", f"<kafka.version>{version}")
    )
    minor = int(version.split(".")[1])
    changes = {4: _BEFORE_4_4, 3: _BEFORE_4_3, 2: _BEFORE_4_2}
    for path in folder.rglob("*.java"):
        text = path.read_text()
        for _, patterns in filter(lambda change: minor < change[0], changes.items()):
            for pattern, new in patterns.items():
                text = re.sub(pattern, new, text)
        path.write_text(text)
        if minor < 2 and "Renewal" in path.name:
            path.unlink()
    return folder


if __name__ == "__main__":
    main(*sys.argv[1:])
