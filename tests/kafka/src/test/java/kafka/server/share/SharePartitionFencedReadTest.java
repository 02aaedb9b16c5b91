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
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.TopicData;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.Timer;
import org.junit.jupiter.api.Test;

/**
 * Leadership moves away from a broker while a SharePartition waits for its state, so that it is fenced. The answer
 * makes it active again: a fetch that waits for it is given records, although the broker has been told to stop.
 */
public class SharePartitionFencedReadTest {
    private static final TopicIdPartition PARTITION =
        new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("topic", 0));

    private final CompletableFuture<ReadShareGroupStateResult> read = new CompletableFuture<>();

    @Test
    public void testFencedSharePartitionStaysFencedWhenItsStateIsRead() {
        SharePartition sharePartition = sharePartition();
        CompletableFuture<Void> initialized = sharePartition.maybeInitialize();
        sharePartition.markFenced();
        read.complete(read(Errors.NONE));
        assertEquals("nothing", fetch(sharePartition, initialized), "what is given by a share-partition that was fenced");
    }

    /** The control that is fenced after its state was read: passes. */
    @Test
    public void testControlFencedLater() {
        SharePartition sharePartition = sharePartition();
        CompletableFuture<Void> initialized = sharePartition.maybeInitialize();
        read.complete(read(Errors.NONE));
        sharePartition.markFenced();
        assertEquals("nothing", fetch(sharePartition, initialized), "what is given by a share-partition that was fenced");
    }

    /** The control whose read fails: passes. */
    @Test
    public void testControlWithReadThatFails() {
        SharePartition sharePartition = sharePartition();
        CompletableFuture<Void> initialized = sharePartition.maybeInitialize();
        sharePartition.markFenced();
        read.complete(read(Errors.FENCED_LEADER_EPOCH));
        assertEquals("nothing", fetch(sharePartition, initialized), "what is given by a share-partition that was fenced");
    }

    /** The control that is not fenced, whose fetch is given record 0: passes. */
    @Test
    public void testControlThatLeads() {
        SharePartition sharePartition = sharePartition();
        CompletableFuture<Void> initialized = sharePartition.maybeInitialize();
        read.complete(read(Errors.NONE));
        assertEquals("0 with delivery count 1", fetch(sharePartition, initialized), "what is given by the leader");
    }

    /** As DelayedShareFetch does, once the share-partition is initialized: a lock first, then the log, then this. */
    private static String fetch(SharePartition sharePartition, CompletableFuture<Void> initialized) {
        if (initialized.isCompletedExceptionally() || !sharePartition.maybeAcquireFetchLock(Uuid.randomUuid())) {
            return "nothing";
        }
        FetchPartitionData data = new FetchPartitionData(Errors.NONE, 1, 0,
            MemoryRecords.withRecords(0L, Compression.NONE, new SimpleRecord(new byte[1])), Optional.empty(),
            OptionalLong.empty(), Optional.empty(), OptionalInt.empty(), false);
        return sharePartition.acquire("member", ShareAcquireMode.BATCH_OPTIMIZED, 500, 500, 0, data,
            FetchIsolation.HIGH_WATERMARK).acquiredRecords().stream()
            .map(range -> range.firstOffset() + " with delivery count " + range.deliveryCount())
            .findFirst().orElse("nothing");
    }

    private static ReadShareGroupStateResult read(Errors error) {
        return new ReadShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(), List.of(
            PartitionFactory.newPartitionAllData(0, 0, 0L, error.code(), error.message(), List.of()))))).build();
    }

    private SharePartition sharePartition() {
        Persister persister = mock(Persister.class);
        when(persister.readState(any())).thenReturn(read);
        ShareGroupConfigProvider config = mock(ShareGroupConfigProvider.class);
        when(config.partitionMaxRecordLocksOrDefault(anyString(), anyInt())).thenReturn(200);
        when(config.deliveryCountLimitOrDefault(anyString(), anyInt())).thenReturn(5);
        when(config.recordLockDurationMsOrDefault(anyString(), anyInt())).thenReturn(30000);
        return new SharePartition("group", PARTITION, 1, 200, 5, 30000,
            mock(Timer.class), Time.SYSTEM, persister, mock(PartitionMetadataProvider.class), key -> { }, config,
            mock(SharePartitionManager.SharePartitionListener.class), () -> false, new NoOpShareGroupDLQManager());
    }
}
