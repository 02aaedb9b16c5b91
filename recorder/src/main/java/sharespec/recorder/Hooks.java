package sharespec.recorder;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * What the woven SharePartition calls. Nothing is thrown into Kafka from here, and no lock is taken.
 *
 * <p>Public, as Kafka's class has to see it.
 */
public final class Hooks {
    private static final ThreadLocal<Operation[]> CURRENT = ThreadLocal.withInitial(() -> new Operation[1]);

    private static volatile Function<Object, Recorder> recorders = source -> null;

    private Hooks() { }

    /** Takes what tells the recorder of a share-partition, or null; it throws nothing. */
    static void use(Function<Object, Recorder> value) {
        recorders = value;
    }

    /** Makes an operation of a share-partition that is recorded. */
    private interface Maker {
        Operation make(Partition partition, Recorder recorder) throws Throwable;
    }

    private static Operation begin(Object source, Maker maker) {
        Recorder now = recorders.apply(source);
        if (now == null || !now.isRecording()) {
            return null;
        }
        Partition partition = null;
        try {
            partition = now.instances().of(source);
            if (!partition.recorded) {
                return null;
            }
            Operation operation = maker.make(partition, now);
            Operation[] current = CURRENT.get();
            operation.outer = current[0];
            current[0] = operation;
            return operation;
        } catch (Throwable fault) {
            now.fault(partition, fault);
            return null;
        }
    }

    /** An operation has ended, with a result or by throwing. */
    public static void end(Object begun, Object result, Throwable thrown) {
        if (!(begun instanceof Operation operation)) {
            return;
        }
        Recorder now = operation.partition.recorder;
        try {
            CURRENT.get()[0] = operation.outer;
            operation.finish(now, result, thrown);
        } catch (Throwable fault) {
            now.fault(operation.partition, fault);
        }
    }

    /** Returns what this thread does to a share-partition, if that is the innermost. */
    private static Operation current(Object source) {
        Operation operation = CURRENT.get()[0];
        return operation != null && operation.source == source ? operation : null;
    }

    private interface Step {
        void take(Operation operation) throws Throwable;
    }

    private static void step(Object source, Step step) {
        Operation operation = null;
        try {
            operation = current(source);
            if (operation != null) {
                step.take(operation);
            }
        } catch (Throwable fault) {
            recorders.apply(source).fault(operation == null ? null : operation.partition, fault);
        }
    }

    public static Object acquire(Object source, String member, Object mode, int batchSize, int maxRecords,
            long fetchOffset, Object read, Object isolation) {
        return begin(source, (partition, now) -> new Acquire(partition, source, now.nowMs(), member, mode,
            batchSize, maxRecords, fetchOffset, read, isolation));
    }

    public static Object acknowledge(Object source, String member, List<?> batches) {
        return begin(source, (partition, now) ->
            new Acknowledge(partition, source, now.nowMs(), member, batches));
    }

    public static Object moveLogStart(Object source, long offset) {
        return begin(source, (partition, now) -> new MoveLogStart(partition, source, now.nowMs(), offset));
    }

    public static Object expire(Object source, Object task) {
        return begin(source, (partition, now) ->
            new Expire(partition, source, now.nowMs(), Kafka.due(task) + now.clockShift()));
    }

    public static Object initialize(Object source) {
        return begin(source, (partition, now) -> new Call(partition, source, now.nowMs(), null));
    }

    public static Object sendDeadLetters(Object source, long first, long last) {
        return begin(source, (partition, now) -> new Call(partition, source, now.nowMs(),
            new Table.Builder(2).add(first, last).build()));
    }

    /** The share-partition is about to unlock. */
    public static void beforeUnlock(Lock lock, Object source) {
        step(source, operation -> {
            if (lock instanceof ReentrantReadWriteLock.WriteLock write
                    && write.getHoldCount() == operation.holds + 1) {
                operation.atUnlock();
            }
        });
    }

    /** The answer of the current operation is this future. */
    public static void answersWith(Object source, CompletableFuture<?> future) {
        step(source, operation -> operation.answer = future);
    }

    /** The numbers of a write are read now. */
    public static void beforeNumbers(Object source) {
        step(source, Operation::beforeNumbers);
    }

    /** A write is handed to the persister. */
    public static void beforeWrite(Object parameters, Object source) {
        step(source, operation -> operation.writes(parameters));
    }

    /** Acquired records are looked through for those of aborted transactions. */
    public static void beforeFilter(Object source, Object acquired) {
        step(source, operation -> {
            if (operation instanceof Acquire acquire) {
                acquire.filters(acquired);
            }
        });
    }

    /** These batches of the log are of aborted transactions. */
    public static void aborted(Object source, Iterable<?> batches) {
        step(source, operation -> {
            if (batches != null && operation instanceof Acquire acquire) {
                acquire.aborts(Kafka.ranges(batches));
            }
        });
    }

    /** Returns a continuation that is an operation: Kafka's own, with a begin and an end. */
    public static BiConsumer<Object, Throwable> awaiting(BiConsumer<Object, Throwable> continuation, Object source) {
        BiConsumer<Object, Throwable> wrapped = null;
        try {
            Operation operation = current(source);
            if (operation != null) {
                wrapped = wrapped(operation, continuation, source);
            }
        } catch (Throwable fault) {
            recorders.apply(source).fault(null, fault);
        }
        return wrapped == null ? continuation : wrapped;
    }

    private static BiConsumer<Object, Throwable> wrapped(Operation operation,
            BiConsumer<Object, Throwable> continuation, Object source) {
        if (operation instanceof Call call) {
            Table letters = call.deadLetters;
            if (letters == null) {
                return around(continuation, source, (partition, now, result, failure) ->
                    new Initialize(partition, source, now.nowMs(), result));
            }
            return around(continuation, source, (partition, now, result, failure) ->
                new FinishDeadLetter(partition, source, now.nowMs(), letters.cell(0, 0), letters.cell(0, 1)));
        }
        Write write = operation.unawaited;
        if (write == null) {
            return null;
        }
        operation.unawaited = null;
        return around(continuation, source, (partition, now, result, failure) ->
            new CompleteWrite(partition, source, now.nowMs(), write, failure));
    }

    private interface Continued {
        Operation make(Partition partition, Recorder recorder, Object result, Throwable failure) throws Throwable;
    }

    private static BiConsumer<Object, Throwable> around(BiConsumer<Object, Throwable> continuation, Object source,
            Continued maker) {
        return (result, failure) -> {
            Operation operation = begin(source, (partition, now) -> maker.make(partition, now, result, failure));
            Throwable thrown = null;
            try {
                continuation.accept(result, failure);
            } catch (Throwable escaping) {
                thrown = escaping;
                throw escaping;
            } finally {
                end(operation, null, thrown);
            }
        };
    }
}
