package sharespec.recorder;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/** What all hooks share: the options, the queue to the writer, and whether anything is recorded. */
final class Recorder {
    private static final int REMEMBERED_KEYS = 100_000;

    private final Options options;
    private final Names names;
    private final RowQueue queue;
    private final Instances instances = new Instances(this);
    private static final long NS_PER_MS = 1_000_000;

    private final Map<String, AtomicInteger> counts = new ConcurrentHashMap<>();
    private final AtomicLong faults = new AtomicLong();
    private final AtomicInteger switches = new AtomicInteger();
    private final LongSupplier clock;
    private final long startedMs;
    private final long clockShift;
    private volatile long settledAtMs;
    private volatile boolean on = true;
    private volatile boolean writable = true;
    private volatile String stopped;
    private volatile String firstFault;

    Recorder(Options options, boolean late) {
        // Kafka's own clock for locks: it does not go back.
        this(options, late, () -> System.nanoTime() / NS_PER_MS, System.currentTimeMillis());
    }

    /** With the clock, in ms, that Kafka's locks go by. */
    Recorder(Options options, boolean late, LongSupplier clock, long startedMs) {
        // First: what takes long between the two readings would be how far rows are behind the time of day.
        clockShift = startedMs - clock.getAsLong();
        this.options = options;
        this.clock = clock;
        this.startedMs = startedMs;
        names = new Names(options);
        queue = new RowQueue(options.queueRows, options.queueBytes);
        settledAtMs = nowMs() + (late ? options.settleMs : 0);
    }

    Options options() {
        return options;
    }

    Names names() {
        return names;
    }

    RowQueue queue() {
        return queue;
    }

    Instances instances() {
        return instances;
    }

    long startedMs() {
        return startedMs;
    }

    /** What is added to Kafka's clock, so that it starts with the time of day. */
    long clockShift() {
        return clockShift;
    }

    long nowMs() {
        return clock.getAsLong() + clockShift;
    }

    /** Whether hooks do anything. */
    boolean isRecording() {
        return on && stopped == null;
    }

    /** Why it is off for good, or null. */
    String stopped() {
        return stopped;
    }

    /** Switches recording on or off. Whoever was written before it was on has to be waited for. */
    void switchTo(boolean wanted) {
        if (wanted == on) {
            return;
        }
        if (wanted) {
            instances.forget();
            settledAtMs = nowMs() + options.settleMs;
        }
        switches.incrementAndGet();
        on = wanted;
        Log.line(wanted ? "switched on" : "switched off");
    }

    /** How often it was switched on or off. */
    int switches() {
        return switches.get();
    }

    /** Whether every write without an answer was seen to be made. */
    boolean isSettled() {
        return nowMs() >= settledAtMs;
    }

    /** Whether there is room for something as large as a checkpoint. */
    boolean hasRoom() {
        return writable && queue.isHalfEmpty();
    }

    void writable(boolean value) {
        writable = value;
    }

    int nextInstance(String key) {
        if (counts.size() > REMEMBERED_KEYS) {
            throw new IllegalStateException("too many share-partitions");
        }
        return counts.computeIfAbsent(key, first -> new AtomicInteger()).getAndIncrement();
    }

    /** Never waits: what has no room is lost, and counted. */
    void offer(Row row) {
        if (!queue.offer(row)) {
            row.partition.lost();
        }
    }

    long faults() {
        return faults.get();
    }

    String firstFault() {
        return firstFault;
    }

    /** Something in the recorder went wrong; after a number of them it stops, others still count. */
    void fault(Partition partition, Throwable thrown) {
        if (partition != null) {
            partition.lost();
        }
        synchronized (faults) {
            long count = faults.incrementAndGet();
            if (count == 1) {
                StackTraceElement[] trace = thrown.getStackTrace();
                firstFault = thrown + (trace.length > 0 ? " at " + trace[0] : "");
                Log.line("a fault, recording goes on: " + firstFault);
            }
            if (count == options.faults) {
                stop(count + " faults, the first: " + firstFault);
            }
        }
    }

    /** Off for good; the broker runs on. */
    synchronized void stop(String reason) {
        if (stopped == null) {
            stopped = reason;
            Log.line("recording is off: " + reason);
        }
    }
}
