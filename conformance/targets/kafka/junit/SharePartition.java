package kafka.server.share;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.internals.ShareAcquireMode;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.FetchResponseData.AbortedTransaction;
import org.apache.kafka.common.message.ShareFetchResponseData.AcquiredRecords;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfigProvider;
import org.apache.kafka.server.share.PartitionMetadataProvider;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.dlq.NoOpShareGroupDLQManager;
import org.apache.kafka.server.share.dlq.ShareGroupDLQManager;
import org.apache.kafka.server.share.dlq.ShareGroupDLQRecordParameter;
import org.apache.kafka.server.share.fetch.InFlightBatch;
import org.apache.kafka.server.share.fetch.InFlightState;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.TopicData;
import org.apache.kafka.server.share.persister.WriteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;
import org.junit.jupiter.api.Test;

    private static final TopicIdPartition PARTITION =
        new TopicIdPartition(Uuid.randomUuid(), new TopicPartition("topic", 0));

    /** The log: the last offset of each batch by its first one. */
    private final NavigableMap<Long, Long> log = new TreeMap<>();

    private long logStartOffset;

    private long logEndOffset;

    /** Of batches of aborted transactions the last offset by the first one, which is the producer's id too. */
    private final Map<Long, Long> aborted = new TreeMap<>();

    /** What the persister answers to the next writes; beyond it, that they succeed. */
    private final Deque<CompletableFuture<WriteShareGroupStateResult>> answers = new ArrayDeque<>();

    /** What was written. */
    private final List<PersisterStateBatch> written = new ArrayList<>();

    private final List<CompletableFuture<Void>> deadLetters = new ArrayList<>();

    /** What this leader gave to the dead-letter queue. */
    private final List<ShareGroupDLQRecordParameter> queued = new ArrayList<>();

    private final List<TimerTaskEntry> timeouts = new ArrayList<>();

    private long nowMs;

    private int maxDeliveryCount;

    private int maxInFlightRecords;

    private int lockDurationMs;

    private Optional<String> deadLetterQueue = Optional.empty();

    private FetchIsolation isolation = FetchIsolation.HIGH_WATERMARK;

    private SharePartition sharePartition;

    /** Becomes the leader, as which it reads a state with this start offset and these batches. */
    private CompletableFuture<Void> lead(long startOffset, PersisterStateBatch... batches) {
        Persister persister = mock(Persister.class);
        when(persister.readState(any())).thenReturn(CompletableFuture.completedFuture(
            new ReadShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(), List.of(
                PartitionFactory.newPartitionAllData(0, 0, startOffset, Errors.NONE.code(), "", List.of(batches)))))).build()));
        when(persister.writeState(any())).thenAnswer(call -> {
            WriteShareGroupStateParameters write = call.getArgument(0);  // with lastWritten
            written.addAll(write.groupTopicPartitionData().topicsData().get(0).partitions().get(0).stateBatches());  // with lastWritten
            if (!answers.isEmpty()) {  // with answerNextWrites
                return answers.poll();  // with answerNextWrites
            }  // with answerNextWrites
            return CompletableFuture.completedFuture(answer(Errors.NONE));
        });
        ShareGroupConfigProvider config = mock(ShareGroupConfigProvider.class);
        when(config.partitionMaxRecordLocksOrDefault(anyString(), anyInt())).thenAnswer(call -> maxInFlightRecords);
        when(config.deliveryCountLimitOrDefault(anyString(), anyInt())).thenAnswer(call -> maxDeliveryCount);
        when(config.recordLockDurationMsOrDefault(anyString(), anyInt())).thenAnswer(call -> lockDurationMs);
        when(config.isRenewAcknowledgeEnabled(anyString())).thenReturn(true);  // with RENEW
        when(config.errorsDLQTopicName(anyString())).thenAnswer(call -> deadLetterQueue);  // with deadLetterQueue
        ShareGroupDLQManager letters = mock(ShareGroupDLQManager.class);  // with deadLetterQueue
        queued.clear();  // with isQueued
        when(letters.enqueue(any())).thenAnswer(call -> {  // with deadLetterQueue
            queued.add(call.getArgument(0));  // with isQueued
            deadLetters.add(new CompletableFuture<>());  // with deadLetterQueue
            return deadLetters.get(deadLetters.size() - 1);  // with deadLetterQueue
        });  // with deadLetterQueue
        Timer timer = mock(Timer.class);
        Time time = mock(Time.class);
        doAnswer(call -> {  // with advanceClock
            TimerTask task = call.getArgument(0);  // with advanceClock
            return timeouts.add(new TimerTaskEntry(task, nowMs + task.delayMs));  // with advanceClock
        }).when(timer).add(any());  // with advanceClock
        when(time.hiResClockMs()).thenAnswer(call -> nowMs);  // with advanceClock
        when(time.milliseconds()).thenAnswer(call -> nowMs);  // with advanceClock
        sharePartition = new SharePartition("group", PARTITION, 1, maxInFlightRecords, maxDeliveryCount, lockDurationMs,
            timer, time, persister, mock(PartitionMetadataProvider.class), key -> { }, config,
            mock(SharePartitionManager.SharePartitionListener.class), () -> true, new NoOpShareGroupDLQManager());  // without deadLetterQueue
            mock(SharePartitionManager.SharePartitionListener.class), () -> true, letters);  // with deadLetterQueue
        return sharePartition.maybeInitialize();
    }

    private void produce(long first, long last) {
        log.put(first, last);
        logEndOffset = last + 1;
    }

    /** Appends a transaction of these offsets that is aborted, and its marker. */
    private void produceAborted(long first, long last) {
        produce(first, last);
        produce(last + 1, last + 1);
        aborted.put(first, last);
    }

    /** Fetches as a broker does: so many batches of the log from the share-partition's own fetch offset on. */
    private List<AcquiredRecords> fetch(String member, ShareAcquireMode mode, int batchSize, int maxFetchRecords,
                                        int maxBatches) {
        if (!sharePartition.canAcquireRecords()) {
            return List.of();
        }
        long fetchOffset = sharePartition.nextFetchOffset();
        Optional<List<AbortedTransaction>> transactions = Optional.empty();  // without produceAborted
        Optional<List<AbortedTransaction>> transactions = Optional.of(aborted.keySet().stream().map(first ->  // with produceAborted
            new AbortedTransaction().setProducerId(first).setFirstOffset(first)).toList());  // with produceAborted
        FetchPartitionData data = new FetchPartitionData(Errors.NONE, logEndOffset, logStartOffset,
            read(fetchOffset, maxBatches), Optional.empty(), OptionalLong.empty(), transactions, OptionalInt.empty(), false);
        return sharePartition.acquire(member, mode, batchSize, maxFetchRecords, fetchOffset, data, isolation)
            .acquiredRecords();
    }

    private MemoryRecords read(long fetchOffset, int maxBatches) {
        ByteBuffer buffer = ByteBuffer.allocate(4096);
        List<Map.Entry<Long, Long>> batches = log.entrySet().stream()
            .filter(batch -> batch.getValue() >= Math.max(fetchOffset, logStartOffset)).limit(maxBatches).toList();
        for (Map.Entry<Long, Long> batch : batches) {
            long first = batch.getKey();
            if (aborted.containsValue(first - 1)) {  // with produceAborted
                long producer = log.lowerKey(first);  // with produceAborted
                MemoryRecords.writeEndTransactionalMarker(buffer, first, 0, 0, producer, (short) 0,  // with produceAborted
                    new EndTransactionMarker(ControlRecordType.ABORT, 0));  // with produceAborted
                continue;  // with produceAborted
            }  // with produceAborted
            boolean isAborted = aborted.containsKey(first);  // with produceAborted
            MemoryRecordsBuilder builder = MemoryRecords.builder(  // without produceAborted
                buffer, Compression.NONE, TimestampType.CREATE_TIME, first);  // without produceAborted
            MemoryRecordsBuilder builder = MemoryRecords.builder(buffer, RecordBatch.CURRENT_MAGIC_VALUE,  // with produceAborted
                Compression.NONE, TimestampType.CREATE_TIME, first, 0, isAborted ? first : -1,  // with produceAborted
                (short) (isAborted ? 0 : -1), isAborted ? 0 : -1, isAborted, 0);  // with produceAborted
            for (long offset = first; offset <= batch.getValue(); offset++) {
                builder.appendWithOffset(offset, new SimpleRecord(new byte[1]));
            }
            builder.close();
            buffer = builder.buffer();
        }
        buffer.flip();
        return MemoryRecords.readableRecords(buffer);
    }

    /** Moves the clock on, as MockTimer does; acquisition locks that are over time out. */
    private void advanceClock(long ms) {
        nowMs += ms;
        List<TimerTaskEntry> due = timeouts.stream().filter(entry -> entry.expirationMs <= nowMs)
            .sorted(Comparator.comparingLong(entry -> entry.expirationMs)).toList();
        timeouts.removeAll(due);
        due.stream().filter(entry -> !entry.cancelled()).forEach(entry -> entry.timerTask.run());
    }

    private void finishDeadLetter(int nth) {
        if (!deadLetters.isEmpty()) {
            deadLetters.remove(nth % deadLetters.size()).complete(null);
        }
    }

    private boolean isQueued(long offset) {
        return queued.stream().anyMatch(letter -> letter.firstOffset() <= offset && offset <= letter.lastOffset());
    }

    private void failDeadLetter(int nth) {
        if (!deadLetters.isEmpty()) {
            deadLetters.remove(nth % deadLetters.size()).completeExceptionally(new RuntimeException("not written"));
        }
    }

    @SafeVarargs
    private void answerNextWrites(CompletableFuture<WriteShareGroupStateResult>... next) {
        answers.clear();
        answers.addAll(List.of(next));
    }

    private static WriteShareGroupStateResult answer(Errors error) {
        return new WriteShareGroupStateResult.Builder().setTopicsData(List.of(new TopicData<>(PARTITION.topicId(),
            List.of(PartitionFactory.newPartitionErrorData(0, error.code(), error.message()))))).build();
    }

    private static List<Long> offsets(List<AcquiredRecords> acquired) {
        return acquired.stream().flatMapToLong(range ->
            LongStream.rangeClosed(range.firstOffset(), range.lastOffset())).boxed().toList();
    }

    /** The delivery count with which a record is acquired; 0 if it is not. */
    private static int countOf(long offset, List<AcquiredRecords> acquired) {
        return acquired.stream().filter(range -> range.firstOffset() <= offset && offset <= range.lastOffset())
            .mapToInt(AcquiredRecords::deliveryCount).findFirst().orElse(0);
    }

    /** The state, the delivery count and the member of a record, as in "ACQUIRED(1) m1". */
    private String stateOf(long offset) {
        Map.Entry<Long, InFlightBatch> found = sharePartition.cachedState().floorEntry(offset);
        if (found == null || found.getValue().lastOffset() < offset || offset < sharePartition.startOffset()) {
            return "not in flight";
        }
        InFlightBatch batch = found.getValue();
        InFlightState state = batch.offsetState() == null ? null : batch.offsetState().get(offset);
        String text = (state == null ? batch.batchState() + "(" + batch.batchDeliveryCount() + ") " + batch.batchMemberId()
            : state.state() + "(" + state.deliveryCount() + ") " + state.memberId()).trim();
        return text.equals("AVAILABLE(0)") ? "not in flight" : text;
    }

    private boolean isWriteOutstanding(long offset) {
        InFlightBatch batch = sharePartition.cachedState().floorEntry(offset).getValue();
        return batch.offsetState() == null ? batch.batchHasOngoingStateTransition()
            : batch.offsetState().get(offset).hasOngoingStateTransition();
    }

    /** The state, by its id, and the delivery count of a record as they were last written, as in "2(1)". */
    private String lastWritten(long offset) {
        return written.stream().filter(batch -> batch.firstOffset() <= offset && offset <= batch.lastOffset())
            .map(batch -> batch.deliveryState() + "(" + batch.deliveryCount() + ")")
            .reduce("not written", (earlier, later) -> later);
    }

    /** The error that a call ended with. */
    private static Errors errorOf(CompletableFuture<Void> call) {
        return call.handle((done, thrown) -> thrown == null ? Errors.NONE : Errors.forException(
            thrown.getCause() == null ? thrown : thrown.getCause())).join();
    }
