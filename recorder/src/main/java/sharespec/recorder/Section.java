package sharespec.recorder;

/**
 * The window as one stretch under a share-partition's lock left it, with the stretch's number.
 *
 * <p>The numbers of a share-partition have no gaps, so one that never reaches the trace is noticed.
 * They are taken while the write lock is held: their order is the order in which the lock let the
 * changes happen.
 */
final class Section {
    static final long NOT_WRITTEN = -1;

    private final long number;
    private final long timeMs;
    private final long start;
    private final long end;
    private final int completed;
    /** Its place in the trace; the writer's own. */
    private long seq = NOT_WRITTEN;

    Section(long number, long timeMs, long start, long end, int completed) {
        this.number = number;
        this.timeMs = timeMs;
        this.start = start;
        this.end = end;
        this.completed = completed;
    }

    long number() {
        return number;
    }

    long timeMs() {
        return timeMs;
    }

    long start() {
        return start;
    }

    /** The offset after the last in the window. */
    long end() {
        return end;
    }

    int completed() {
        return completed;
    }

    long seq() {
        return seq;
    }

    void seq(long value) {
        seq = value;
    }
}
