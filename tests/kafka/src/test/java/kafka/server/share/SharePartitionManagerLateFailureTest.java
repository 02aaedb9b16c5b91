package kafka.server.share;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import kafka.server.ReplicaManager;
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
import org.apache.kafka.server.partition.PartitionListener;
import org.apache.kafka.server.share.LogReader;
import org.apache.kafka.server.share.PartitionMetadataProvider;
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.dlq.NoOpShareGroupDLQManager;
import org.apache.kafka.server.share.metrics.ShareGroupMetrics;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.TopicData;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;
import org.apache.kafka.server.share.session.ShareSessionCache;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Leadership moves away from a broker and back. A write or a read of the former SharePartition fails only then,
 * and SharePartitionManager removes the new one, which knows who holds which record: two members are given the
 * same record with the same delivery count, while the lock of the first lasts.
 */
public class SharePartitionManagerLateFailureTest {
    private static final TopicIdPartition PARTITION =
        new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("topic", 0));
    private static final SharePartitionKey KEY = new SharePartitionKey("group", PARTITION);

    private final SharePartitionCache cache = new SharePartitionCache();
    private final PartitionMetadataProvider metadata = mock(PartitionMetadataProvider.class);
    private final Persister persister = mock(Persister.class);
    private final CompletableFuture<ReadShareGroupStateResult> lateRead = new CompletableFuture<>();
    private final CompletableFuture<WriteShareGroupStateResult> lateWrite = new CompletableFuture<>();
    private SharePartitionManager manager;

    @Test
    public void testLateWriteFailureKeepsNextSharePartition() {
        acknowledgeInEpoch1AndReturnInEpoch3();
        assertEquals("0 with delivery count 1", acquire("m2"));
        lateWrite.complete(written(Errors.FENCED_LEADER_EPOCH));
        assertEquals("nothing", acquire("m3"), "what m3 is given while m2 holds record 0, in the same leader epoch");
    }

    @Test
    public void testLateReadFailureKeepsNextSharePartition() {
        readInEpoch1AndReturnInEpoch3();
        assertEquals("0 with delivery count 1", acquire("m2"));
        lateRead.complete(read(Errors.FENCED_LEADER_EPOCH));
        assertEquals("nothing", acquire("m3"), "what m3 is given while m2 holds record 0, in the same leader epoch");
    }

    /** The control, whose write is answered as late and succeeds: passes. */
    @Test
    public void testControlWithLateWriteThatSucceeds() {
        acknowledgeInEpoch1AndReturnInEpoch3();
        assertEquals("0 with delivery count 1", acquire("m2"));
        lateWrite.complete(written(Errors.NONE));
        assertEquals("nothing", acquire("m3"), "what m3 is given while m2 holds record 0, in the same leader epoch");
    }

    /** The control, whose read is answered as late and succeeds: passes. */
    @Test
    public void testControlWithLateReadThatSucceeds() {
        readInEpoch1AndReturnInEpoch3();
        assertEquals("0 with delivery count 1", acquire("m2"));
        lateRead.complete(read(Errors.NONE));
        assertEquals("nothing", acquire("m3"), "what m3 is given while m2 holds record 0, in the same leader epoch");
    }

    private void acknowledgeInEpoch1AndReturnInEpoch3() {
        when(persister.readState(any())).thenAnswer(call -> CompletableFuture.completedFuture(read(Errors.NONE)));
        when(persister.writeState(any())).thenReturn(lateWrite);
        when(metadata.leaderEpoch(PARTITION)).thenReturn(1);
        assertEquals("0 with delivery count 1", acquire("m1"));
        manager.acknowledge("m1", "group", Map.of(PARTITION, List.of(
            new ShareAcknowledgementBatch(0, 0, List.of(AcknowledgeType.ACCEPT.id)))));
        returnInEpoch3();
    }

    private void readInEpoch1AndReturnInEpoch3() {
        when(persister.readState(any())).thenReturn(lateRead)
            .thenAnswer(call -> CompletableFuture.completedFuture(read(Errors.NONE)));
        when(metadata.leaderEpoch(PARTITION)).thenReturn(1);
        assertEquals("nothing", acquire("m1"));
        returnInEpoch3();
    }

    /** The listener removes the share-partition of epoch 1; the next fetch makes another. */
    private void returnInEpoch3() {
        ((PartitionListener) cache.get(KEY).listener()).onBecomingFollower(PARTITION.topicPartition());
        when(metadata.leaderEpoch(PARTITION)).thenReturn(3);
    }

    /** A member fetches; of the log, which has record 0, it is given what its share-partition says. */
    private String acquire(String member) {
        manager.fetchMessages("group", member, new FetchParams(-1, -1, 500, 1, 1 << 20, FetchIsolation.HIGH_WATERMARK,
            Optional.empty()), ShareAcquireMode.BATCH_OPTIMIZED.id(), 0, 500, 500, List.of(PARTITION));
        SharePartition sharePartition = cache.get(KEY);
        FetchPartitionData data = new FetchPartitionData(Errors.NONE, 1, 0,
            MemoryRecords.withRecords(0L, Compression.NONE, new SimpleRecord(new byte[1])), Optional.empty(),
            OptionalLong.empty(), Optional.empty(), OptionalInt.empty(), false);
        return sharePartition.acquire(member, ShareAcquireMode.BATCH_OPTIMIZED, 500, 500, 0, data,
            FetchIsolation.HIGH_WATERMARK).acquiredRecords().stream()
            .map(range -> range.firstOffset() + " with delivery count " + range.deliveryCount())
            .findFirst().orElse("nothing");
    }

    @BeforeEach
    public void setUp() {
        ShareGroupConfigProvider config = mock(ShareGroupConfigProvider.class);
        when(config.partitionMaxRecordLocksOrDefault(anyString(), anyInt())).thenReturn(200);
        when(config.deliveryCountLimitOrDefault(anyString(), anyInt())).thenReturn(5);
        when(config.recordLockDurationMsOrDefault(anyString(), anyInt())).thenReturn(30000);
        manager = new SharePartitionManager(mock(ReplicaManager.class), mock(LogReader.class), metadata, key -> { },
            Time.SYSTEM, mock(ShareSessionCache.class), cache, 30000, mock(Timer.class), 5, 200, 1000, persister, config,
            mock(ShareGroupMetrics.class), new BrokerTopicStats(), () -> false, new NoOpShareGroupDLQManager());
    }

    private static ReadShareGroupStateResult read(Errors error) {
        return new ReadShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(), List.of(
            PartitionFactory.newPartitionAllData(0, 0, 0L, error.code(), error.message(), List.of()))))).build();
    }

    private static WriteShareGroupStateResult written(Errors error) {
        return new WriteShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(), List.of(
            PartitionFactory.newPartitionErrorData(0, error.code(), error.message()))))).build();
    }
}
