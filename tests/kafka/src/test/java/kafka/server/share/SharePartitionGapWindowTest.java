package kafka.server.share;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.internals.ShareAcquireMode;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfigProvider;
import org.apache.kafka.server.share.PartitionMetadataProvider;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.dlq.NoOpShareGroupDLQManager;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.TopicData;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.Timer;
import org.junit.jupiter.api.Test;

/**
 * A record is released after a change of leader, while the window of in-flight records is full: all of
 * the window is acknowledged, and the share-partition delivers nothing any more, without an error.
 */
public class SharePartitionGapWindowTest {
    private static final int MAX_IN_FLIGHT_RECORDS = 3;
    private static final String MEMBER = "member";
    private static final TopicIdPartition PARTITION =
        new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("topic", 0));
    /** Of records 0-2 the former leader wrote that 2 was acknowledged; 0-1 were acquired: a gap in its state. */
    private static final PersisterStateBatch STATE_WITH_GAP = new PersisterStateBatch(2, 2, (byte) 2, (short) 1);
    /** The same, but 0-1 were released before, so that the state has no gap. */
    private static final PersisterStateBatch RELEASED = new PersisterStateBatch(0, 1, (byte) 0, (short) 1);

    @Test
    public void testStartOffsetMovesAfterRedeliveryInGapWindow() {
        SharePartition sharePartition = sharePartition(STATE_WITH_GAP);
        acquire(sharePartition, 0, 1);
        acknowledge(sharePartition, 0, AcknowledgeType.RELEASE);
        acknowledge(sharePartition, 1, AcknowledgeType.ACCEPT);
        acquire(sharePartition, 0, 0);
        acknowledge(sharePartition, 0, AcknowledgeType.ACCEPT);
        assertEverythingIsDoneAndRecord3IsDelivered(sharePartition);
    }

    /** The control without a release: passes. */
    @Test
    public void testControlWithoutRedelivery() {
        SharePartition sharePartition = sharePartition(STATE_WITH_GAP);
        acquire(sharePartition, 0, 1);
        acknowledge(sharePartition, 0, AcknowledgeType.ACCEPT);
        acknowledge(sharePartition, 1, AcknowledgeType.ACCEPT);
        assertEverythingIsDoneAndRecord3IsDelivered(sharePartition);
    }

    /** The control without a gap, and otherwise the steps that fail: passes. */
    @Test
    public void testControlWithoutGap() {
        SharePartition sharePartition = sharePartition(RELEASED, STATE_WITH_GAP);
        acquire(sharePartition, 0, 1);
        acknowledge(sharePartition, 0, AcknowledgeType.RELEASE);
        acknowledge(sharePartition, 1, AcknowledgeType.ACCEPT);
        acquire(sharePartition, 0, 0);
        acknowledge(sharePartition, 0, AcknowledgeType.ACCEPT);
        assertEverythingIsDoneAndRecord3IsDelivered(sharePartition);
    }

    /** The control that puts the start of the gap window back to where it was: passes. */
    @Test
    public void testControlWithStartOfGapWindowKept() {
        SharePartition sharePartition = sharePartition(STATE_WITH_GAP);
        acquire(sharePartition, 0, 1);
        acknowledge(sharePartition, 0, AcknowledgeType.RELEASE);
        acknowledge(sharePartition, 1, AcknowledgeType.ACCEPT);
        assertEquals(2, sharePartition.persisterReadResultGapWindow().gapStartOffset());
        acquire(sharePartition, 0, 0);
        sharePartition.persisterReadResultGapWindow().gapStartOffset(2);
        acknowledge(sharePartition, 0, AcknowledgeType.ACCEPT);
        assertEverythingIsDoneAndRecord3IsDelivered(sharePartition);
    }

    private static void assertEverythingIsDoneAndRecord3IsDelivered(SharePartition sharePartition) {
        assertTrue(sharePartition.canAcquireRecords(), "records 0-2 are acknowledged, and no fetch may acquire more;"
            + " the start offset is " + sharePartition.startOffset());
        acquire(sharePartition, 3, 3);
    }

    private static void acquire(SharePartition sharePartition, long first, long last) {
        assertEquals(first, sharePartition.nextFetchOffset());
        MemoryRecords records = MemoryRecords.withRecords(first, Compression.NONE, IntStream.rangeClosed(
            (int) first, (int) last).mapToObj(i -> new SimpleRecord(new byte[1])).toArray(SimpleRecord[]::new));
        FetchPartitionData data = new FetchPartitionData(Errors.NONE, 4, 0, records, Optional.empty(),
            OptionalLong.empty(), Optional.empty(), OptionalInt.empty(), false);
        assertEquals(last - first + 1, sharePartition.acquire(MEMBER, ShareAcquireMode.BATCH_OPTIMIZED, 500, 500,
            first, data, FetchIsolation.HIGH_WATERMARK).count());
    }

    private static void acknowledge(SharePartition sharePartition, long offset, AcknowledgeType type) {
        sharePartition.acknowledge(MEMBER, List.of(new ShareAcknowledgementBatch(offset, offset, List.of(type.id)))).join();
    }

    private static SharePartition sharePartition(PersisterStateBatch... state) {
        Persister persister = mock(Persister.class);
        when(persister.readState(any())).thenReturn(CompletableFuture.completedFuture(
            new ReadShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(), List.of(
                PartitionFactory.newPartitionAllData(0, 0, 0L, Errors.NONE.code(), "", List.of(state)))))).build()));
        when(persister.writeState(any())).thenReturn(CompletableFuture.completedFuture(
            new WriteShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(), List.of(
                PartitionFactory.newPartitionErrorData(0, Errors.NONE.code(), ""))))).build()));
        ShareGroupConfigProvider config = mock(ShareGroupConfigProvider.class);
        when(config.partitionMaxRecordLocksOrDefault(anyString(), anyInt())).thenReturn(MAX_IN_FLIGHT_RECORDS);
        when(config.deliveryCountLimitOrDefault(anyString(), anyInt())).thenReturn(5);
        when(config.recordLockDurationMsOrDefault(anyString(), anyInt())).thenReturn(30000);
        SharePartition sharePartition = new SharePartition("group", PARTITION, 1, MAX_IN_FLIGHT_RECORDS, 5, 30000,
            mock(Timer.class), Time.SYSTEM, persister, mock(PartitionMetadataProvider.class), key -> { }, config,
            mock(SharePartitionManager.SharePartitionListener.class), () -> false, new NoOpShareGroupDLQManager());
        sharePartition.maybeInitialize().join();
        return sharePartition;
    }
}
