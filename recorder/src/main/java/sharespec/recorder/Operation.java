package sharespec.recorder;

import java.util.concurrent.CompletableFuture;

/**
 * Something that a thread does to a share-partition now. Threads hold a stack of them, as the answer
 * of one may run another.
 */
abstract class Operation {
    final Partition partition;
    final Object source;
    final long enteredMs;
    /** How often this thread held the write lock already: older brokers write under it. */
    final int holds;
    Operation outer;
    Row row;
    /** The future of whoever asked for the operation. */
    CompletableFuture<?> answer;
    /** Its write, until the continuation that awaits the answer is known. */
    Write unawaited;
    private Section beforeNumbers;
    private long deadlineMs;
    private boolean undecided;
    private boolean cut;

    Operation(Partition partition, Object source, long enteredMs) {
        this.partition = partition;
        this.source = source;
        this.enteredMs = enteredMs;
        holds = partition.lock.getWriteHoldCount();
    }

    /** Its name in the trace. */
    abstract String op();

    /** Whether it may write after its stretch under the lock. */
    boolean mayWrite() {
        return false;
    }

    /** Whether who asked for it gets an answer only when the write has one. */
    boolean waits() {
        return false;
    }

    /** Fills the row with arguments and answer, outside the lock if Kafka is. */
    abstract void fill(Row filled, Object result) throws Throwable;

    /** The thread is about to let go of the lock that this operation took. */
    final void atUnlock() throws Throwable {
        if (cut) {
            cut = false;
            return;
        }
        ends();
        if (!mayWrite()) {
            partition.checkpoint(source);
        }
    }

    void ends() throws Throwable {
        take();
    }

    final void take() throws Throwable {
        Section before = partition.last();
        row = partition.section(source, op());
        if (row != null) {
            long lockedMs = before == null ? enteredMs : Math.max(enteredMs, before.timeMs());
            deadlineMs = lockedMs + partition.config().lockDurationMs();
        }
        if (mayWrite() && !undecided) {
            undecided = true;
            partition.undecided();
        }
    }

    /** The operation writes; if it still has the lock, its stretch counts as ended here. */
    final void beforeNumbers() throws Throwable {
        if (partition.lock.getWriteHoldCount() > holds && !undecided) {
            ends();
            cut = true;
        }
        beforeNumbers = partition.last();
    }

    final void writes(Object parameters) throws Throwable {
        Write write = partition.made(parameters, beforeNumbers);
        write.row = row;
        write.answer = answer;
        unawaited = write;
        if (row != null) {
            row.writes(write);
            if (waits()) {
                row.status("PENDING");
            }
        }
        decided();
    }

    /**
     * Returns when the locks that it granted end, or up to the time of its stretch earlier: it had
     * the lock neither before it was called nor before the stretch of another ended.
     */
    final long earliestDeadlineMs() {
        return deadlineMs;
    }

    private void decided() {
        if (undecided) {
            undecided = false;
            partition.decided();
        }
    }

    /** The operation has ended: offer its row. */
    void finish(Recorder recorder, Object result, Throwable thrown) throws Throwable {
        decided();
        if (row == null && thrown != null) {
            row = partition.unlocked(op());
        }
        if (row != null) {
            if (thrown != null) {
                row.threw(thrown);
            }
            fill(row, result);
            recorder.offer(row);
        }
    }
}
