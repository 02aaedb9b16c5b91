package kafka.server.share;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import kafka.server.ReplicaManager;
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
import org.apache.kafka.server.share.LogReader;
import org.apache.kafka.server.share.PartitionMetadataProvider;
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.server.share.dlq.NoOpShareGroupDLQManager;
import org.apache.kafka.server.share.metrics.ShareGroupMetrics;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.TopicData;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;
import org.apache.kafka.server.share.session.ShareSessionCache;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.LogReadResult;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The connection of a member is lost while it holds a record. Its session ends and the record is released: a fetch of
 * it that waits acquires it again, for the member that is gone; and where it was the last session, the next one is given
 * the record before the release is durable, so that it does not count.
 */
public class DelayedShareFetchDisconnectTest {
    private static final TopicIdPartition PARTITION =
        new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("topic", 0));

    private final SharePartitionCache cache = new SharePartitionCache();
    private final ShareSessionCache sessions = new ShareSessionCache(10);
    private final List<DelayedShareFetch> waiting = new ArrayList<>();
    private SharePartitionManager manager;
    private List<PersisterStateBatch> durable = List.of();
    private CompletableFuture<WriteShareGroupStateResult> written = CompletableFuture.completedFuture(
        new WriteShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(), List.of(
            PartitionFactory.newPartitionErrorData(0, Errors.NONE.code(), Errors.NONE.message()))))).build());

    @Test
    public void testFetchOfDisconnectedMemberAcquiresNothing() {
        connect("m1");
        connect("m2");
        fetch("m1");
        fetch("m1");
        assertEquals("m1, delivery count 1", holder());
        sessions.connectionDisconnectListener().onDisconnect("connection of m1");
        assertEquals("nobody, delivery count 1", holder(), "who holds record 0 once the connection of m1 is gone");
    }

    /** The control, in which no fetch of the member waits: passes. */
    @Test
    public void testControlWithoutWaitingFetch() {
        connect("m1");
        connect("m2");
        fetch("m1");
        sessions.connectionDisconnectListener().onDisconnect("connection of m1");
        assertEquals("nobody, delivery count 1", holder(), "who holds record 0 once the connection of m1 is gone");
    }

    /** The control, in which a fetch of another member waits: passes. */
    @Test
    public void testControlWithFetchOfAnotherMember() {
        connect("m1");
        connect("m2");
        fetch("m1");
        fetch("m2");
        sessions.connectionDisconnectListener().onDisconnect("connection of m1");
        assertEquals("m2, delivery count 2", holder(), "who holds record 0 once the connection of m1 is gone");
    }

    /** The last session of the group ends while the release is being written, and the next one begins. */
    @Test
    public void testReleaseIsAwaitedAfterLastSession() {
        written = new CompletableFuture<>();
        connect("m1");
        fetch("m1");
        sessions.connectionDisconnectListener().onDisconnect("connection of m1");
        connect("m2");
        fetch("m2");
        assertEquals("nobody, delivery count 1", holder(), "who holds record 0 while its release is being written");
    }

    /** The control, in which the session of m2 began before: passes. */
    @Test
    public void testControlWithAnotherSession() {
        written = new CompletableFuture<>();
        connect("m1");
        connect("m2");
        fetch("m1");
        sessions.connectionDisconnectListener().onDisconnect("connection of m1");
        fetch("m2");
        assertEquals("nobody, delivery count 1", holder(), "who holds record 0 while its release is being written");
    }

    /** The control, in which the release is durable before m2 fetches: passes. */
    @Test
    public void testControlWithDurableRelease() {
        connect("m1");
        fetch("m1");
        sessions.connectionDisconnectListener().onDisconnect("connection of m1");
        durable = List.of(new PersisterStateBatch(0, 0, (byte) 0, (short) 1));
        connect("m2");
        fetch("m2");
        assertEquals("m2, delivery count 2", holder(), "who holds record 0 once its release is durable");
    }

    private void connect(String member) {
        manager.newContext("group", List.of(PARTITION), List.of(), member, 0, false, "connection of " + member);
    }

    private void fetch(String member) {
        manager.fetchMessages("group", member, new FetchParams(-1, -1, 500, 1, 1 << 20, FetchIsolation.HIGH_WATERMARK,
            Optional.empty()), ShareAcquireMode.BATCH_OPTIMIZED.id(), 1, 500, 500, List.of(PARTITION));
    }

    private String holder() {
        var batch = cache.get(new SharePartitionKey("group", PARTITION)).cachedState().get(0L);
        String member = batch.batchMemberId().isEmpty() || batch.batchMemberId().equals(Uuid.ZERO_UUID.toString())
            ? "nobody" : batch.batchMemberId();
        return member + ", delivery count " + batch.batchDeliveryCount();
    }

    @BeforeEach
    public void setUp() {
        ShareGroupConfigProvider config = mock(ShareGroupConfigProvider.class);
        when(config.partitionMaxRecordLocksOrDefault(anyString(), anyInt())).thenReturn(200);
        when(config.deliveryCountLimitOrDefault(anyString(), anyInt())).thenReturn(5);
        when(config.recordLockDurationMsOrDefault(anyString(), anyInt())).thenReturn(30000);
        PartitionMetadataProvider metadata = mock(PartitionMetadataProvider.class);
        when(metadata.endOffsetMetadata(any(), any())).thenReturn(new LogOffsetMetadata(1, 0, 100));
        ReplicaManager replicas = mock(ReplicaManager.class);
        doAnswer(added -> {
            DelayedShareFetch fetch = added.getArgument(0);
            return fetch.tryComplete() || waiting.add(fetch);
        }).when(replicas).addDelayedShareFetchRequest(any(), any());
        manager = new SharePartitionManager(replicas, log(), metadata,
            key -> List.copyOf(waiting).forEach(DelayedShareFetch::tryComplete), Time.SYSTEM, sessions, cache, 30000,
            mock(Timer.class), 5, 200, 1000, persister(), config, mock(ShareGroupMetrics.class),
            new BrokerTopicStats(), () -> false, new NoOpShareGroupDLQManager());
    }

    /** The log has record 0. */
    private static LogReader log() {
        return (params, partitions, offsets, sizes, minOne) -> {
            LinkedHashMap<TopicIdPartition, LogReadResult> read = new LinkedHashMap<>();
            long offset = offsets.get(PARTITION);
            MemoryRecords records = offset > 0 ? MemoryRecords.EMPTY
                : MemoryRecords.withRecords(0L, Compression.NONE, new SimpleRecord(new byte[1]));
            read.put(PARTITION, new LogReadResult(new FetchDataInfo(new LogOffsetMetadata(offset, 0, (int) offset * 100), records),
                Optional.empty(), 1, 0, 1, -1, 0, OptionalLong.empty(), OptionalInt.empty(), Errors.NONE));
            return CompletableFuture.completedFuture(read);
        };
    }

    /** The share coordinator has {@code durable}, and answers writes with {@code written}. */
    private Persister persister() {
        Persister persister = mock(Persister.class);
        when(persister.readState(any())).thenAnswer(read -> CompletableFuture.completedFuture(
            new ReadShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(), List.of(
                PartitionFactory.newPartitionAllData(0, 0, 0L, Errors.NONE.code(), Errors.NONE.message(),
                    durable))))).build()));
        when(persister.writeState(any())).thenAnswer(write -> written);
        return persister;
    }
}
