package sharespec.recorder;

import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * What the recorder reads of Kafka's objects. It calls nothing that changes them, and nothing of a
 * record but the header of its batch.
 *
 * <p>Not loaded before SharePartition is: loading it finds the members.
 */
final class Kafka {
    private static final MethodHandle GROUP = of(Member.GROUP);
    private static final MethodHandle TOPIC_PARTITION = of(Member.TOPIC_PARTITION);
    private static final MethodHandle LEADER_EPOCH = of(Member.LEADER_EPOCH);
    private static final MethodHandle STATE_EPOCH = of(Member.STATE_EPOCH);
    private static final MethodHandle STATUS = of(Member.STATUS);
    private static final MethodHandle LOCK = of(Member.LOCK);
    private static final MethodHandle CACHE = of(Member.CACHE);
    private static final MethodHandle START = of(Member.START);
    private static final MethodHandle END = of(Member.END);
    private static final MethodHandle COMPLETED = of(Member.COMPLETED);
    private static final MethodHandle LOCK_DURATION = of(Member.LOCK_DURATION);
    private static final MethodHandle DELIVERY_LIMIT = either(Member.DELIVERY_LIMIT, Member.DELIVERY_LIMIT_FIELD);
    private static final MethodHandle RECORD_LOCKS = either(Member.RECORD_LOCKS, Member.RECORD_LOCKS_FIELD);
    private static final MethodHandle DEAD_LETTERS = of(Member.DEAD_LETTERS);
    private static final MethodHandle CONFIG_PROVIDER = of(Member.CONFIG_PROVIDER);
    private static final MethodHandle GROUP_CONFIGS = of(Member.GROUP_CONFIGS);
    private static final MethodHandle PROVIDED_DURATION = of(Member.PROVIDED_DURATION);
    private static final MethodHandle PROVIDED_RENEW = of(Member.PROVIDED_RENEW);
    private static final MethodHandle PROVIDED_RESET = of(Member.PROVIDED_RESET);
    private static final MethodHandle GROUP_CONFIG = of(Member.GROUP_CONFIG);
    private static final MethodHandle GROUP_DURATION = of(Member.GROUP_DURATION);
    private static final MethodHandle GROUP_RESET = of(Member.GROUP_RESET);
    private static final MethodHandle RESET_TYPE = of(Member.RESET_TYPE);
    private static final MethodHandle TOPIC = of(Member.TOPIC);
    private static final MethodHandle PARTITION = of(Member.PARTITION);
    private static final MethodHandle BATCH_FIRST = of(Member.BATCH_FIRST);
    private static final MethodHandle BATCH_LAST = of(Member.BATCH_LAST);
    private static final MethodHandle BATCH_STATE = of(Member.BATCH_STATE);
    private static final MethodHandle BATCH_OFFSETS = of(Member.BATCH_OFFSETS);
    private static final MethodHandle STATE = of(Member.STATE);
    private static final MethodHandle STATE_COUNT = of(Member.STATE_COUNT);
    private static final MethodHandle STATE_MEMBER = of(Member.STATE_MEMBER);
    private static final MethodHandle STATE_PENDING = of(Member.STATE_PENDING);
    private static final MethodHandle STATE_TASK = of(Member.STATE_TASK);
    private static final MethodHandle STATE_BEFORE = of(Member.STATE_BEFORE);
    private static final MethodHandle STATE_STAYS = of(Member.STATE_STAYS);
    private static final MethodHandle BEFORE = of(Member.BEFORE);
    private static final MethodHandle TASK_DUE = of(Member.TASK_DUE);
    private static final MethodHandle ACQUIRED = of(Member.ACQUIRED);
    private static final MethodHandle ACQUIRED_FIRST = of(Member.ACQUIRED_FIRST);
    private static final MethodHandle ACQUIRED_LAST = of(Member.ACQUIRED_LAST);
    private static final MethodHandle ACQUIRED_COUNT = of(Member.ACQUIRED_COUNT);
    private static final MethodHandle READ_RECORDS = of(Member.READ_RECORDS);
    private static final MethodHandle READ_HIGH_WATERMARK = of(Member.READ_HIGH_WATERMARK);
    private static final MethodHandle READ_LOG_START = of(Member.READ_LOG_START);
    private static final MethodHandle READ_LAST_STABLE = of(Member.READ_LAST_STABLE);
    private static final MethodHandle LOG_BATCHES = of(Member.LOG_BATCHES);
    private static final MethodHandle LOG_FIRST = of(Member.LOG_FIRST);
    private static final MethodHandle LOG_LAST = of(Member.LOG_LAST);
    private static final MethodHandle ACK_FIRST = of(Member.ACK_FIRST);
    private static final MethodHandle ACK_LAST = of(Member.ACK_LAST);
    private static final MethodHandle ACK_TYPES = of(Member.ACK_TYPES);
    private static final MethodHandle WRITTEN = of(Member.WRITTEN);
    private static final MethodHandle WRITTEN_TOPICS = of(Member.WRITTEN_TOPICS);
    private static final MethodHandle TOPIC_PARTITIONS = of(Member.TOPIC_PARTITIONS);
    private static final MethodHandle WRITTEN_START = of(Member.WRITTEN_START);
    private static final MethodHandle WRITTEN_COUNT = of(Member.WRITTEN_COUNT);
    private static final MethodHandle WRITTEN_BATCHES = of(Member.WRITTEN_BATCHES);
    private static final MethodHandle DURABLE_TOPICS = of(Member.DURABLE_TOPICS);
    private static final MethodHandle DURABLE_START = of(Member.DURABLE_START);
    private static final MethodHandle DURABLE_STATE_EPOCH = of(Member.DURABLE_STATE_EPOCH);
    private static final MethodHandle DURABLE_BATCHES = of(Member.DURABLE_BATCHES);
    private static final MethodHandle DURABLE_FIRST = of(Member.DURABLE_FIRST);
    private static final MethodHandle DURABLE_LAST = of(Member.DURABLE_LAST);
    private static final MethodHandle DURABLE_STATE = of(Member.DURABLE_STATE);
    private static final MethodHandle DURABLE_COUNT = of(Member.DURABLE_COUNT);
    private static final MethodHandle ERROR_OF = of(Member.ERROR_OF);

