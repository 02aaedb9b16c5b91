package sharespec.recorder;

import java.util.TreeMap;

/**
 * Puts the rows of one instance into the order of their numbers; the writer's own.
 *
 * <p>Rows arrive when their threads have filled them, which is not the order of the lock. A row that
 * never comes leaves a hole: the trace goes on after it with a gap and the next checkpoint that
 * follows a loss.
 */
final class Ledger {
    /** How long rows that others have overtaken are waited for. */
    private static final long GRACE_MS = 500;

    /** How many later sections may have left the numbers of a write. */
    private static final int AHEAD = 3;

    /** Where lines go. */
    interface Sink {
        boolean write(String line, Partition partition, long seq);

        void done(Row row, boolean written);

        Names names();
    }

    private final Partition partition;
    private final TreeMap<Long, Row> waiting = new TreeMap<>();
    private final Json json = new Json();
    private long next;
    private long seq;
    /** What was written last may not be on disk: nothing is written before a checkpoint. */
    private boolean broken;
    /** Rows behind a hole were given up: nothing is kept before a checkpoint. */
    private boolean skipping;

    Ledger(Partition partition) {
        this.partition = partition;
    }

    boolean isWaiting() {
        return !waiting.isEmpty();
    }

    void accept(Row row, Sink sink) {
        if (row.section.number() < next || skipping && !row.resumes) {
            sink.done(row, false);
            return;
        }
        if (skipping) {
            resume(row, row.section.number() - next, sink);
            advance(sink);
            return;
        }
        waiting.put(row.section.number(), row);
        advance(sink);
    }

    /** Writes what is in order now. */
    private void advance(Sink sink) {
        for (Row row = waiting.get(next); row != null && isWritable(row); row = waiting.get(next)) {
            waiting.remove(next);
            if (row.resumes) {
                resume(row, null, sink);
            } else {
                write(row, sink);
            }
        }
    }

    /** Whether the place is known of what its write tells. */
    private boolean isWritable(Row row) {
        Write write = row.write();
        if (write != null && write.early && !findAhead(write)) {
            return false;
        }
        for (long number = next + 1; number <= row.refersTo(); number++) {
            if (!waiting.containsKey(number)) {
                return false;
            }
        }
        return true;
    }

    /** Looks for the section that left the numbers of a write; false if it may still come. */
    private boolean findAhead(Write write) {
        long from = write.madeAfter.number();
        for (long number = from + 1; number <= from + AHEAD; number++) {
            Row later = waiting.get(number);
            if (later == null) {
                return false;
            }
            if (write.has(later.section)) {
                write.madeAfter = later.section;
                break;
            }
        }
        write.early = false;
        return true;
    }

    private long madeAfter(Row row) {
        long place = row.section.seq();
        for (long number = next + 1; number <= row.refersTo(); number++) {
            if (waiting.get(number).op != null) {
                place++;
            }
        }
        return place;
    }

    private void write(Row row, Sink sink) {
        if (broken) {
            next = row.section.number() + 1;
            sink.done(row, row.op == null);
            return;
        }
        boolean written = true;
        if (row.op == null) {
            row.section.seq(seq - 1);
        } else {
            row.section.seq(seq++);
            row.append(json, madeAfter(row), sink.names());
            written = sink.write(json.toString(), partition, row.section.seq());
            if (!written) {
                undo(row.section.seq());
            }
        }
        next = row.section.number() + 1;
        sink.done(row, written);
    }

    /** Gives up on what is missing, if a checkpoint after the loss has waited long enough. */
    void settle(long nowMs, Sink sink) {
        Row first = waiting.get(next);
        if (first != null && first.write() != null && nowMs - first.section.timeMs() > GRACE_MS) {
            first.write().early = false;
            advance(sink);
        }
        Row found = null;
        for (Row row : waiting.values()) {
            if (row.resumes && nowMs - row.section.timeMs() > GRACE_MS) {
                found = row;
                break;
            }
        }
        if (found == null) {
            giveUp(nowMs, sink);
            return;
        }
        long lost = found.section.number() - next;
        while (waiting.firstKey() < found.section.number()) {
            sink.done(waiting.pollFirstEntry().getValue(), false);
        }
        waiting.remove(found.section.number());
        resume(found, lost, sink);
        advance(sink);
    }

    /** What waits behind a hole that stays must not keep the room that a checkpoint needs. */
    private void giveUp(long nowMs, Sink sink) {
        if (!waiting.isEmpty() && waiting.firstKey() != next && partition.hasLost()
                && nowMs - waiting.firstEntry().getValue().section.timeMs() > GRACE_MS) {
            close(sink);
            skipping = true;
        }
    }

    private void resume(Row checkpoint, Long lost, Sink sink) {
        broken = false;
        skipping = false;
        next = checkpoint.section.number();
        if (seq == 0) {
            write(checkpoint, sink);
            return;
        }
        Row gap = new Row(partition, new Section(checkpoint.section.number(), checkpoint.section.timeMs(),
            checkpoint.section.start(), checkpoint.section.end(), checkpoint.section.completed()), "gap")
            .with("lost", lost);
        gap.section.seq(seq++);
        gap.append(json, gap.section.seq(), sink.names());
        if (sink.write(json.toString(), partition, gap.section.seq())) {
            write(checkpoint, sink);
        } else {
            next = checkpoint.section.number() + 1;
            sink.done(checkpoint, false);
            undo(gap.section.seq());
        }
    }

    /** What was written from this place on did not reach the disk. */
    void undo(long from) {
        seq = Math.min(seq, from);
        broken = true;
        partition.lost();
    }

    /** Nothing more will come: what still waits is lost. */
    void close(Sink sink) {
        while (!waiting.isEmpty()) {
            sink.done(waiting.pollFirstEntry().getValue(), false);
        }
    }
}
