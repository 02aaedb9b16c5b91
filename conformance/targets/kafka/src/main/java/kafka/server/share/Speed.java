package kafka.server.share;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
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
import org.apache.kafka.server.share.SharePartitionKey;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.dlq.ShareGroupDLQManager;
import org.apache.kafka.server.share.dlq.ShareGroupDLQRecordParameter;
import org.apache.kafka.server.share.metrics.SharePartitionMetrics;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.SystemTimer;
import org.apache.kafka.server.util.timer.Timer;

/**
 * Times acquire and acknowledge of Kafka's share-partition in a full window.
 *
 * <p>Arguments: how the records are acknowledged (together, each or single), the records of a log
 * batch, those of the window, and the rounds: so many are run to warm up, and as many are timed. A
 * round acknowledges the oldest log batch and acquires the next. Writes are answered at once. Prints
 * the nanoseconds of the timed calls, of all rounds together.
 */
public final class Speed {
    private static final TopicIdPartition PARTITION =
        new TopicIdPartition(new Uuid(1, 1), new TopicPartition("t", 0));
    private static final String MEMBER = "m1";
    private static final byte ACCEPT = 1;
    private static final byte REJECT = 3;

    private final String mix;
    private final int size;
    private final ScriptedPersister persister;
    private final SharePartition partition;
    private final Settings settings;
    private final Deque<Long> held = new ArrayDeque<>();
    private long next;

    private Speed(String mix, int size, int window, Timer timer) throws Exception {
        this.mix = mix;
        this.size = size;
        settings = new Settings(new ObjectMapper().createObjectNode()
            .put("delivery_count_limit", 5).put("partition_max_record_locks", window)
            .put("record_lock_duration_ms", 3_600_000).put("auto_offset_reset", "earliest"));
        persister = new ScriptedPersister(
            PARTITION.topicId(), ScriptedPersister.stored(0, 0, List.of()), 0);
        Release.LogEnds log = new Release.LogEnds(0, Long.MAX_VALUE, -1);
        partition = new SharePartition("g", PARTITION, 1, window, settings.deliveryLimit,
            settings.lockMs, timer, Time.SYSTEM, persister, log, key -> { }, settings,
            SharePartition.SharePartitionState.EMPTY,
            new SharePartitionManager.SharePartitionListener(
                new SharePartitionKey("g", PARTITION), log, key -> { }, new SharePartitionCache()),
            new SharePartitionMetrics("g", "t", 0), () -> true, new NoDeadLetters());
        partition.maybeInitialize().get();
        for (int batch = 0; batch < window / size; batch++) {
            acquire(read());
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[3]);
        try (Timer timer = new SystemTimer("speed")) {
            Speed speed = new Speed(args[0], Integer.parseInt(args[1]), Integer.parseInt(args[2]), timer);
            speed.run(rounds);
            System.out.println(speed.run(rounds));
        }
    }

    private long run(int rounds) throws Exception {
        long nanoseconds = 0;
        for (int round = 0; round < rounds; round++) {
            List<List<ShareAcknowledgementBatch>> requests = requests(held.removeFirst());
            FetchPartitionData read = read();
            List<CompletableFuture<Void>> answers = new ArrayList<>(requests.size());
            long begin = System.nanoTime();
            for (List<ShareAcknowledgementBatch> request : requests) {
                answers.add(partition.acknowledge(MEMBER, request));
            }
            acquire(read);
            nanoseconds += System.nanoTime() - begin;
            for (CompletableFuture<Void> answer : answers) {
                answer.getNow(null); // Throws where the acknowledgement failed.
            }
            persister.takeWritten();
        }
        return nanoseconds;
    }

    private void acquire(FetchPartitionData read) {
        int count = partition.acquire(MEMBER, ShareAcquireMode.BATCH_OPTIMIZED, size, size, next, read,
            settings.isolation).count();
        if (count != size) {
            throw new IllegalStateException(count + " records were acquired instead of " + size);
        }
        held.addLast(next);
        next += size;
    }

    private List<List<ShareAcknowledgementBatch>> requests(long first) {
        long last = first + size - 1;
        switch (mix) {
            case "together":
                return List.of(List.of(new ShareAcknowledgementBatch(first, last, List.of(ACCEPT))));
            case "each":
                List<Byte> types = new ArrayList<>(Collections.nCopies(size, ACCEPT));
                for (int i = 1; i < size; i += 2) {
                    types.set(i, REJECT);
                }
                return List.of(List.of(new ShareAcknowledgementBatch(first, last, types)));
            case "single":
                List<List<ShareAcknowledgementBatch>> requests = new ArrayList<>(size);
                for (long offset = first; offset <= last; offset++) {
                    requests.add(List.of(new ShareAcknowledgementBatch(offset, offset, List.of(ACCEPT))));
                }
                return requests;
            default:
                throw new IllegalArgumentException("unknown mix " + mix + "; allowed: together, each, single");
        }
    }

    private FetchPartitionData read() {
        ByteBuffer buffer = ByteBuffer.allocate(128 + 32 * size);
        MemoryRecordsBuilder builder = MemoryRecords.builder(
            buffer, Compression.NONE, TimestampType.CREATE_TIME, next);
        for (int i = 0; i < size; i++) {
            builder.append(new SimpleRecord(0, (byte[]) null));
        }
        return new FetchPartitionData(Errors.NONE, next + size, 0, builder.build(), Optional.empty(),
            OptionalLong.empty(), Optional.empty(), OptionalInt.empty(), false);
    }

    private static final class NoDeadLetters implements ShareGroupDLQManager {
        @Override
        public CompletableFuture<Void> enqueue(ShareGroupDLQRecordParameter records) {
            throw new UnsupportedOperationException("there is no dead-letter queue");
        }

        @Override
        public void stop() { }
    }
}