    private Kafka() { }

    /** Finds the members through a loader; raises what is wrong with one. */
    static void find(ClassLoader through) throws Throwable {
        Source.loader = through;
        try {
            boolean found = START != null;
            if (!found) {
                throw new IllegalStateException("Kafka was not found");
            }
        } catch (ExceptionInInitializerError wrong) {
            throw wrong.getCause();
        }
    }

    /** Where the members are looked up; apart, as setting it must not load the rest. */
    static final class Source {
        static volatile ClassLoader loader;

        private Source() { }
    }

    private static MethodHandle of(Member member) {
        try {
            return member.handle(Source.loader);
        } catch (ReflectiveOperationException missing) {
            throw new IllegalStateException(missing.toString(), missing);
        }
    }

    private static MethodHandle either(Member first, Member second) {
        MethodHandle handle = of(first);
        return handle == null ? of(second) : handle;
    }

    static String group(Object partition) throws Throwable {
        return (String) (Object) GROUP.invokeExact(partition);
    }

    static String topic(Object partition) throws Throwable {
        Object place = (Object) TOPIC_PARTITION.invokeExact(partition);
        return (String) (Object) TOPIC.invokeExact(place);
    }

    static int number(Object partition) throws Throwable {
        Object place = (Object) TOPIC_PARTITION.invokeExact(partition);
        return (int) (long) PARTITION.invokeExact(place);
    }

    static long leaderEpoch(Object partition) throws Throwable {
        return (long) LEADER_EPOCH.invokeExact(partition);
    }

    static long stateEpoch(Object partition) throws Throwable {
        return (long) STATE_EPOCH.invokeExact(partition);
    }

    static boolean isActive(Object partition) throws Throwable {
        return "ACTIVE".equals(((Enum<?>) (Object) STATUS.invokeExact(partition)).name());
    }

    static ReentrantReadWriteLock lock(Object partition) throws Throwable {
        return (ReentrantReadWriteLock) (Object) LOCK.invokeExact(partition);
    }

    static long start(Object partition) throws Throwable {
        return (long) START.invokeExact(partition);
    }

    /** Kafka's end offset is the last one in flight, and the next one where nothing is in flight. */
    static long end(Object partition) throws Throwable {
        NavigableMap<?, ?> cache = cache(partition);
        long end = (long) END.invokeExact(partition);
        Map.Entry<?, ?> last = cache.lastEntry();
        boolean empty = last == null || (long) BATCH_LAST.invokeExact((Object) last.getValue()) < start(partition);
        return empty ? end : end + 1;
    }

    static int completed(Object partition) throws Throwable {
        return ((AtomicInteger) (Object) COMPLETED.invokeExact(partition)).get();
    }

    private static NavigableMap<?, ?> cache(Object partition) throws Throwable {
        return (NavigableMap<?, ?>) (Object) CACHE.invokeExact(partition);
    }

