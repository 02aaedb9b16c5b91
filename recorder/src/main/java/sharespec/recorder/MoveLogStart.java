package sharespec.recorder;

/** SharePartition.updateCacheAndOffsets: records were deleted from the log. */
final class MoveLogStart extends Operation {
    static final String NAME = "advance_log_start";
    private final long logStart;

    MoveLogStart(Partition partition, Object source, long enteredMs, long logStart) {
        super(partition, source, enteredMs);
        this.logStart = logStart;
    }

    @Override
    String op() {
        return NAME;
    }

    @Override
    void fill(Row filled, Object result) {
        filled.with("log_start_offset", logStart);
    }
}
