package kafka.server.share;

import com.yammer.metrics.core.MetricsRegistry;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntimeMetrics;
import org.apache.kafka.coordinator.common.runtime.CoordinatorShardBuilderSupplier;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.storage.internals.log.LogConfig;

/** One GroupCoordinatorService that leads the only partition of __consumer_offsets, in one thread. */
final class GroupNode implements CoordinatorLoader<CoordinatorRecord> {
    static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();

    static final String HEARTBEAT = "share.heartbeat.interval.ms";
    static final String SESSION = "share.session.timeout.ms";

    final GroupCoordinatorService service;
    private final List<MemoryRecords> log;
    private final GroupConfigManager settings;
    private final TopicPartition partition = new TopicPartition("__consumer_offsets", 0);
    private final int epoch;
    private PartitionWriter.Listener listener;

    /** Begins to lead in an epoch: what the log has is replayed. */
    GroupNode(List<MemoryRecords> log, VirtualTimer timer, StatePersister persister, GroupCoordinatorConfig config, int epoch) {
        this.log = log;
        this.epoch = epoch;
        settings = settings(config);
        service = service(config, settings, this, Assembled.standIn(PartitionWriter.class, this::written), timer, timer, persister);
    }

    static GroupConfigManager settings(GroupCoordinatorConfig config) {
        return Assembled.create(GroupConfigManager.class, List.of(config, Map.of(
            HEARTBEAT, config.shareGroupHeartbeatIntervalMs(), SESSION, config.shareGroupSessionTimeoutMs())));
    }

    /** Kafka's own, in one thread, with a log, a clock and a persister. */
    static GroupCoordinatorService service(GroupCoordinatorConfig config, GroupConfigManager settings,
            CoordinatorLoader<CoordinatorRecord> loader, PartitionWriter writer, Timer timer, Time time, Persister persister) {
        GroupCoordinatorMetrics metrics = new GroupCoordinatorMetrics(new MetricsRegistry(), new Metrics());
        CoordinatorShardBuilderSupplier<GroupCoordinatorShard, CoordinatorRecord> shards = () -> {
            GroupCoordinatorShard.Builder shard = new GroupCoordinatorShard.Builder(config, settings);
            for (String name : List.of("withAuthorizer", "withAuthorizerPlugin")) {
                if (Assembled.has(GroupCoordinatorShard.Builder.class, name)) {
                    Assembled.call(GroupCoordinatorShard.Builder.class, shard, name, Optional.empty());
                }
            }
            return shard;
        };
        Supplier<Integer> bytes = () -> 1 << 20;
        CoordinatorRuntime<?, ?> runtime = Assembled.create(CoordinatorRuntime.class, List.of(
            "", loader, new InOrder(), writer, shards, timer, time, Duration.ofSeconds(60),
            Assembled.standIn(CoordinatorRuntimeMetrics.class, (method, given) -> null), metrics, SERDE,
            Compression.NONE, 0, OptionalInt.of(0), new AtOnce(), bytes));
        GroupCoordinatorService made = Assembled.create(GroupCoordinatorService.class, List.of(
            config, runtime, metrics, settings, persister, timer, time, Optional.empty()));
        made.startup(() -> 1);
        return made;
    }

    /** Gives a group settings of its own, as the broker does when those of the cluster's metadata change. */
    void configure(String group, Properties own) {
        settings.updateGroupConfig(group, own);
    }

    /** Loads the log, once the metadata of the cluster is known. */
    void lead() {
        service.onElection(0, epoch);
    }

    void resign() {
        service.onResignation(0, OptionalInt.of(epoch + 1));
    }

    /** Takes up new metadata as the broker does, which tells of deleted topics before or with it. */
    void update(MetadataImage image, MetadataDelta delta, Collection<TopicPartition> deleted) {
        boolean tellsBefore = !Assembled.has(GroupCoordinatorService.class, "onMetadataUpdate");
        if (tellsBefore && !deleted.isEmpty()) {
            Assembled.call(GroupCoordinatorService.class, service, "onPartitionsDeleted", List.copyOf(deleted), null);
        }
        Assembled.update(GroupCoordinatorService.class, service, image, delta);
    }

    private Object written(String method, Object[] given) {
        switch (method) {
            case "registerListener" -> listener = (PartitionWriter.Listener) given[1];
            case "deregisterListener" -> listener = null;
            case "config" -> {
                return new LogConfig(Map.of());
            }
            case "append" -> {
                for (Object each : given) {
                    if (each instanceof MemoryRecords records) {
                        return appended(records);
                    }
                }
            }
            default -> { }
        }
        return null;
    }

    private long appended(MemoryRecords records) {
        if (listener == null) {
            throw Errors.NOT_LEADER_OR_FOLLOWER.exception();
        }
        // The runtime uses its buffer again.
        ByteBuffer copy = ByteBuffer.allocate(records.sizeInBytes()).put(records.buffer().duplicate()).flip();
        log.add(MemoryRecords.readableRecords(copy));
        long end = end();
        listener.onHighWatermarkUpdated(partition, end);
        return end;
    }

    private long end() {
        long number = 0;
        for (MemoryRecords each : log) {
            for (Record ignored : each.records()) {
                number++;
            }
        }
        return number;
    }

    @Override
    public CompletableFuture<LoadSummary> load(TopicPartition tp, CoordinatorPlayback<CoordinatorRecord> playback) {
        long offset = 0;
        for (MemoryRecords records : log) {
            for (MutableRecordBatch batch : records.batches()) {
                for (Record record : batch) {
                    playback.replay(offset++, batch.producerId(), batch.producerEpoch(),
                        SERDE.deserialize(record.key(), record.value()));
                }
            }
        }
        if (offset > 0) {
            playback.updateLastWrittenOffset(offset);
            playback.updateLastCommittedOffset(offset);
        }
        return CompletableFuture.completedFuture(new LoadSummary(0, 0, 0, offset, 0));
    }

    @Override
    public void close() { }
}
