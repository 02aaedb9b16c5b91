package org.apache.kafka.coordinator.share;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.message.InitializeShareGroupStateRequestData;
import org.apache.kafka.common.message.ReadShareGroupStateRequestData;
import org.apache.kafka.common.message.WriteShareGroupStateRequestData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.share.metrics.ShareCoordinatorMetrics;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * One request has the writes of two leader epochs of a share-partition, as PersisterStateManager sends them.
 * The last answer stands for both: what the old leader's members acknowledged is confirmed and not saved,
 * or what the new leader's members acknowledged is saved and refused.
 */
public class ShareCoordinatorServiceMergedWritesTest {
    private static final String GROUP = "group";
    private static final Uuid TOPIC = Uuid.randomUuid();

    private ShareCoordinatorShard shard;
    private ShareCoordinatorService service;

    @Test
    public void testFencedWriteIsNotAnsweredByWriteOfNextLeader() {
        List<Errors> answers = write(byLeader(4, 0, 9), byLeader(5, 10, 19));
        assertTrue(durable().contains("0-9") || !answers.equals(List.of(Errors.NONE)),
            "0-9 is not durable, and the answers are " + answers + ";");
    }

    @Test
    public void testDurableWriteIsNotAnsweredByWriteOfFormerLeader() {
        List<Errors> answers = write(byLeader(5, 10, 19), byLeader(4, 0, 9));
        assertTrue(answers.contains(Errors.NONE) || !durable().contains("10-19"),
            "10-19 is durable, and the answers are " + answers + ";");
    }

    /** The control, each write in a request of its own: passes. */
    @Test
    public void testControlWithTwoRequests() {
        assertEquals(List.of(Errors.FENCED_LEADER_EPOCH), write(byLeader(4, 0, 9)));
        assertEquals(List.of(Errors.NONE), write(byLeader(5, 10, 19)));
        assertEquals(List.of("10-19"), durable());
    }

    /** A coordinator whose runtime calls Kafka's own shard at once, where leader epoch 5 has read the state. */
    @BeforeEach
    @SuppressWarnings("unchecked")
    public void setUp() {
        ShareCoordinatorConfig config = new ShareCoordinatorConfig(
            new AbstractConfig(ShareCoordinatorConfig.CONFIG_DEF, Map.of(), false));
        ShareCoordinatorMetrics metrics = new ShareCoordinatorMetrics();
        shard = (ShareCoordinatorShard) new ShareCoordinatorShard.Builder(config)
            .withSnapshotRegistry(new SnapshotRegistry(new LogContext())).withCoordinatorMetrics(metrics)
            .withTopicPartition(new TopicPartition("__share_group_state", 0)).withTime(Time.SYSTEM).build();
        CoordinatorMetadataImage.TopicMetadata topic = mock(CoordinatorMetadataImage.TopicMetadata.class);
        when(topic.partitionCount()).thenReturn(1);
        CoordinatorMetadataImage image = mock(CoordinatorMetadataImage.class);
        when(image.topicMetadata(TOPIC)).thenReturn(Optional.of(topic));
        shard.onLoaded(image);
        CoordinatorRuntime<ShareCoordinatorShard, CoordinatorRecord> runtime = mock(CoordinatorRuntime.class);
        when(runtime.scheduleWriteOperation(any(), any(), any())).thenAnswer(call -> CompletableFuture.completedFuture(
            applied(((CoordinatorRuntime.CoordinatorWriteOperation<ShareCoordinatorShard, ?, CoordinatorRecord>)
                call.getArgument(2)).generateRecordsAndResult(shard))));
        service = new ShareCoordinatorService(new LogContext(), config, runtime, metrics, Time.SYSTEM,
            mock(Timer.class), mock(PartitionWriter.class));
        service.startup(() -> 1);
        applied(shard.initializeState(new InitializeShareGroupStateRequestData().setGroupId(GROUP).setTopics(List.of(
            new InitializeShareGroupStateRequestData.InitializeStateData().setTopicId(TOPIC).setPartitions(List.of(
                new InitializeShareGroupStateRequestData.PartitionData().setStateEpoch(0).setStartOffset(0)))))));
        durable();
    }

    private List<Errors> write(WriteShareGroupStateRequestData.PartitionData... writes) {
        return service.writeState(null, new WriteShareGroupStateRequestData().setGroupId(GROUP).setTopics(List.of(
                new WriteShareGroupStateRequestData.WriteStateData().setTopicId(TOPIC).setPartitions(List.of(writes)))))
            .join().results().stream().flatMap(topic -> topic.partitions().stream())
            .map(partition -> Errors.forCode(partition.errorCode())).toList();
    }

    private static WriteShareGroupStateRequestData.PartitionData byLeader(int leaderEpoch, long first, long last) {
        return new WriteShareGroupStateRequestData.PartitionData().setPartition(0).setStateEpoch(0)
            .setLeaderEpoch(leaderEpoch).setStartOffset(0).setStateBatches(List.of(
                new WriteShareGroupStateRequestData.StateBatch().setFirstOffset(first).setLastOffset(last)
                    .setDeliveryState((byte) 2).setDeliveryCount((short) 1)));
    }

    /** What leader epoch 5 reads. */
    private List<String> durable() {
        return applied(shard.readStateAndMaybeUpdateLeaderEpoch(new ReadShareGroupStateRequestData().setGroupId(GROUP)
                .setTopics(List.of(new ReadShareGroupStateRequestData.ReadStateData().setTopicId(TOPIC).setPartitions(
                    List.of(new ReadShareGroupStateRequestData.PartitionData().setPartition(0).setLeaderEpoch(5)))))))
            .results().stream().flatMap(topic -> topic.partitions().stream())
            .flatMap(partition -> partition.errorCode() == 0 ? partition.stateBatches().stream() : Stream.of())
            .map(batch -> batch.firstOffset() + "-" + batch.lastOffset()).toList();
    }

    private <T> T applied(CoordinatorResult<T, CoordinatorRecord> result) {
        result.records().forEach(record -> shard.replay(0, -1, (short) -1, record));
        return result.response();
    }
}
