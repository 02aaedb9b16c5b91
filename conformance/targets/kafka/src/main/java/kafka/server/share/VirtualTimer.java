package kafka.server.share;

import java.util.Comparator;
import java.util.PriorityQueue;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;

/** A clock and a timer that move only when they are told to. Times in ms. */
final class VirtualTimer implements Timer, Time {
    private record Waiting(TimerTaskEntry entry, long order) {}

    private final PriorityQueue<Waiting> waiting = new PriorityQueue<>(
        Comparator.<Waiting>comparingLong(w -> w.entry.expirationMs).thenComparingLong(Waiting::order));
    private long now;
    private long added;

    VirtualTimer(long now) {
        this.now = now;
    }

    @Override
    public void add(TimerTask task) {
        waiting.add(new Waiting(new TimerTaskEntry(task, now + task.delayMs), added++));
    }

    /** Moves the clock on and runs what is due, in the order in which it became due. */
    @Override
    public boolean advanceClock(long ms) {
        now += ms;
        boolean ran = false;
        while (!waiting.isEmpty() && waiting.peek().entry.expirationMs <= now) {
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
