package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.consumer.internals.ShareAcquireMode;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.partition.PartitionListener;
import org.apache.kafka.server.share.PartitionMetadataProvider;
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.server.share.dlq.ShareGroupDLQManager;
import org.apache.kafka.server.share.dlq.ShareGroupDLQRecordParameter;
import org.apache.kafka.server.share.fetch.ShareAcquiredRecords;
import org.apache.kafka.server.share.metrics.SharePartitionMetrics;
import org.apache.kafka.server.share.persister.PartitionStateBatchData;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;

/** A share-partition; {@code older/Release.java} makes that of an older release, which does some of it otherwise. */
final class Release implements AutoCloseable {
    final SharePartition partition;
    private final SharePartitionMetrics metrics;

    Release(String group, TopicIdPartition topicPartition, int leaderEpoch, Settings settings, VirtualTimer timer,
            ScriptedPersister persister, LogEnds log, List<DeadLetters> deadLetters) {
        ShareGroupDLQManager deadLetterQueue = new ShareGroupDLQManager() {
            @Override
            public CompletableFuture<Void> enqueue(ShareGroupDLQRecordParameter records) {
                CompletableFuture<Void> future = new CompletableFuture<>();
                deadLetters.add(new DeadLetters(records.firstOffset(), records.lastOffset(), future));
                return future;
            }

            @Override
            public void stop() {
                deadLetters.clear();
            }
        };
        metrics = new SharePartitionMetrics(group, topicPartition.topic(), topicPartition.partition());
        partition = new SharePartition(group, topicPartition, leaderEpoch, settings.maxLocks,
            settings.deliveryLimit, settings.lockMs, timer, timer, persister, log, key -> { }, settings,
            SharePartition.SharePartitionState.EMPTY,
            new SharePartitionManager.SharePartitionListener(
                new SharePartitionKey(group, topicPartition), log, key -> { }, new SharePartitionCache()),
            metrics, () -> true, deadLetterQueue);
    }

    static void tellCapabilities(ObjectNode capabilities) {
        capabilities.put("renew", true).put("alter_config", true).put("dead_letter_queue", true)
            .put("aborted_transactions", true);
    }

    ShareAcquiredRecords acquire(JsonNode operation, long fetchOffset, FetchPartitionData data,
                                 FetchIsolation isolation) {
        return partition.acquire(operation.get("member").asText(),
            ShareAcquireMode.of(operation.get("acquire_mode").asText()), operation.get("batch_size").asInt(),
            operation.get("max_fetch_records").asInt(), fetchOffset, data, isolation);
    }

    /** How many records in flight are done with; {@code counted} of them are, as their states say. */
    int deliveryCompleteCount(int counted) {
        return partition.deliveryCompleteCount();
    }

    static Integer deliveryCompleteCount(PartitionStateBatchData write) {
        return write.deliveryCompleteCount();
    }

    @Override
    public void close() throws Exception {
        partition.close();
        metrics.close();
    }

    /** A range that the dead-letter queue was given. */
    record DeadLetters(long first, long last, CompletableFuture<Void> future) { }

    /** Where the log begins and ends, for a share-partition that has no start offset. */
    record LogEnds(long earliest, long latest, long resolved) implements PartitionMetadataProvider {
        @Override
        public long offsetForEarliestTimestamp(TopicIdPartition partition, int epoch) {
            return earliest;
        }

        @Override
        public long offsetForLatestTimestamp(TopicIdPartition partition, int epoch) {
            return latest;
        }

        @Override
        public long offsetForTimestamp(TopicIdPartition partition, long timestamp, int epoch) {
            return resolved;
        }

        @Override
        public LogOffsetMetadata endOffsetMetadata(TopicIdPartition partition, FetchIsolation isolation) {
            return new LogOffsetMetadata(latest);
        }

        @Override
        public int leaderEpoch(TopicIdPartition partition) {
            return 0;
        }

        @Override
        public boolean addPartitionListener(TopicIdPartition partition, PartitionListener listener) {
            return true;
        }

        @Override
        public void removePartitionListener(TopicIdPartition partition, PartitionListener listener) { }
    }
}
