package sharespec.recorder;

/** The end of a lock by the timer. */
final class Expire extends Operation {
    private final long dueMs;

    Expire(Partition partition, Object source, long enteredMs, long dueMs) {
        super(partition, source, enteredMs);
        this.dueMs = dueMs;
    }

    @Override
    String op() {
        return "expire";
    }

    @Override
    boolean mayWrite() {
        return true;
    }

    @Override
    void fill(Row filled, Object result) {
        filled.with("ranges", filled.writtenRanges()).with("due_ms", dueMs);
    }

    /** A timer that came too late, as the records were acknowledged, ends no lock. */
    @Override
    void finish(Recorder recorder, Object result, Throwable thrown) throws Throwable {
        if (row != null && thrown == null && !row.hasWrite()) {
            partition.undone(row);
            row = null;
        }
        super.finish(recorder, result, thrown);
    }
}
