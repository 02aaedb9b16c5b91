package org.apache.kafka.coordinator.share;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.message.DeleteShareGroupStateRequestData;
import org.apache.kafka.common.message.DeleteShareGroupStateResponseData;
import org.apache.kafka.common.message.InitializeShareGroupStateRequestData;
import org.apache.kafka.common.message.InitializeShareGroupStateResponseData;
import org.apache.kafka.common.message.ReadShareGroupStateRequestData;
import org.apache.kafka.common.message.ReadShareGroupStateResponseData;
import org.apache.kafka.common.message.ReadShareGroupStateSummaryRequestData;
import org.apache.kafka.common.message.ReadShareGroupStateSummaryResponseData;
import org.apache.kafka.common.message.WriteShareGroupStateRequestData;
import org.apache.kafka.common.message.WriteShareGroupStateResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.share.generated.ShareSnapshotKey;
import org.apache.kafka.coordinator.share.metrics.ShareCoordinatorMetrics;
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.server.share.fetch.RecordState;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.junit.jupiter.api.Test;

    private static final SharePartitionKey KEY = key("g", 1, 0);

    /** The topics that exist, and how many partitions each has. */
    private final Map<Uuid, Integer> topics = new HashMap<>(Map.of(topicId(1), 2, topicId(2), 3));

    /** The state topic, and the offset of its first record. */
    private final List<CoordinatorRecord> log = new ArrayList<>();

    private long logStartOffset;

    /** The records of the last request. */
    private List<CoordinatorRecord> records = List.of();

    private long nowMs;

    private ShareCoordinatorConfig config;

    private ShareCoordinatorShard shard;

    /** Begins with an empty state topic; a share-partition is idle after so many ms. */
    private void open(int updatesPerSnapshot, int idleMs) {
        config = new ShareCoordinatorConfig(new AbstractConfig(ShareCoordinatorConfig.CONFIG_DEF, Map.of(
            "share.coordinator.snapshot.update.records.per.snapshot", updatesPerSnapshot,
            "share.coordinator.cold.partition.snapshot.interval.ms", idleMs), false));
        failOver();
    }

    /** Another coordinator replays the state topic. */
    private void failOver() {
        Time time = mock(Time.class);
        when(time.milliseconds()).thenAnswer(call -> nowMs);
        when(time.hiResClockMs()).thenAnswer(call -> nowMs);
        shard = new ShareCoordinatorShard.Builder(config).withSnapshotRegistry(new SnapshotRegistry(new LogContext()))
            .withCoordinatorMetrics(new ShareCoordinatorMetrics()).withTime(time)
            .withTopicPartition(new TopicPartition("__share_group_state", 0)).build();
        for (int i = 0; i < log.size(); i++) {
            shard.replay(logStartOffset + i, -1, (short) -1, log.get(i));
        }
        CoordinatorMetadataImage image = mock(CoordinatorMetadataImage.class);
        when(image.topicMetadata(any(Uuid.class))).thenAnswer(call -> {
            CoordinatorMetadataImage.TopicMetadata topic = mock(CoordinatorMetadataImage.TopicMetadata.class);
            Optional<Integer> count = Optional.ofNullable(topics.get(call.<Uuid>getArgument(0)));
            count.ifPresent(number -> when(topic.partitionCount()).thenReturn(number));
            return count.map(number -> topic);
        });
        shard.onLoaded(image);
    }

    private InitializeShareGroupStateResponseData.PartitionResult initialize(
        SharePartitionKey key, int stateEpoch, long startOffset
    ) {
        return applied(shard.initializeState(new InitializeShareGroupStateRequestData().setGroupId(key.groupId())
            .setTopics(List.of(new InitializeShareGroupStateRequestData.InitializeStateData().setTopicId(key.topicId())
                .setPartitions(List.of(new InitializeShareGroupStateRequestData.PartitionData()
                    .setPartition(key.partition()).setStateEpoch(stateEpoch).setStartOffset(startOffset)))))))
            .results().get(0).partitions().get(0);
    }

    private ReadShareGroupStateResponseData.PartitionResult read(SharePartitionKey key, int leaderEpoch) {
        return applied(shard.readStateAndMaybeUpdateLeaderEpoch(new ReadShareGroupStateRequestData()
            .setGroupId(key.groupId()).setTopics(List.of(new ReadShareGroupStateRequestData.ReadStateData()
                .setTopicId(key.topicId()).setPartitions(List.of(new ReadShareGroupStateRequestData.PartitionData()
                    .setPartition(key.partition()).setLeaderEpoch(leaderEpoch)))))))
            .results().get(0).partitions().get(0);
    }

    private WriteShareGroupStateResponseData.PartitionResult write(
        SharePartitionKey key, int stateEpoch, int leaderEpoch, long startOffset, int deliveryCompleteCount,
        WriteShareGroupStateRequestData.StateBatch... batches
    ) {
        return applied(shard.writeState(new WriteShareGroupStateRequestData().setGroupId(key.groupId())
            .setTopics(List.of(new WriteShareGroupStateRequestData.WriteStateData().setTopicId(key.topicId())
                .setPartitions(List.of(new WriteShareGroupStateRequestData.PartitionData()
                    .setPartition(key.partition()).setStateEpoch(stateEpoch).setLeaderEpoch(leaderEpoch)
                    .setStartOffset(startOffset).setDeliveryCompleteCount(deliveryCompleteCount)
                    .setStateBatches(List.of(batches))))))))
            .results().get(0).partitions().get(0);
    }

    private static WriteShareGroupStateRequestData.StateBatch batch(
        long firstOffset, long lastOffset, RecordState state, int deliveryCount
    ) {
        return new WriteShareGroupStateRequestData.StateBatch().setFirstOffset(firstOffset).setLastOffset(lastOffset)
            .setDeliveryState(state.id()).setDeliveryCount((short) deliveryCount);
    }

    private ReadShareGroupStateSummaryResponseData.PartitionResult readSummary(SharePartitionKey key, int leaderEpoch) {
        return applied(shard.readStateSummary(new ReadShareGroupStateSummaryRequestData().setGroupId(key.groupId())
            .setTopics(List.of(new ReadShareGroupStateSummaryRequestData.ReadStateSummaryData()
                .setTopicId(key.topicId()).setPartitions(List.of(
                    new ReadShareGroupStateSummaryRequestData.PartitionData().setPartition(key.partition())
                        .setLeaderEpoch(leaderEpoch)))))))
            .results().get(0).partitions().get(0);
    }

    private DeleteShareGroupStateResponseData.PartitionResult delete(SharePartitionKey key) {
        return applied(shard.deleteState(new DeleteShareGroupStateRequestData().setGroupId(key.groupId())
            .setTopics(List.of(new DeleteShareGroupStateRequestData.DeleteStateData().setTopicId(key.topicId())
                .setPartitions(List.of(new DeleteShareGroupStateRequestData.PartitionData()
                    .setPartition(key.partition())))))))
            .results().get(0).partitions().get(0);
    }

    private void deleteTopic(int topic) {
        topics.remove(topicId(topic));
        applied(shard.maybeCleanupShareState(Set.of(topicId(topic))));
    }

    /** Lets the timer run that writes snapshots of idle share-partitions. */
    private void takeSnapshots() {
        applied(shard.snapshotColdPartitions());
    }

    /** Deletes the records that are redundant; returns the offset of the first one that is left. */
    private long pruneTopic() {
        long first = shard.lastRedundantOffset().response().orElse(logStartOffset);
        log.subList(0, (int) Math.max(0, first - logStartOffset)).clear();
        logStartOffset = Math.max(first, logStartOffset);
        return logStartOffset;
    }

    private static SharePartitionKey key(String group, int topic, int partition) {
        return SharePartitionKey.getInstance(group, topicId(topic), partition);
    }

    private static Uuid topicId(int topic) {
        return new Uuid(1, topic);
    }

    /** What the shard holds of a share-partition, which is what the state topic has. */
    private ShareGroupOffset held(SharePartitionKey key) {
        return shard.getShareStateMapValue(key);
    }

    /** The state and the delivery count of a record, as in "ACKNOWLEDGED(1)". */
    private static String stateOf(long offset, Stream<PersisterStateBatch> batches) {
        return batches.filter(batch -> batch.firstOffset() <= offset && offset <= batch.lastOffset()).findFirst()
            .map(batch -> RecordState.forId(batch.deliveryState()) + "(" + batch.deliveryCount() + ")")
            .orElse("without a state");
    }

    /** The kind of the record that the last request appended. */
    private String appended() {
        return records.stream().findFirst().map(record -> record.value() == null ? "a tombstone"
            : record.key() instanceof ShareSnapshotKey ? "a snapshot" : "an update").orElse("no record");
    }

    /** As the runtime does: the shard replays what it appends. */
    private <T> T applied(CoordinatorResult<T, CoordinatorRecord> result) {
        records = result.records();
        records.forEach(record -> {
            shard.replay(logStartOffset + log.size(), -1, (short) -1, record);
            log.add(record);
        });
        return result.response();
    }
