package kafka.server.share;

import static org.mockito.Mockito.RETURNS_DEFAULTS;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.withSettings;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import kafka.server.ReplicaManager;
import org.apache.kafka.clients.consumer.internals.ShareAcquireMode;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.record.internal.FileRecords.TimestampAndOffset;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.server.share.fetch.ShareAcquiredRecords;
import org.apache.kafka.server.share.metrics.SharePartitionMetrics;
import org.apache.kafka.server.share.persister.PartitionStateBatchData;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.storage.internals.log.OffsetResultHolder;

/** A share-partition of Apache Kafka before 4.4: it asks a broker's log and the manager of groups' settings. */
final class Release implements AutoCloseable {
    final SharePartition partition;
    private final SharePartitionMetrics metrics;

    Release(String group, TopicIdPartition topicPartition, int leaderEpoch, Settings settings, VirtualTimer timer,
            ScriptedPersister persister, LogEnds log, List<DeadLetters> none) {
        ReplicaManager replicas = replicas(log);
        metrics = new SharePartitionMetrics(group, topicPartition.topic(), topicPartition.partition());
        partition = new SharePartition(group, topicPartition, leaderEpoch, settings.maxLocks,
            settings.deliveryLimit, settings.lockMs, timer, timer, persister, replicas, groups(settings),
            SharePartition.SharePartitionState.EMPTY,
            new SharePartitionManager.SharePartitionListener(
                new SharePartitionKey(group, topicPartition), replicas, new SharePartitionCache()),
            metrics);
    }

    private static ReplicaManager replicas(LogEnds log) {
        return stub(ReplicaManager.class, "fetchOffsetForTimestamp", arguments -> {
            long timestamp = (long) arguments[1];
            long offset = timestamp == ListOffsetsRequest.EARLIEST_TIMESTAMP ? log.earliest()
                : timestamp == ListOffsetsRequest.LATEST_TIMESTAMP ? log.latest() : log.resolved();
            return new OffsetResultHolder(new TimestampAndOffset(timestamp, offset, Optional.empty()));
        });
    }

    private static GroupConfigManager groups(Settings settings) {
        Map<String, Answers> values = Map.of(
            "shareRecordLockDurationMs", none -> settings.lockMs,
            "shareDeliveryCountLimit", none -> settings.deliveryLimit,
            "sharePartitionMaxRecordLocks", none -> settings.maxLocks,
            "shareAutoOffsetReset", none -> settings.autoOffsetReset("g"),
            "shareRenewAcknowledgeEnable", none -> settings.isRenewAcknowledgeEnabled("g"),
            "shareIsolationLevel", none -> settings.isolation == FetchIsolation.TXN_COMMITTED
                ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED);
        GroupConfig group = mock(GroupConfig.class, withSettings().stubOnly().defaultAnswer(call ->
            values.getOrDefault(call.getMethod().getName(), none -> RETURNS_DEFAULTS.answer(call))
                .to(call.getArguments())));
        return stub(GroupConfigManager.class, "groupConfig", none -> Optional.of(group));
    }

    /** What a stub answers to a method. */
    private interface Answers {
        Object to(Object[] arguments) throws Throwable;
    }

    private static <T> T stub(Class<T> type, String method, Answers answer) {
        return mock(type, withSettings().stubOnly().defaultAnswer(call ->
            call.getMethod().getName().equals(method) ? answer.to(call.getArguments()) : RETURNS_DEFAULTS.answer(call)));
    }

    static void tellCapabilities(ObjectNode capabilities) {
        capabilities.put("renew", true).put("alter_config", true).put("dead_letter_queue", false)
            .put("aborted_transactions", true);
    }

    ShareAcquiredRecords acquire(JsonNode operation, long fetchOffset, FetchPartitionData data,
                                 FetchIsolation isolation) {
        return partition.acquire(operation.get("member").asText(),
            ShareAcquireMode.of(operation.get("acquire_mode").asText()), operation.get("batch_size").asInt(),
            operation.get("max_fetch_records").asInt(), fetchOffset, data, isolation);
    }

    int deliveryCompleteCount(int counted) {
        return partition.deliveryCompleteCount();
    }

    static Integer deliveryCompleteCount(PartitionStateBatchData write) {
        return write.deliveryCompleteCount();
    }

    @Override
    public void close() throws Exception {
        metrics.close();
    }

    /** What a release keeps to itself: a field, or what a method without arguments returns. */
    static Object hidden(Object owner, String name) {
        try {
            for (Method method : owner.getClass().getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == 0) {
                    method.setAccessible(true);
                    return method.invoke(owner);
                }
            }
            Field field = owner.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(owner);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    record DeadLetters(long first, long last, CompletableFuture<Void> future) { }

    record LogEnds(long earliest, long latest, long resolved) { }
}
