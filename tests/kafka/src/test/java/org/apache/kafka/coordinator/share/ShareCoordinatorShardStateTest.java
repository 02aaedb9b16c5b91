package org.apache.kafka.coordinator.share;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.message.InitializeShareGroupStateRequestData;
import org.apache.kafka.common.message.ReadShareGroupStateRequestData;
import org.apache.kafka.common.message.ReadShareGroupStateResponseData;
import org.apache.kafka.common.message.ReadShareGroupStateSummaryRequestData;
import org.apache.kafka.common.message.WriteShareGroupStateRequestData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.share.generated.ShareSnapshotKey;
import org.apache.kafka.coordinator.share.metrics.ShareCoordinatorMetrics;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a share coordinator keeps of a share-partition. */
public class ShareCoordinatorShardStateTest {
    private static final String GROUP = "group";
    private static final Uuid TOPIC = Uuid.randomUuid();

    private final List<CoordinatorRecord> log = new ArrayList<>();
    private ShareCoordinatorShard shard;

    @Test
    public void testRepeatedInitializeKeepsState() {
        initialize(1, 0);
        write(1, 0, 1, 0);
        initialize(1, 0);
        assertEquals(List.of("0-0"), batches(), "what is durable after the same initialization came again");
    }

    @Test
    public void testInitializeInSameStateEpochKeepsStartOffset() {
        initialize(1, 0);
        assertEquals(Errors.INVALID_REQUEST, initialize(1, 10),
            "the answer to another start offset in one state epoch");
    }

    @Test
    public void testWriteThatKeepsStartOffsetSetsDeliveryCompleteCount() {
        initialize(1, 110);
        write(1, 110, 3);
        write(1, -1, 7);
        assertEquals("start offset 110, count 7", summary(), "what is durable");
    }

    @Test
    public void testWriteOfNewerStateEpochIsFenced() {
        initialize(1, 0);
        assertEquals(Errors.FENCED_STATE_EPOCH, write(2, 0, 1, 0), "the answer to a write of another state epoch");
    }

    @Test
    public void testUnknownDeliveryCompleteCountReplacesFormer() {
        initialize(1, 5);
        write(1, 5, 3, 6, 7, 8);
        write(1, 5, -1, 9, 10);
        assertEquals("start offset 5, count -1", summary(), "what is durable");
    }

    /** The start offset is altered, the topic is pruned up to the snapshot of that, and the coordinator fails over. */
    @Test
    public void testFormerLeaderIsFencedAfterFailover() {
        initialize(1, 0);
        read(2);
        initialize(2, 5);
        failOver();
        assertEquals(Errors.FENCED_LEADER_EPOCH, Errors.forCode(read(1).errorCode()),
            "the answer to a former leader");
    }

    /** The control, where no start offset is altered: passes. */
    @Test
    public void testControlFormerLeaderIsFencedAfterFailover() {
        initialize(1, 0);
        read(2);
        failOver();
        assertEquals(Errors.FENCED_LEADER_EPOCH, Errors.forCode(read(1).errorCode()));
    }

    /** The control, each in the state epoch and with the start offset that there are: passes. */
    @Test
    public void testControlWritesOfOneStateEpochAreKept() {
        initialize(1, 0);
        assertEquals(Errors.NONE, write(1, 0, 1, 1));
        assertEquals(Errors.NONE, write(1, 2, 2, 3, 4));
        assertEquals(List.of("3-3", "4-4"), batches());
        assertEquals("start offset 2, count 2", summary());
    }

    /** The control, of state epochs: passes. */
    @Test
    public void testControlInitializeInNextStateEpochBeginsAnew() {
        initialize(1, 0);
        write(1, 0, 1, 0);
        assertEquals(Errors.NONE, initialize(2, 10));
        assertEquals(Errors.FENCED_STATE_EPOCH, write(1, 0, 1, 0));
        assertEquals(List.of(), batches());
    }

    @BeforeEach
    public void setUp() {
        log.clear();
        load();
    }

    /** Another node has what is in the log. */
    private void failOver() {
        load();
        log.forEach(record -> shard.replay(0, -1, (short) -1, record));
    }

