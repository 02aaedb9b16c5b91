package sharespec.recorder;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** SharePartition.acknowledge, and releaseAcquiredRecords where there are no batches. */
final class Acknowledge extends Operation {
    private final String member;
    private final List<?> batches;

    Acknowledge(Partition partition, Object source, long enteredMs, String member, List<?> batches) {
        super(partition, source, enteredMs);
        this.member = member;
        this.batches = batches;
    }

    @Override
    String op() {
        return batches == null ? "release" : "acknowledge";
    }

    @Override
    boolean mayWrite() {
        return true;
    }

    @Override
    boolean waits() {
        return true;
    }

    /** A refused one changes some records and then undoes it: only the second stretch is told. */
    @Override
    void ends() throws Throwable {
        if (row != null) {
            partition.undone(row);
        }
        take();
    }

    @Override
    void fill(Row filled, Object result) throws Throwable {
        filled.with("member", partition.shown(member));
        if (batches != null) {
            Acknowledgements all = Kafka.acknowledgements(batches);
            filled.with("batches", all);
            if (all.renews()) {
                filled.with("deadline_ms", earliestDeadlineMs());
            }
        }
        if (result instanceof CompletableFuture<?> future && !filled.hasWrite()) {
            Throwable refused = refusal(future);
            if (refused != null) {
                filled.status(Row.error(refused));
            }
        }
    }

    /** Returns what a future ended with, null if it ended well; the error of one that has not ended. */
    static Throwable refusal(CompletableFuture<?> future) {
        if (!future.isDone()) {
            return new IllegalStateException("not answered");
        }
        try {
            future.join();
            return null;
        } catch (CompletionException wrapped) {
            return wrapped.getCause() == null ? wrapped : wrapped.getCause();
        } catch (RuntimeException other) {
            return other;
        }
    }
}
