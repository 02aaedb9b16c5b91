package sharespec.recorder;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** The rows that wait for the writer: bounded in number and size, and nobody waits for it. */
final class RowQueue {
    private final int maxRows;
    private final long maxBytes;
    private final ConcurrentLinkedQueue<Row> rows = new ConcurrentLinkedQueue<>();
    private final AtomicInteger count = new AtomicInteger();
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong dropped = new AtomicLong();

    RowQueue(int maxRows, long maxBytes) {
        this.maxRows = maxRows;
        this.maxBytes = maxBytes;
    }

    boolean offer(Row row) {
        int waiting = count.incrementAndGet();
        long taken = bytes.addAndGet(row.bytes());
        if (waiting > maxRows || taken > maxBytes) {
            release(row);
            dropped.incrementAndGet();
            return false;
        }
        rows.add(row);
        return true;
    }

    /** Returns the next row, whose room is free again only after {@code release}. */
    Row poll() {
        return rows.poll();
    }

    void release(Row row) {
        count.decrementAndGet();
        bytes.addAndGet(-row.bytes());
    }

    boolean isHalfEmpty() {
        return count.get() < maxRows / 2 && bytes.get() < maxBytes / 2;
    }

    int size() {
        return count.get();
    }

    long dropped() {
        return dropped.get();
    }
}