    private void load() {
        ShareCoordinatorConfig config = new ShareCoordinatorConfig(
            new AbstractConfig(ShareCoordinatorConfig.CONFIG_DEF, Map.of(), false));
        shard = (ShareCoordinatorShard) new ShareCoordinatorShard.Builder(config)
            .withSnapshotRegistry(new SnapshotRegistry(new LogContext()))
            .withCoordinatorMetrics(new ShareCoordinatorMetrics())
            .withTopicPartition(new TopicPartition("__share_group_state", 0)).withTime(Time.SYSTEM).build();
        CoordinatorMetadataImage.TopicMetadata topic = mock(CoordinatorMetadataImage.TopicMetadata.class);
        when(topic.partitionCount()).thenReturn(1);
        CoordinatorMetadataImage image = mock(CoordinatorMetadataImage.class);
        when(image.topicMetadata(TOPIC)).thenReturn(Optional.of(topic));
        shard.onLoaded(image);
    }

    private Errors initialize(int stateEpoch, long startOffset) {
        return Errors.forCode(applied(shard.initializeState(new InitializeShareGroupStateRequestData().setGroupId(GROUP)
            .setTopics(List.of(new InitializeShareGroupStateRequestData.InitializeStateData().setTopicId(TOPIC)
                .setPartitions(List.of(new InitializeShareGroupStateRequestData.PartitionData()
                    .setStateEpoch(stateEpoch).setStartOffset(startOffset)))))))
            .results().get(0).partitions().get(0).errorCode());
    }

    /** Writes that offsets are acknowledged, each in a batch of its own. */
    private Errors write(int stateEpoch, long startOffset, int count, int... offsets) {
        return Errors.forCode(applied(shard.writeState(new WriteShareGroupStateRequestData().setGroupId(GROUP)
            .setTopics(List.of(new WriteShareGroupStateRequestData.WriteStateData().setTopicId(TOPIC).setPartitions(
                List.of(new WriteShareGroupStateRequestData.PartitionData().setStateEpoch(stateEpoch).setLeaderEpoch(1)
                    .setStartOffset(startOffset).setDeliveryCompleteCount(count).setStateBatches(
                        IntStream.of(offsets).mapToObj(offset -> new WriteShareGroupStateRequestData.StateBatch()
                            .setFirstOffset(offset).setLastOffset(offset).setDeliveryState((byte) 2)
                            .setDeliveryCount((short) (1 + offset % 2))).toList())))))))
            .results().get(0).partitions().get(0).errorCode());
    }

    private ReadShareGroupStateResponseData.PartitionResult read(int leaderEpoch) {
        return applied(shard.readStateAndMaybeUpdateLeaderEpoch(new ReadShareGroupStateRequestData().setGroupId(GROUP)
            .setTopics(List.of(new ReadShareGroupStateRequestData.ReadStateData().setTopicId(TOPIC).setPartitions(
                List.of(new ReadShareGroupStateRequestData.PartitionData().setLeaderEpoch(leaderEpoch)))))))
            .results().get(0).partitions().get(0);
    }

    /** What a leader reads; those of one delivery count may be joined, so that neighbours have different ones. */
    private List<String> batches() {
        return read(1).stateBatches().stream().map(batch -> batch.firstOffset() + "-" + batch.lastOffset()).toList();
    }

    private String summary() {
        var part = applied(shard.readStateSummary(new ReadShareGroupStateSummaryRequestData().setGroupId(GROUP)
            .setTopics(List.of(new ReadShareGroupStateSummaryRequestData.ReadStateSummaryData().setTopicId(TOPIC)
                .setPartitions(List.of(new ReadShareGroupStateSummaryRequestData.PartitionData().setLeaderEpoch(1)))))))
            .results().get(0).partitions().get(0);
        return "start offset " + part.startOffset() + ", count " + part.deliveryCompleteCount();
    }

    /** A snapshot takes the place of what was there: the topic is pruned. */
    private <T> T applied(CoordinatorResult<T, CoordinatorRecord> result) {
        result.records().forEach(record -> {
            if (record.key() instanceof ShareSnapshotKey) {
                log.clear();
            }
            log.add(record);
            shard.replay(0, -1, (short) -1, record);
        });
        return result.response();
    }
}
