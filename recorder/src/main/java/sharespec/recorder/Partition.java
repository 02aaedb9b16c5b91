package sharespec.recorder;

import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * What the recorder knows of one SharePartition object.
 *
 * <p>A share-partition has one object after another: when its leader changes, and when its group was
 * empty. Each is an {@code instance} of the trace.
 */
final class Partition {
    private static final int REMEMBERED = 64;
    private static final long RETRY_MS = 100;
    private static final int MAX_OUTSTANDING = 10_000;
    private static final int AFTER_DELETION = 10;

    final String name;
    final String key;
    final String group;
    final long leaderEpoch;
    final ReentrantReadWriteLock lock;
    final boolean recorded;
    final Ledger ledger;
    final Recorder recorder;

    private final AtomicReference<Section> last = new AtomicReference<>();
    private final AtomicReferenceArray<Section> history = new AtomicReferenceArray<>(REMEMBERED);
    private final AtomicInteger writes = new AtomicInteger();
    private final Map<Integer, Write> outstanding = new ConcurrentSkipListMap<>();
    /** Operations that have changed something and may still write: no checkpoint meanwhile. */
    private final AtomicInteger undecided = new AtomicInteger();
    private final AtomicInteger losses = new AtomicInteger();

    private final int switches;
    private volatile int instance = -1;
    private volatile boolean live;
    private volatile boolean wanted;
    private volatile long wantedFromMs = Long.MIN_VALUE;
    private volatile int lossesSeen;
    private long rows;
    private long rowsAtCheckpoint;
    private long checkpointMs;
    private long rowsBetween = Long.MAX_VALUE;
    private Config config;
    private Config initialConfig;
    private volatile boolean readCommitted;
    private volatile long logStart = -1;
    private volatile long highWatermark = -1;
    private volatile Long lastStable;

    Partition(Recorder recorder, Object source) throws Throwable {
        this.recorder = recorder;
        switches = recorder.switches();
        group = Kafka.group(source);
        String topic = Kafka.topic(source);
        int number = Kafka.number(source);
        Names names = recorder.names();
        recorded = names.recorded(group, topic, number);
        name = names.shown(group) + ":" + names.shown(topic) + ":" + number;
        leaderEpoch = Kafka.leaderEpoch(source);
        key = name + "@" + leaderEpoch;
        lock = Kafka.lock(source);
        ledger = new Ledger(this);
    }

    int instance() {
        return instance;
    }

    boolean isLive() {
        return live && isWhole();
    }

    /**
     * Whether no operation can have been passed over: one that began before recording was off may get
     * the lock after one that began later.
     */
    private boolean isWhole() {
        return recorder.isRecording() && recorder.switches() == switches;
    }

    Config config() {
        return config;
    }

    /** The settings when it was initialized; a fetch may have altered them since. */
    Config initialConfig() {
        return initialConfig;
    }

    Section last() {
        return last.get();
    }

    // Under the share-partition's lock.

    /** Takes the next number for an operation that ends its stretch now; null before the first checkpoint. */
    Row section(Object source, String op) throws Throwable {
        Config now = Kafka.config(source, group, config).withReadCommitted(readCommitted);
        boolean altered = config != null && !now.equals(config);
        config = now;
        if (!isLive()) {
            return null;
        }
        if (altered) {
            Section before = last.get();
            recorder.offer(new Row(this, next(before, before.timeMs()), "alter_config").with("config", now));
        }
        Row row = new Row(this, next(source), op);
        rows++;
        if (op.equals(MoveLogStart.NAME)) { // What Kafka does wrong then ends what can be checked.
            rowsBetween = AFTER_DELETION;
            rowsAtCheckpoint = rows;
        }
        if (recorder.options().records > 0 && rows % recorder.options().records == 0) {
            row.records(Kafka.records(source));
        }
        return row;
    }

    /** Begins with the state that was read at initialization. */
    Row begin(Object source) throws Throwable {
        instance = recorder.nextInstance(key);
        initialConfig = Kafka.config(source, group, null).withReadCommitted(readCommitted);
        config = initialConfig;
        live = true;
        checkpointMs = recorder.nowMs();
        return new Row(this, next(source), "initialize").records(Kafka.records(source));
    }

    /** Takes a checkpoint if one is due and nothing is half done. */
    void checkpoint(Object source) throws Throwable {
        if (!isWhole()) {
            return;
        }
        if (!(isDue() || wanted || !live) || undecided.get() > 0 || recorder.nowMs() < wantedFromMs
                || !recorder.hasRoom() || !live && !recorder.isSettled() || !Kafka.isActive(source)) {
            return;
        }
        int seen = losses.get();
        Records records = Kafka.records(source);
        if (!live && !new Outstanding(outstanding.values()).cover(records)) {
            wantedFromMs = recorder.nowMs() + RETRY_MS;
            return;
        }
        wanted = false;
        rowsBetween = 2 * Math.min(rowsBetween, recorder.options().checkpoint);
        rowsAtCheckpoint = rows;
        checkpointMs = recorder.nowMs();
        if (!live) {
            instance = recorder.nextInstance(key);
            live = true;
        }
        Row row = checkpointRow(source, records, seen != lossesSeen);
        lossesSeen = seen;
        recorder.offer(row);
    }

