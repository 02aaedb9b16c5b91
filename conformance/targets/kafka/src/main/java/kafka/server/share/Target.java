package kafka.server.share;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.fetch.InFlightBatch;
import org.apache.kafka.server.share.fetch.InFlightState;
import org.apache.kafka.server.share.fetch.RecordState;
import org.apache.kafka.server.share.fetch.ShareAcquiredRecords;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import org.apache.kafka.server.storage.log.FetchPartitionData;

/** One share-partition of Apache Kafka, and the operations of the kit's protocol on it. */
final class Target implements AutoCloseable {
    private static final String GROUP = "g";
    private static final TopicIdPartition PARTITION =
        new TopicIdPartition(new Uuid(1, 1), new TopicPartition("t", 0));
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int STATE_EPOCH = 7;

    private final Map<Integer, CompletableFuture<Void>> unanswered = new TreeMap<>();
    private final List<Release.DeadLetters> deadLetters = new ArrayList<>();
    private Release release;
    private SharePartition partition;
    private ScriptedPersister persister;
    private VirtualTimer timer;
    private Settings settings;
    private int leaderEpoch;
    private boolean failed;

    /** Applies one operation; {@code seq} names it in a later completion. */
    ObjectNode apply(JsonNode operation, int seq, List<String> answers) throws Exception {
        ObjectNode reply = JSON.createObjectNode();
        ObjectNode result = reply.putObject("result");
        if (persister != null) {
            persister.script(answers);
        }
        switch (operation.get("op").asText()) {
            case "initialize" -> initialize(operation, result);
            case "acquire" -> acquire(operation, result, reply);
            case "acknowledge" -> answer(result, seq, partition.acknowledge(
                operation.get("member").asText(), batches(operation.get("batches"))));
            case "release" -> answer(result, seq,
                partition.releaseAcquiredRecords(operation.get("member").asText()));
            case "advance_time" -> {
                timer.advanceClock(operation.get("ms").asLong());
                result.put("status", Errors.NONE.name());
            }
            case "complete_write" -> {
                String status = operation.get("status").asText();
                if (!persister.complete(operation.get("id").asInt(), status)) {
                    throw new IllegalArgumentException("no such write is outstanding");
                }
                result.put("status", status);
            }
            case "produce" -> result.put("status", Errors.NONE.name());
            case "advance_log_start" -> {
                partition.updateCacheAndOffsets(operation.get("log_start_offset").asLong());
                result.put("status", Errors.NONE.name());
            }
            case "finish_dead_letter" -> {
                ArrayNode ranges = reply.putArray("ranges");
                if (!deadLetters.isEmpty()) {
                    Release.DeadLetters done =
                        deadLetters.remove(operation.get("nth").asInt() % deadLetters.size());
                    ranges.addArray().add(done.first()).add(done.last());
                    if (operation.path("fails").asBoolean()) {
                        done.future().completeExceptionally(Errors.TOPIC_AUTHORIZATION_FAILED.exception());
                    } else {
                        done.future().complete(null);
                    }
                }
                result.put("status", Errors.NONE.name());
            }
            case "alter_config" -> {
                settings.read(operation.get("config"));
                result.put("status", Errors.NONE.name());
            }
            default -> throw new IllegalArgumentException("unknown operation " + operation.get("op"));
        }
        writes(reply.putArray("writes"));
        completed(reply.putArray("completed"), seq);
        after(reply.putObject("after"));
        return reply;
    }

    private void initialize(JsonNode operation, ObjectNode result) throws Exception {
        int nextId = persister == null ? 0 : persister.nextId();
        close();
        JsonNode stored = operation.get("persisted");
        List<PersisterStateBatch> batches = new ArrayList<>();
        for (JsonNode row : stored.get("state_batches")) {
            batches.add(new PersisterStateBatch(row.get(0).asLong(), row.get(1).asLong(),
                (byte) row.get(2).asInt(), (short) row.get(3).asInt()));
        }
        timer = new VirtualTimer(operation.path("time_ms").asLong(0));
        persister = new ScriptedPersister(PARTITION.topicId(), ScriptedPersister.stored(
            stored.path("state_epoch").asInt(STATE_EPOCH), stored.get("start_offset").asLong(), batches), nextId);
        settings = new Settings(operation.get("config"));
        Release.LogEnds log = new Release.LogEnds(
            operation.get("log_start_offset").asLong(), operation.get("log_end_offset").asLong(),
            operation.path("reset_offset").asLong(-1));
        release = new Release(GROUP, PARTITION, ++leaderEpoch, settings, timer, persister, log, deadLetters);
        partition = release.partition;
        CompletableFuture<Void> done = partition.maybeInitialize();
        result.put("status", done.isDone() ? status(done) : ScriptedPersister.PENDING);
        failed = done.isCompletedExceptionally();
    }

