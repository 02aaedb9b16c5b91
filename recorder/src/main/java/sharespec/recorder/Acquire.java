package sharespec.recorder;

import java.util.Locale;

/** SharePartition.acquire, with the records of aborted transactions that it withholds. */
final class Acquire extends Operation {
    private final String member;
    private final Object mode;
    private final int batchSize;
    private final int maxRecords;
    private final long fetchOffset;
    private final Object read;
    private final boolean committed;
    /** What was acquired before the records of aborted transactions were taken out. */
    private Object unfiltered;
    private Table aborted = Table.EMPTY;
    private Row abortion;

    Acquire(Partition partition, Object source, long enteredMs, String member, Object mode, int batchSize,
            int maxRecords, long fetchOffset, Object read, Object isolation) {
        super(partition, source, enteredMs);
        this.member = member;
        this.mode = mode;
        this.batchSize = batchSize;
        this.maxRecords = maxRecords;
        this.fetchOffset = fetchOffset;
        this.read = read;
        this.committed = ((Enum<?>) isolation).name().equals("TXN_COMMITTED");
    }

    @Override
    String op() {
        return "acquire";
    }

    void filters(Object acquired) {
        unfiltered = acquired;
    }

    /** Still under the lock: the records are acquired, those of aborted transactions follow. */
    void aborts(Table ranges) throws Throwable {
        if (!ranges.isEmpty() && aborted.isEmpty()) {
            partition.isolation(committed);
            take();
            aborted = ranges;
        }
    }

    @Override
    void ends() throws Throwable {
        if (aborted.isEmpty()) {
            partition.isolation(committed); // Under the lock: one that waits for it may have another.
            take();
        } else {
            abortion = partition.section(source, "archive_aborted");
        }
    }

    @Override
    void fill(Row filled, Object result) throws Throwable {
        Table acquired = Table.EMPTY;
        if (result != null) {
            acquired = Kafka.acquired(aborted.isEmpty() ? result : unfiltered);
        }
        long upTo = -1;
        for (int at = 0; at < acquired.rows(); at++) {
            upTo = Math.max(upTo, acquired.cell(at, 1));
        }
        filled.with("member", partition.shown(member))
            .with("acquire_mode", mode == null ? null : ((Enum<?>) mode).name().toLowerCase(Locale.ROOT))
            .with("batch_size", batchSize).with("max_fetch_records", maxRecords).with("fetch_offset", fetchOffset)
            .with("log_batches", Kafka.logBatches(read, upTo))
            .with("high_watermark", Kafka.highWatermark(read)).with("log_start_offset", Kafka.logStart(read));
        if (Kafka.lastStable(read) != null) {
            filled.with("last_stable_offset", Kafka.lastStable(read));
        }
        filled.with("deadline_ms", earliestDeadlineMs()).answers("acquired", acquired);
    }

    @Override
    void finish(Recorder recorder, Object result, Throwable thrown) throws Throwable {
        partition.read(Kafka.logStart(read), Kafka.highWatermark(read), Kafka.lastStable(read));
        super.finish(recorder, result, thrown);
        if (abortion != null) {
            recorder.offer(abortion.with("ranges", aborted));
        }
    }
}
