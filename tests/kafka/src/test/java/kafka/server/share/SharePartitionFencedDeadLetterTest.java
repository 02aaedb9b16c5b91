package kafka.server.share;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.ArrayList;
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
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.dlq.ShareGroupDLQManager;
import org.apache.kafka.server.share.dlq.ShareGroupDLQRecordParameter;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.TopicData;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTaskEntry;
import org.junit.jupiter.api.Test;

/**
 * A lock ends at a broker that leads no longer; it was the last attempt that it knew of. Its write is refused, and it
 * gives the record to the dead-letter queue all the same, while the new leader delivers it.
 */
public class SharePartitionFencedDeadLetterTest {
    private static final byte AVAILABLE = 0;
    private static final byte REJECT = 3;
    private static final TopicIdPartition PARTITION =
        new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("topic", 0));

    private final CompletableFuture<WriteShareGroupStateResult> write = new CompletableFuture<>();
    private final List<TimerTaskEntry> locks = new ArrayList<>();
    private final List<String> letters = new ArrayList<>();

    @Test
    public void testFencedLeaderGivesNothingToTheDeadLetterQueue() {
        acquired();
        locks.get(0).timerTask.run();
        write.complete(written(Errors.FENCED_LEADER_EPOCH));
        assertEquals(List.of(), letters, "what a leader gives to the dead-letter queue whose write was fenced");
    }

    /** The control whose write succeeds, which is the end of record 0: passes. */
    @Test
    public void testControlThatLeads() {
        acquired();
        locks.get(0).timerTask.run();
        write.complete(written(Errors.NONE));
        assertEquals(List.of("0"), letters, "what the leader gives to the dead-letter queue");
    }

    /** The control whose member rejects the record instead, so that the same write fails: passes. */
    @Test
    public void testControlWithReject() {
        acquired().acknowledge("member", List.of(new ShareAcknowledgementBatch(0, 0, List.of(REJECT))));
        write.complete(written(Errors.FENCED_LEADER_EPOCH));
        assertEquals(List.of(), letters, "what a leader gives to the dead-letter queue whose write was fenced");
    }

    /** The state has record 0 with one attempt of two; a member acquires it, with the last. */
    private SharePartition acquired() {
        SharePartition sharePartition = sharePartition();
        sharePartition.maybeInitialize();
        FetchPartitionData data = new FetchPartitionData(Errors.NONE, 1, 0,
            MemoryRecords.withRecords(0L, Compression.NONE, new SimpleRecord(new byte[1])), Optional.empty(),
            OptionalLong.empty(), Optional.empty(), OptionalInt.empty(), false);
        var acquired = sharePartition.acquire("member", ShareAcquireMode.BATCH_OPTIMIZED, 500, 500, 0, data,
            FetchIsolation.HIGH_WATERMARK).acquiredRecords();
        assertEquals(2, acquired.get(0).deliveryCount());
        return sharePartition;
    }

    private static WriteShareGroupStateResult written(Errors error) {
        return new WriteShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(),
            List.of(PartitionFactory.newPartitionErrorData(0, error.code(), error.message()))))).build();
    }

    private SharePartition sharePartition() {
        Persister persister = mock(Persister.class);
        when(persister.readState(any())).thenReturn(CompletableFuture.completedFuture(
            new ReadShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(), List.of(
                PartitionFactory.newPartitionAllData(0, 0, 0L, Errors.NONE.code(), Errors.NONE.message(),
                    List.of(new PersisterStateBatch(0, 0, AVAILABLE, (short) 1))))))).build()));
        when(persister.writeState(any())).thenReturn(write);
        Timer timer = mock(Timer.class);
        doAnswer(added -> locks.add(new TimerTaskEntry(added.getArgument(0), 30000))).when(timer).add(any());
        ShareGroupDLQManager queue = mock(ShareGroupDLQManager.class);
        when(queue.enqueue(any())).thenAnswer(given -> {
            letters.add(String.valueOf(given.<ShareGroupDLQRecordParameter>getArgument(0).firstOffset()));
            return new CompletableFuture<>();
        });
        ShareGroupConfigProvider config = mock(ShareGroupConfigProvider.class);
        when(config.partitionMaxRecordLocksOrDefault(anyString(), anyInt())).thenReturn(200);
        when(config.deliveryCountLimitOrDefault(anyString(), anyInt())).thenReturn(2);
        when(config.recordLockDurationMsOrDefault(anyString(), anyInt())).thenReturn(30000);
        when(config.errorsDLQTopicName(anyString())).thenReturn(Optional.of("dead-letters"));
        return new SharePartition("group", PARTITION, 1, 200, 2, 30000,
            timer, Time.SYSTEM, persister, mock(PartitionMetadataProvider.class), key -> { }, config,
            mock(SharePartitionManager.SharePartitionListener.class), () -> true, queue);
    }
}