    /** Fetches as a broker does: from the share-partition's own fetch offset, some batches of the log. */
    private void acquire(JsonNode operation, ObjectNode result, ObjectNode reply) throws Exception {
        if (!partition.canAcquireRecords()) {
            reply.put("skipped", true);
            result.put("can_acquire", false);
            return;
        }
        long fetchOffset = partition.nextFetchOffset();
        List<long[]> read = new ArrayList<>();
        for (JsonNode row : operation.get("log")) {
            if (row.get(1).asLong() >= fetchOffset && read.size() < operation.get("max_batches").asInt()) {
                read.add(new long[] {row.get(0).asLong(), row.get(1).asLong()});
            }
        }
        reply.put("fetch_offset", fetchOffset);
        ArrayNode rows = reply.putArray("log_batches");
        read.forEach(batch -> rows.addArray().add(batch[0]).add(batch[1]));
        Map<Long, Long> aborted = new TreeMap<>();
        operation.path("aborted").forEach(row -> aborted.put(row.get(0).asLong(), row.get(1).asLong()));
        FetchPartitionData data = new FetchPartitionData(Errors.NONE,
            operation.get("log_end_offset").asLong(), operation.get("log_start_offset").asLong(),
            records(batches(read, aborted), Set.of()), Optional.empty(), OptionalLong.empty(),
            aborted.isEmpty() ? Optional.empty() : Optional.of(transactions(aborted)),
            OptionalInt.empty(), false);
        ShareAcquiredRecords taken = release.acquire(operation, fetchOffset, data, settings.isolation);
        result.put("status", Errors.NONE.name());
        ArrayNode acquired = result.putArray("acquired");
        taken.acquiredRecords().forEach(range -> acquired.addArray()
            .add(range.firstOffset()).add(range.lastOffset()).add(range.deliveryCount()));
        result.put("count", taken.count());
    }

    /** What a broker tells of aborted transactions: each has a producer of its own, by its first offset. */
    private static List<FetchResponseData.AbortedTransaction> transactions(Map<Long, Long> aborted) {
        return aborted.keySet().stream()
            .map(first -> new FetchResponseData.AbortedTransaction().setProducerId(first).setFirstOffset(first))
            .toList();
    }

    /** A batch of a log; {@code marker} is null unless it is that of a transaction's end. */
    record LogBatch(long first, long last, long producer, ControlRecordType marker) {}

    /** Returns what is read, where each aborted transaction has one batch and its marker. */
    private static List<LogBatch> batches(List<long[]> read, Map<Long, Long> aborted) {
        Map<Long, Long> markers = new TreeMap<>();
        aborted.forEach((first, last) -> markers.put(last + 1, first));
        return read.stream().map(batch -> markers.containsKey(batch[0])
            ? new LogBatch(batch[0], batch[1], markers.get(batch[0]), ControlRecordType.ABORT)
            : new LogBatch(batch[0], batch[1], aborted.containsKey(batch[0]) ? batch[0] : RecordBatch.NO_PRODUCER_ID,
                null)).toList();
    }

    /** Returns batches without the records that compaction took. */
    static MemoryRecords records(List<LogBatch> batches, Set<Long> compacted) {
        int size = 0;
        for (LogBatch batch : batches) {
            size += 128 + 32 * (int) (batch.last() - batch.first() + 1);
        }
        ByteBuffer buffer = ByteBuffer.allocate(size);
        for (LogBatch batch : batches) {
            long producer = batch.producer();
            if (batch.marker() != null) {
                MemoryRecords.writeEndTransactionalMarker(buffer, batch.first(), 0, 0, producer, (short) 0,
                    new EndTransactionMarker(batch.marker(), 0));
                continue;
            }
            boolean transactional = producer != RecordBatch.NO_PRODUCER_ID;
            MemoryRecordsBuilder builder = new MemoryRecordsBuilder(buffer, RecordBatch.CURRENT_MAGIC_VALUE,
                Compression.NONE, TimestampType.CREATE_TIME, batch.first(), 0, producer,
                transactional ? (short) 0 : RecordBatch.NO_PRODUCER_EPOCH,
                transactional ? 0 : RecordBatch.NO_SEQUENCE, transactional, false,
                RecordBatch.NO_PARTITION_LEADER_EPOCH, buffer.limit());
            for (long offset = batch.first(); offset <= batch.last(); offset++) {
                if (!compacted.contains(offset)) {
                    builder.appendWithOffset(offset, new SimpleRecord(0, (byte[]) null));
                }
            }
            builder.overrideLastOffset(batch.last());
            builder.close();
            buffer = builder.buffer();
        }
        buffer.flip();
        return MemoryRecords.readableRecords(buffer);
    }

