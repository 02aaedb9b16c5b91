package kafka.server.share;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.kafka.common.message.FetchResponseData.AbortedTransaction;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;

/** A partition's log, as its readers see it: batches, transactions that are open, and those that were aborted. */
final class Log {
    private static final int AT_ONCE = 4;
    private static final int RECORD_BYTES = 32;

    /** A transaction that was aborted, by the offsets of its first record and of its marker. */
    private record Aborted(long producer, long first, long marker) {}

    private final NavigableMap<Long, Target.LogBatch> batches = new TreeMap<>();
    private final Map<Long, Long> open = new TreeMap<>();
    private final List<Aborted> aborted = new ArrayList<>();
    private final Set<Long> compacted = new HashSet<>();
    private long start;
    private long end;

    void append(int records) {
        add(records, RecordBatch.NO_PRODUCER_ID, null);
    }

    /** Appends in a producer's transaction; returns whether it began with that. */
    boolean append(int records, long producer) {
        boolean begins = open.putIfAbsent(producer, end) == null;
        add(records, producer, null);
        return begins;
    }

    private void add(int records, long producer, ControlRecordType marker) {
        batches.put(end + records - 1, new Target.LogBatch(end, end + records - 1, producer, marker));
        end += records;
    }

    /** Ends a producer's transaction; returns the ranges of its records. */
    List<long[]> finish(long producer, boolean abort) {
        long first = open.remove(producer);
        List<long[]> ranges = batches.tailMap(first).values().stream().filter(batch -> batch.producer() == producer)
            .map(batch -> new long[] {batch.first(), batch.last()}).toList();
        if (abort) {
            aborted.add(new Aborted(producer, first, end));
        }
        add(1, producer, abort ? ControlRecordType.ABORT : ControlRecordType.COMMIT);
        return ranges;
    }

    long start() {
        return start;
    }

    long end() {
        return end;
    }

    /** Returns up to where one may read; under read_committed that is the last stable offset. */
    long end(FetchIsolation isolation) {
        return isolation == FetchIsolation.TXN_COMMITTED
            ? open.values().stream().mapToLong(first -> first).min().orElse(end) : end;
    }

    /** Deletes the records before an offset, which may lie inside a batch. */
    void deleteTo(long offset) {
        start = Math.max(start, offset);
    }

    /** Takes some records, and batches that have none left, of what is stable; returns which. */
    List<long[]> compact(Random random) {
        long until = end(FetchIsolation.TXN_COMMITTED);
        List<long[]> taken = new ArrayList<>();
        for (Target.LogBatch batch : List.copyOf(batches.values())) {
            int parts = 1 + random.nextInt(4);
            boolean stays = batch.last() >= until || batch.last() == end - 1 || batch.marker() != null;
            boolean isEmpty = !stays;
            for (long offset = batch.first(); !stays && offset <= batch.last(); offset++) {
                if (random.nextInt(parts) == 0 && compacted.add(offset)) {
                    taken.add(new long[] {offset, offset});
                }
                isEmpty &= compacted.contains(offset);
            }
            if (isEmpty) {
                batches.remove(batch.last());
            }
        }
        return taken;
    }

    /** Returns where an offset is in the only segment. */
    LogOffsetMetadata place(long offset) {
        return new LogOffsetMetadata(offset, 0, (int) offset * RECORD_BYTES);
    }

    /** Returns a few batches, from the one that has an offset, with the aborted transactions among them. */
    FetchDataInfo from(long offset, FetchIsolation isolation) {
        long until = end(isolation);
        List<Target.LogBatch> read = offset >= until ? List.of()
            : batches.subMap(offset, until).values().stream().limit(AT_ONCE).toList();
        MemoryRecords records = Target.records(read, compacted);
        if (isolation != FetchIsolation.TXN_COMMITTED || read.isEmpty()) {
            return new FetchDataInfo(place(offset), records);
        }
        long last = read.get(read.size() - 1).last();
        Stream<Aborted> among = aborted.stream().filter(each -> each.marker >= offset && each.first <= last);
        return new FetchDataInfo(place(offset), records, false, Optional.of(among.map(each ->
            new AbortedTransaction().setProducerId(each.producer).setFirstOffset(each.first)).toList()));
    }
}
