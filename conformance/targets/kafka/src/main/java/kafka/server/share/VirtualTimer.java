package kafka.server.share;

import java.util.PriorityQueue;
import java.util.function.LongUnaryOperator;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;

/** A clock and a timer that move only when they are told to. Times in ms. */
final class VirtualTimer implements Timer, Time {
    /** What a gate answers for a task that never runs. */
    static final long NEVER = -1;

    private record Waiting(TimerTaskEntry entry, long atMs, long order, LongUnaryOperator gate)
            implements Comparable<Waiting> {
        @Override
        public int compareTo(Waiting other) {
            return atMs == other.atMs ? Long.compare(order, other.order) : Long.compare(atMs, other.atMs);
        }
    }

    private static final LongUnaryOperator OPEN = now -> now;

    private final PriorityQueue<Waiting> waiting = new PriorityQueue<>();
    private Runnable before = () -> { };
    private long now;
    private long added;

    VirtualTimer(long now) {
        this.now = now;
    }

    @Override
    public void add(TimerTask task) {
        add(task, task.delayMs, OPEN);
    }

    /** Adds a task of a node: when it is due, {@code gate} tells from the time when it may run, or never. */
    void add(TimerTask task, long delayMs, LongUnaryOperator gate) {
        TimerTaskEntry entry = new TimerTaskEntry(task, now + delayMs);
        waiting.add(new Waiting(entry, entry.expirationMs, added++, gate));
    }

    /** Runs something before each task. */
    void before(Runnable action) {
        before = action;
    }

    /** Runs something after a delay. */
    void after(long delayMs, LongUnaryOperator gate, Runnable action) {
        add(new TimerTask(delayMs) {
            @Override
            public void run() {
                action.run();
            }
        }, delayMs, gate);
    }

    /** Moves the clock to the next task and runs it; false if none is due by {@code untilMs}. */
    boolean runNext(long untilMs) {
        while (!waiting.isEmpty() && waiting.peek().atMs <= untilMs) {
            Waiting next = waiting.poll();
            now = Math.max(now, next.atMs);
            if (next.entry.cancelled()) {
                continue;
            }
            long mayRun = next.gate.applyAsLong(now);
            if (mayRun > now) {
                waiting.add(new Waiting(next.entry, mayRun, next.order, next.gate));
            } else if (mayRun != NEVER) {
                before.run();
                next.entry.timerTask.run();
                return true;
            }
        }
        now = Math.max(now, untilMs);
        return false;
    }

    /** Moves the clock on and runs what is due, in the order in which it became due. */
    @Override
    public boolean advanceClock(long ms) {
        now += ms;
        boolean ran = false;
        while (!waiting.isEmpty() && waiting.peek().atMs <= now) {
            TimerTaskEntry entry = waiting.poll().entry;
            if (!entry.cancelled()) {
                entry.timerTask.run();
                ran = true;
            }
        }
        return ran;
    }

    @Override
    public int size() {
        return waiting.size();
    }

    @Override
    public long milliseconds() {
        return now;
    }

    @Override
    public long nanoseconds() {
        return now * 1_000_000;
    }

    @Override
    public long hiResClockMs() {
        return now;
    }

    @Override
    public void sleep(long ms) {
        advanceClock(ms);
    }

    @Override
    public void close() {
        waiting.clear();
    }
}