    private static List<ShareAcknowledgementBatch> batches(JsonNode rows) {
        List<ShareAcknowledgementBatch> batches = new ArrayList<>();
        for (JsonNode row : rows) {
            List<Byte> types = new ArrayList<>();
            row.get(2).forEach(type -> types.add((byte) type.asInt()));
            batches.add(new ShareAcknowledgementBatch(row.get(0).asLong(), row.get(1).asLong(), types));
        }
        return batches;
    }

    private void answer(ObjectNode result, int seq, CompletableFuture<Void> future) throws Exception {
        if (!future.isDone()) {
            unanswered.put(seq, future);
        }
        result.put("status", future.isDone() ? status(future) : ScriptedPersister.PENDING);
    }

    private static String status(CompletableFuture<Void> future) throws InterruptedException {
        try {
            future.get();
            return Errors.NONE.name();
        } catch (java.util.concurrent.ExecutionException error) {
            Throwable cause = error.getCause();
            while (cause instanceof CompletionException && cause.getCause() != null) {
                cause = cause.getCause();
            }
            return Errors.forException(cause).name();
        }
    }

    private void writes(ArrayNode rows) {
        if (persister == null) {
            return;
        }
        for (ScriptedPersister.Written write : persister.takeWritten()) {
            persister.check(write.data(), leaderEpoch);
            ObjectNode row = rows.addObject();
            row.put("id", write.id());
            row.put("start_offset", write.data().startOffset());
            row.put("delivery_complete_count", Release.deliveryCompleteCount(write.data()));
            ArrayNode batches = row.putArray("state_batches");
            for (PersisterStateBatch batch : write.data().stateBatches()) {
                batches.addArray().add(batch.firstOffset()).add(batch.lastOffset())
                    .add(batch.deliveryState()).add(batch.deliveryCount());
            }
            row.put("status", write.status());
        }
    }

    private void completed(ArrayNode rows, int seq) throws Exception {
        for (Integer earlier : List.copyOf(unanswered.keySet())) {
            if (earlier != seq && unanswered.get(earlier).isDone()) {
                rows.addObject().put("seq", earlier).put("status", status(unanswered.remove(earlier)));
            }
        }
    }

    /** Kafka's end offset is the last one in flight, and the next one where nothing is in flight. */
    private void after(ObjectNode after) {
        if (failed) { // There is no window: what was read of it is not used.
            after.put("start_offset", 0).put("end_offset", 0).put("delivery_complete_count", 0);
            return;
        }
        long start = partition.startOffset();
        var cached = partition.cachedState();
        boolean empty = cached.isEmpty() || cached.lastEntry().getValue().lastOffset() < start;
        after.put("start_offset", start);
        after.put("end_offset", empty ? partition.endOffset() : partition.endOffset() + 1);
        ArrayNode rows = after.putArray("records");
        for (InFlightBatch batch : cached.values()) {
            if (batch.offsetState() == null) {
                row(rows, batch.firstOffset(), batch.lastOffset(), batch.batchState(),
                    batch.batchDeliveryCount(), batch.batchMemberId(), batch.batchHasOngoingStateTransition());
            } else {
                batch.offsetState().forEach((offset, state) -> row(rows, offset, offset, state.state(),
                    state.deliveryCount(), state.memberId(), state.hasOngoingStateTransition()));
            }
        }
        after.put("delivery_complete_count", release.deliveryCompleteCount(complete(rows, start)));
    }

    /** How many records from {@code start} on are acknowledged or archived. */
    private static int complete(ArrayNode rows, long start) {
        long records = 0;
        for (JsonNode row : rows) {
            if (row.get(2).asText().equals("ACKNOWLEDGED") || row.get(2).asText().equals("ARCHIVED")) {
                records += Math.max(0, row.get(1).asLong() - Math.max(start, row.get(0).asLong()) + 1);
            }
        }
        return (int) records;
    }

    private static void row(ArrayNode rows, long first, long last, RecordState state, int count,
                            String member, boolean pending) {
        rows.addArray().add(first).add(last).add(state.name()).add(count)
            .add(InFlightState.EMPTY_MEMBER_ID.equals(member) ? null : member).add(pending);
    }

    @Override
    public void close() throws Exception {
        unanswered.clear();
        deadLetters.clear();
        if (partition != null) {
            release.close();
            timer.close();
        }
    }
}