    /** Whether so many rows, or so much time with any, have passed since the last one; fewer after a deletion. */
    private boolean isDue() {
        Options options = recorder.options();
        long since = rows - rowsAtCheckpoint;
        return options.checkpoint > 0 && since >= Math.min(rowsBetween, options.checkpoint)
            || options.checkpointMs > 0 && since > 0 && recorder.nowMs() - checkpointMs >= options.checkpointMs;
    }

    /** Returns what is held of a write that failed although its locks are over: their timer is late. */
    Table overdue(Object source, Write write, Section section) throws Throwable {
        return Kafka.records(source).overdue(write.batches, section.timeMs() - recorder.clockShift());
    }

    private Row checkpointRow(Object source, Records records, boolean resumes) throws Throwable {
        Row row = new Row(this, next(source), "checkpoint", resumes).records(records)
            .with("config", config).with("timed", true).with("log_known", false)
            .with("log_start_offset", logStart < 0 ? 0 : logStart)
            .with("log_end_offset", highWatermark < 0 ? null : highWatermark);
        if (lastStable != null) {
            row.with("last_stable_offset", lastStable);
        }
        return row.with("state_epoch", Kafka.stateEpoch(source))
            .with("deadlines", records.deadlines(recorder.clockShift()))
            .with("outstanding", new Outstanding(outstanding.values()));
    }

    private Section next(Object source) throws Throwable {
        return next(new Section(0, 0, Kafka.start(source), Kafka.end(source), Kafka.completed(source)),
            recorder.nowMs());
    }

    /** Takes the next number for a window. */
    private Section next(Section window, long now) {
        while (true) {
            Section before = last.get();
            Section next = new Section(before == null ? 0 : before.number() + 1,
                before == null ? now : Math.max(now, before.timeMs()),
                window.start(), window.end(), window.completed());
            if (last.compareAndSet(before, next)) {
                history.set((int) (next.number() % REMEMBERED), next);
                return next;
            }
        }
    }

    /** An operation has changed something and may write. */
    void undecided() {
        undecided.incrementAndGet();
    }

    /** An operation that counted as undecided has written, or will not. */
    void decided() {
        undecided.decrementAndGet();
    }

    // By any thread, the lock held or not.

    /** Takes a number for an operation that threw before it had the lock: it changed nothing. */
    Row unlocked(String op) {
        Section before = last.get();
        return isLive() && before != null
            ? new Row(this, next(before, recorder.nowMs()), op) : null;
    }

    /** The change of a row was undone, or there was none: its number is told, the row is not. */
    void undone(Row row) {
        recorder.offer(new Row(this, row.section, null));
    }

    String shown(String member) {
        return recorder.names().shown(member);
    }

    /** Notes what a read of the log showed. */
    void read(long start, long end, Long stable) {
        logStart = start;
        highWatermark = end;
        lastStable = stable;
    }

    void isolation(boolean committed) {
        readCommitted = committed;
    }

    Write made(Object parameters, Section from) throws Throwable {
        Section to = last.get();
        Write write = Kafka.write(writes.getAndIncrement(), parameters);
        write.madeAfter = showing(write, from, to);
        write.early = write.madeAfter != null && !write.has(write.madeAfter);
        if (outstanding.size() < MAX_OUTSTANDING) {
            outstanding.put(write.id, write);
        } else {
            lost();
        }
        return write;
    }

    /** Returns the last section that left the numbers of a write; where none did, the last of all. */
    private Section showing(Write write, Section from, Section to) {
        if (from == null || to == null) {
            return to;
        }
        long lowest = Math.max(from.number(), to.number() - REMEMBERED + 1);
        for (long number = to.number(); number >= lowest; number--) {
            Section section = history.get((int) (number % REMEMBERED));
            if (section != null && section.number() == number && write.has(section)) {
                return section;
            }
        }
        return to;
    }

    void answered(Write write) {
        outstanding.remove(write.id);
    }

    /** Something of it will be missing in the trace: it goes on with a checkpoint. */
    void lost() {
        losses.incrementAndGet();
        wanted = true;
        wantedFromMs = recorder.nowMs() + RETRY_MS;
    }

    /** Whether something is missing that no checkpoint makes up for yet. */
    boolean hasLost() {
        return losses.get() != lossesSeen;
    }

    void wantCheckpoint() {
        wanted = true;
    }
}