    /** Returns the settings, or {@code last} if they are as they were. */
    static Config config(Object partition, String group, Config last) throws Throwable {
        int limit = (int) (long) DELIVERY_LIMIT.invokeExact(partition);
        int locks = (int) (long) RECORD_LOCKS.invokeExact(partition);
        int duration = (int) (long) LOCK_DURATION.invokeExact(partition);
        Boolean renew = null;
        if (CONFIG_PROVIDER != null) {
            Object provider = (Object) CONFIG_PROVIDER.invokeExact(partition);
            duration = (int) (long) PROVIDED_DURATION.invokeExact(provider, (Object) group, duration);
            renew = (boolean) PROVIDED_RENEW.invokeExact(provider, (Object) group);
        } else if (GROUP_DURATION != null) {
            Object settings = groupConfig(partition, group);
            duration = settings == null ? duration : (Integer) (Object) GROUP_DURATION.invokeExact(settings);
        }
        boolean deadLetters = DEAD_LETTERS != null && (boolean) DEAD_LETTERS.invokeExact(partition);
        if (last != null && last.deliveryCountLimit() == limit && last.recordLocks() == locks
                && last.lockDurationMs() == duration && last.deadLetterQueue() == deadLetters
                && (renew == null || renew.equals(last.renew()))) {
            return last;
        }
        return new Config(limit, locks, duration, reset(partition, group),
            last != null && last.readCommitted(), renew, deadLetters);
    }

    private static String reset(Object partition, String group) throws Throwable {
        Object strategy = null;
        if (PROVIDED_RESET != null) {
            Object provider = (Object) CONFIG_PROVIDER.invokeExact(partition);
            strategy = (Object) PROVIDED_RESET.invokeExact(provider, (Object) group);
        } else {
            Object settings = groupConfig(partition, group);
            if (settings != null) {
                strategy = (Object) GROUP_RESET.invokeExact(settings);
            }
        }
        return strategy == null ? "latest"
            : ((Enum<?>) (Object) RESET_TYPE.invokeExact(strategy)).name().toLowerCase(java.util.Locale.ROOT);
    }

    private static Object groupConfig(Object partition, String group) throws Throwable {
        Object manager = (Object) GROUP_CONFIGS.invokeExact(partition);
        return ((Optional<?>) (Object) GROUP_CONFIG.invokeExact(manager, (Object) group)).orElse(null);
    }

    /** Returns the state of each tracked record. Only under the lock. */
    static Records records(Object partition) throws Throwable {
        Records.Builder out = new Records.Builder();
        long start = start(partition);
        for (Object batch : cache(partition).values()) {
            Object whole = (Object) BATCH_STATE.invokeExact(batch);
            if (whole != null) {
                long first = (long) BATCH_FIRST.invokeExact(batch);
                record(out, Math.max(start, first), (long) BATCH_LAST.invokeExact(batch), whole);
                continue;
            }
            for (Map.Entry<?, ?> entry : ((NavigableMap<?, ?>) (Object) BATCH_OFFSETS.invokeExact(batch)).entrySet()) {
                long offset = (Long) entry.getKey();
                if (offset >= start) {
                    record(out, offset, offset, entry.getValue());
                }
            }
        }
        return out.build();
    }

    private static void record(Records.Builder out, long first, long last, Object state) throws Throwable {
        if (last < first) {
            return;
        }
        boolean pending = (boolean) STATE_PENDING.invokeExact(state);
        Object former = pending ? former(state) : null;
        Object task = (Object) STATE_TASK.invokeExact(state);
        if (task == null && former != null) {
            task = (Object) STATE_TASK.invokeExact(former);
        }
        out.add(new Records.Range(first, last, ((Enum<?>) (Object) STATE.invokeExact(state)).name(),
            (long) STATE_COUNT.invokeExact(state), (String) (Object) STATE_MEMBER.invokeExact(state), pending,
            former == null ? null : (String) (Object) STATE_MEMBER.invokeExact(former),
            task == null ? Records.NO_DEADLINE : (long) TASK_DUE.invokeExact(task)));
    }

    /** Returns the state that a record has again if its write fails; null if it stays as it is. */
    private static Object former(Object state) throws Throwable {
        if ((boolean) STATE_STAYS.invokeExact(state)) {
            return null;
        }
        Object before = (Object) STATE_BEFORE.invokeExact(state);
        return before == null ? null : (Object) BEFORE.invokeExact(before);
    }

    static long due(Object task) throws Throwable {
        return (long) TASK_DUE.invokeExact(task);
    }

