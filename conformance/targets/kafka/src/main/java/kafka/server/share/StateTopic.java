package kafka.server.share;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.NotLeaderOrFollowerException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.VerificationGuard;

/**
 * A partition of the state topic, or of the groups' topic, replicated: what its leader appends is committed after a time that is
 * drawn, and what was not committed when the leader changes may be lost, from some record on.
 */
final class StateTopic {
    private static final LogConfig CONFIG = new LogConfig(Map.of());

    private record Entry(CoordinatorRecord record, long producerId, short producerEpoch) {}

    private final Cluster cluster;
    private final TopicPartition place;
    private final Random random;
    private final CoordinatorRecordSerde serde;
    private final Consumer<CoordinatorRecord> durable;
    private final List<Entry> log = new ArrayList<>();
    private final Map<ClusterNode, List<PartitionWriter.Listener>> listeners = new HashMap<>();
    private long start;
    private long committed;
    private ClusterNode leader;
    private int epoch;

    StateTopic(Cluster cluster, TopicPartition place, Random random, CoordinatorRecordSerde serde, Consumer<CoordinatorRecord> durable) {
        this.cluster = cluster;
        this.place = place;
        this.random = random;
        this.serde = serde;
        this.durable = durable;
    }

    int epoch() {
        return epoch;
    }

    int leader() {
        return leader == null ? -1 : leader.id;
    }

    /** Another node leads, or the same one anew: a suffix that was not committed may be gone. */
    void elect(ClusterNode node) {
        long uncommitted = node == leader ? 0 : log.size() - committed;
        if (uncommitted > 0) {
            log.subList((int) committed + random.nextInt((int) uncommitted + 1), log.size()).clear();
        }
        leader = node;
        epoch++;
        commitLater();
    }

    private void commitLater() {
        long end = log.size();
        int ofEpoch = epoch;
        cluster.clock.after(1 + random.nextInt(10), leader::mayRun, () -> {
            if (epoch == ofEpoch && end > committed) {
                for (long offset = committed; offset < end; offset++) {
                    durable.accept(log.get((int) offset).record());
                }
                committed = end;
                List.copyOf(listeners.getOrDefault(leader, List.of()))
                    .forEach(listener -> listener.onHighWatermarkUpdated(place, end));
            }
        });
    }

    /** How a node writes to the partitions; one that leads no more is refused. */
    static PartitionWriter writer(ClusterNode node, List<StateTopic> states) {
        return new PartitionWriter() {
            @Override
            public void registerListener(TopicPartition partition, Listener listener) {
                states.get(partition.partition()).listeners.computeIfAbsent(node, k -> new ArrayList<>()).add(listener);
            }

            @Override
            public void deregisterListener(TopicPartition partition, Listener listener) {
                states.get(partition.partition()).listeners.getOrDefault(node, new ArrayList<>()).remove(listener);
            }

            @Override
            public LogConfig config(TopicPartition partition) {
                return CONFIG;
            }

            @Override
            public long append(TopicPartition partition, VerificationGuard guard, MemoryRecords records, short version) {
                return states.get(partition.partition()).append(node, records);
            }

            @Override
            public CompletableFuture<VerificationGuard> maybeStartTransactionVerification(TopicPartition partition,
                    String transaction, long producerId, short producerEpoch, int version) {
                throw new UnsupportedOperationException("the state topic has no transactions");
            }

            @Override
            public CompletableFuture<Void> deleteRecords(TopicPartition partition, long offset) {
                return states.get(partition.partition()).prune(node, offset);
            }
        };
    }

    private long append(ClusterNode node, MemoryRecords records) {
        if (leader != node) {
            throw new NotLeaderOrFollowerException("node " + node.id + " does not lead " + place);
        }
        for (RecordBatch batch : records.batches()) {
            for (Record record : batch) {
                log.add(new Entry(serde.deserialize(copy(record.key()), copy(record.value())),
                    batch.producerId(), batch.producerEpoch()));
            }
        }
        commitLater();
        return log.size();
    }

    private CompletableFuture<Void> prune(ClusterNode node, long offset) {
        if (leader != node || offset > committed) {
            return CompletableFuture.failedFuture(leader == node ? new OffsetOutOfRangeException("not committed")
                : new NotLeaderOrFollowerException("node " + node.id + " does not lead " + place));
        }
        start = Math.max(start, Math.min(offset + (cluster.plants.is("prunes-more") ? 1 : 0), committed));
        return CompletableFuture.completedFuture(null);
    }

    private static ByteBuffer copy(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        ByteBuffer copy = ByteBuffer.allocate(buffer.remaining());
        copy.put(buffer.duplicate());
        return copy.flip();
    }

    /** How a node reads all of it when it becomes the coordinator; in order, after a time that is drawn. */
    static CoordinatorLoader<CoordinatorRecord> loader(ClusterNode node, List<StateTopic> states) {
        return new CoordinatorLoader<>() {
            @Override
            public CompletableFuture<LoadSummary> load(TopicPartition partition,
                    CoordinatorPlayback<CoordinatorRecord> playback) {
                return states.get(partition.partition()).load(node, playback);
            }

            @Override
            public void close() { }
        };
    }

    private CompletableFuture<CoordinatorLoader.LoadSummary> load(ClusterNode node,
            CoordinatorPlayback<CoordinatorRecord> playback) {
        CompletableFuture<CoordinatorLoader.LoadSummary> loaded = new CompletableFuture<>();
        long began = cluster.clock.milliseconds();
        cluster.clock.after(1 + random.nextInt(50), node::mayRun, () -> {
            if (leader != node) {
                loaded.completeExceptionally(new NotLeaderOrFollowerException("no longer the leader"));
                return;
            }
            int known = log.size() - (cluster.plants.is("load-forgets") ? Math.min(log.size(), 9) : 0);
            for (int offset = (int) start; offset < known; offset++) {
                Entry entry = log.get(offset);
                playback.replay(offset, entry.producerId(), entry.producerEpoch(), entry.record());
            }
            if (!log.isEmpty()) {
                playback.updateLastWrittenOffset((long) log.size());
                playback.updateLastCommittedOffset(committed);
            }
            loaded.complete(new CoordinatorLoader.LoadSummary(began, cluster.clock.milliseconds(), 0, log.size(), log.size()));
        });
        return loaded;
    }
}
