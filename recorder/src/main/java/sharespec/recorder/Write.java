package sharespec.recorder;

import java.util.concurrent.CompletableFuture;

/** A write of a share-partition's state, from when it is made until it is answered. */
final class Write implements Value {
    final int id;
    final long start;
    final int completed;
    final Table batches;
    /** The section whose state its two numbers are. */
    Section madeAfter;
    /**
     * Whether no section up to that one left such numbers. Kafka reads the count without the lock: it
     * may be that of a stretch that has not ended yet.
     */
    boolean early;
    /** The operation that made it, and the answer that the operation waits with for it. */
    Row row;
    CompletableFuture<?> answer;

    Write(int id, long start, int completed, Table batches) {
        this.id = id;
        this.start = start;
        this.completed = completed;
        this.batches = batches;
    }

    boolean has(Section section) {
        return section.start() == start && section.completed() == completed;
    }

    void appendNumbers(Json out) {
        out.key("id").number(id).key("start_offset").number(start)
            .key("delivery_complete_count").number(completed).key("state_batches").value(batches);
    }

    @Override
    public void append(Json out) {
        appendNumbers(out.open('{'));
        out.close('}');
    }

    @Override
    public int bytes() {
        return 96 + batches.bytes();
    }
}