    /** Returns [first, last, delivery count]. */
    static Table acquired(Object answer) throws Throwable {
        Table.Builder out = new Table.Builder(3);
        for (Object range : (List<?>) (Object) ACQUIRED.invokeExact(answer)) {
            out.add((long) ACQUIRED_FIRST.invokeExact(range), (long) ACQUIRED_LAST.invokeExact(range),
                (long) ACQUIRED_COUNT.invokeExact(range));
        }
        return out.build();
    }

    /**
     * Returns the batches of the log that were read, up to the first that ends at or after an offset.
     * What follows was read too, but it may be megabytes, and is in no answer.
     */
    static Table logBatches(Object read, long upTo) throws Throwable {
        Table.Builder out = new Table.Builder(2);
        Object records = (Object) READ_RECORDS.invokeExact(read);
        for (Object batch : (Iterable<?>) (Object) LOG_BATCHES.invokeExact(records)) {
            long last = (long) LOG_LAST.invokeExact(batch);
            out.add((long) LOG_FIRST.invokeExact(batch), last);
            if (last >= upTo) {
                break;
            }
        }
        return out.build();
    }

    /** Returns the ranges of batches of the log. */
    static Table ranges(Iterable<?> batches) throws Throwable {
        Table.Builder out = new Table.Builder(2);
        for (Object batch : batches) {
            out.add((long) LOG_FIRST.invokeExact(batch), (long) LOG_LAST.invokeExact(batch));
        }
        return out.build();
    }

    static long highWatermark(Object read) throws Throwable {
        return (long) READ_HIGH_WATERMARK.invokeExact(read);
    }

    static long logStart(Object read) throws Throwable {
        return (long) READ_LOG_START.invokeExact(read);
    }

    /** Returns the last stable offset, or null where the read did not tell it. */
    static Long lastStable(Object read) throws Throwable {
        OptionalLong offset = (OptionalLong) (Object) READ_LAST_STABLE.invokeExact(read);
        return offset != null && offset.isPresent() ? offset.getAsLong() : null;
    }

    static Acknowledgements acknowledgements(List<?> batches) throws Throwable {
        List<Acknowledgements.Batch> out = new ArrayList<>(batches.size());
        for (Object batch : batches) {
            List<?> types = (List<?>) (Object) ACK_TYPES.invokeExact(batch);
            byte[] copy = new byte[types.size()];
            for (int at = 0; at < copy.length; at++) {
                copy[at] = (Byte) types.get(at);
            }
            out.add(new Acknowledgements.Batch((long) ACK_FIRST.invokeExact(batch),
                (long) ACK_LAST.invokeExact(batch), copy));
        }
        return new Acknowledgements(out);
    }

    /** Returns what a write of the share-partition's state says, as it is handed to the persister. */
    static Write write(int id, Object parameters) throws Throwable {
        Object data = (Object) WRITTEN.invokeExact(parameters);
        Object written = only((List<?>) (Object) WRITTEN_TOPICS.invokeExact(data));
        return new Write(id, (long) WRITTEN_START.invokeExact(written),
            (int) (long) WRITTEN_COUNT.invokeExact(written),
            stateBatches((List<?>) (Object) WRITTEN_BATCHES.invokeExact(written)));
    }

    private static Object only(List<?> topics) throws Throwable {
        return ((List<?>) (Object) TOPIC_PARTITIONS.invokeExact((Object) topics.get(0))).get(0);
    }

    private static Table stateBatches(List<?> batches) throws Throwable {
        Table.Builder out = new Table.Builder(4);
        for (Object batch : batches) {
            out.add((long) DURABLE_FIRST.invokeExact(batch), (long) DURABLE_LAST.invokeExact(batch),
                (long) DURABLE_STATE.invokeExact(batch), (long) DURABLE_COUNT.invokeExact(batch));
        }
        return out.build();
    }

    static Persisted persisted(Object result, long leaderEpoch) throws Throwable {
        Object read = only((List<?>) (Object) DURABLE_TOPICS.invokeExact(result));
        return new Persisted((long) DURABLE_START.invokeExact(read),
            stateBatches((List<?>) (Object) DURABLE_BATCHES.invokeExact(read)),
            (long) DURABLE_STATE_EPOCH.invokeExact(read), leaderEpoch);
    }

    /** Returns the error that a client is told for an exception. */
    static String error(Throwable thrown) throws Throwable {
        return ((Enum<?>) (Object) ERROR_OF.invokeExact((Object) thrown)).name();
    }
}
