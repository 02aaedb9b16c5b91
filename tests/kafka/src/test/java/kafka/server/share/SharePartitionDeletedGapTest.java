package kafka.server.share;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
 * Records are deleted up to somewhere inside a gap of the durable state, or before it, and the leader changes: each
 * fetch begins at the start of the gap, which the log has no more, and the share-partition delivers nothing again.
 */
public class SharePartitionDeletedGapTest {
    private static final int MAX_IN_FLIGHT_RECORDS = 200;
    private static final String MEMBER = "member";
    private static final TopicIdPartition PARTITION =
        new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("topic", 0));
    /** Of records 0-2 the former leader wrote that 2 was acknowledged; 0-1 were acquired: a gap in its state. */
    private static final PersisterStateBatch STATE_WITH_GAP = new PersisterStateBatch(2, 2, (byte) 2, (short) 1);
    /** The same, but 0-1 were released before, so that the state has no gap. */
    private static final PersisterStateBatch RELEASED = new PersisterStateBatch(0, 1, (byte) 0, (short) 1);

    @Test
    public void testRecordsAreDeliveredAfterDeletionInGap() {
        assertEquals("1", fetches(sharePartition(STATE_WITH_GAP), 1), "what 5 fetches are given, with log start offset 1");
    }

    /** The control whose records are all in the log: passes. */
    @Test
    public void testControlWithoutDeletion() {
        assertEquals("0", fetches(sharePartition(STATE_WITH_GAP), 0), "what 5 fetches are given, with log start offset 0");
    }

    /** The control without a gap, from which record 0 is deleted as well: passes. */
    @Test
    public void testControlWithoutGap() {
        assertEquals("1", fetches(sharePartition(RELEASED, STATE_WITH_GAP), 1),
            "what 5 fetches are given, with log start offset 1");
    }

    /** As a broker does it: what the log has no more moves the start offset, and another fetch follows. */
    private static String fetches(SharePartition sharePartition, long logStartOffset) {
        for (int fetch = 0; fetch < 5; fetch++) {
            long offset = sharePartition.nextFetchOffset();
            if (offset < logStartOffset) {
                sharePartition.updateCacheAndOffsets(logStartOffset);  // by ShareFetchUtils, after OFFSET_OUT_OF_RANGE
                continue;
            }
            MemoryRecords records = MemoryRecords.withRecords(offset, Compression.NONE, new SimpleRecord(new byte[1]));
            FetchPartitionData data = new FetchPartitionData(Errors.NONE, 4, logStartOffset, records, Optional.empty(),
                OptionalLong.empty(), Optional.empty(), OptionalInt.empty(), false);
            return sharePartition.acquire(MEMBER, ShareAcquireMode.BATCH_OPTIMIZED, 500, 500, offset, data,
                FetchIsolation.HIGH_WATERMARK).acquiredRecords().stream()
                .map(range -> String.valueOf(range.firstOffset())).findFirst().orElse("nothing");
        }
        return "nothing, as each begins at " + sharePartition.nextFetchOffset();
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
