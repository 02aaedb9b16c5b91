package kafka.server.share;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.consumer.internals.ShareAcquireMode;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfigProvider;
import org.apache.kafka.server.share.PartitionMetadataProvider;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.dlq.NoOpShareGroupDLQManager;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.TopicData;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.Timer;
import org.junit.jupiter.api.Test;

/**
 * The log has records 0-2 and 10-24, as it was compacted. The log start offset moves into the gap between them while
 * the states of 0-2 are kept one by one: the start offset of the share-partition never moves again.
 */
public class SharePartitionLogStartInGapTest {
    private static final int MAX_IN_FLIGHT_RECORDS = 20;
    private static final TopicIdPartition PARTITION =
        new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("topic", 0));

    @Test
    public void testStartOffsetMovesAfterLogStartOffsetMovedIntoGap() {
        assertTakesMore(partitionAfter(5, true));
    }

    /** The control whose log start offset is that of a record: passes. */
    @Test
    public void testControlLogStartOffsetOfRecord() {
        assertTakesMore(partitionAfter(10, true));
    }

    /** The control whose records 0-2 have one state, as none of them was acknowledged alone: passes. */
    @Test
    public void testControlOneStateOfBatch() {
        assertTakesMore(partitionAfter(5, false));
    }

    private static void assertTakesMore(SharePartition sharePartition) {
        assertTrue(sharePartition.canAcquireRecords(), "10-24 are acknowledged and nothing is held, and a fetch may"
            + " acquire more; the start offset is " + sharePartition.startOffset());
    }

    /** A member that holds 0-2 acknowledges 1 {@code alone} or nothing before records are deleted; another has the rest. */
    private static SharePartition partitionAfter(long logStartOffset, boolean alone) {
        SharePartition sharePartition = sharePartition();
        acquire(sharePartition, "first", 0, 2);
        acquire(sharePartition, "second", 10, 12);
        if (alone) {
            acknowledge(sharePartition, "first", 1, 1);
        }
        sharePartition.updateCacheAndOffsets(logStartOffset);
        sharePartition.releaseAcquiredRecords("first");  // its session ends
        acknowledge(sharePartition, "second", 10, 12);
        acquire(sharePartition, "second", 13, 24);
        acknowledge(sharePartition, "second", 13, 24);
        return sharePartition;
    }

    private static void acknowledge(SharePartition sharePartition, String member, long first, long last) {
        sharePartition.acknowledge(member, List.of(new ShareAcknowledgementBatch(first, last, List.of((byte) 1))));
    }

    private static void acquire(SharePartition sharePartition, String member, long first, long last) {
        MemoryRecordsBuilder records = MemoryRecords.builder(
            ByteBuffer.allocate(1024), Compression.NONE, TimestampType.CREATE_TIME, first);
        for (long offset = first; offset <= last; offset++) {
            records.append(new SimpleRecord(new byte[1]));
        }
        FetchPartitionData data = new FetchPartitionData(Errors.NONE, last + 1, 0, records.build(), Optional.empty(),
            OptionalLong.empty(), Optional.empty(), OptionalInt.empty(), false);
        sharePartition.acquire(member, ShareAcquireMode.BATCH_OPTIMIZED, 500, 500, first, data,
            FetchIsolation.HIGH_WATERMARK);
    }

    private static SharePartition sharePartition() {
        Persister persister = mock(Persister.class);
        when(persister.readState(any())).thenReturn(CompletableFuture.completedFuture(
            new ReadShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(), List.of(
                PartitionFactory.newPartitionAllData(0, 0, 0L, Errors.NONE.code(), "", List.of()))))).build()));
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
